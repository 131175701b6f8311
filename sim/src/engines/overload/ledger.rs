//! The debts of a driver to its shell, checked with each action: nothing is lost, nothing is told
//! twice, and nothing is cancelled that is still wanted. A driver that fails a check panics.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Event::{Elected, Renewed, SteppedDown, Withdrawn};
use tenure_core::{Instant, Request, RequestId, Token};
use tenure_driver::{
    Action, CallId, Command, Driver, ElectionId, Event, InCall, News, Outgoing, QuestionId,
};

/// The state of a process, as its shell knows it.
#[derive(Clone)]
pub(crate) struct Ledger {
    in_call: InCall,
    elections: BTreeMap<ElectionId, Election>,
    calls: BTreeMap<CallId, Carries>,
    /// Neither answered nor cancelled nor given up.
    questions: BTreeSet<QuestionId>,
    subscribed: BTreeSet<u32>,
    has_stopped: bool,
    rests: usize,
}

#[derive(Clone)]
enum Carries {
    /// The requests that were not given up.
    Requests(BTreeSet<(ElectionId, RequestId)>),
    Question(QuestionId),
    Description,
}

#[derive(Clone, Default)]
struct Election {
    key: u32,
    tenure: Option<Token>,
    /// The last tenure that was held, and until when.
    held: Option<(Token, Instant)>,
    /// Work of the last tenure has not ended.
    drains: bool,
    /// The resignations that were not answered.
    resigns: u32,
    has_left: bool,
    has_ended: bool,
}

/// The look whether a driver rests is taken every so many times; with more elections, every so many
/// times as there are.
const EACH_REST: usize = 16;

impl Ledger {
    /// Nothing has happened: the store takes so many requests in a call.
    pub(crate) const fn new(in_call: InCall) -> Self {
        Self {
            in_call,
            elections: BTreeMap::new(),
            calls: BTreeMap::new(),
            questions: BTreeSet::new(),
            subscribed: BTreeSet::new(),
            has_stopped: false,
            rests: 0,
        }
    }

    /// An event that is handed in next.
    pub(crate) fn takes(&mut self, event: &Event<u32>) {
        match event {
            Event::Join(join) => {
                let of = Election { key: join.key, ..Election::default() };
                assert!(self.elections.insert(join.election, of).is_none(), "joins once");
            }
            Event::Called(call, _) | Event::Described(call, ..) => {
                if let Some(Carries::Question(question)) = self.calls.remove(call) {
                    self.questions.remove(&question);
                }
            }
            Event::Ask(question) => {
                self.questions.insert(question.id);
            }
            Event::GiveUp(question) => {
                self.questions.remove(question);
            }
            Event::Command(election, command) => self.takes_command(*election, command),
            Event::Drained(election) => {
                let drains = self.elections.get_mut(election).map(|one| &mut one.drains);
                assert!(drains.is_some_and(std::mem::take), "{election} drains");
            }
            _ => {}
        }
    }

    fn takes_command(&mut self, election: ElectionId, command: &Command) {
        let Some(of) = self.elections.get_mut(&election).filter(|one| !one.has_ended) else {
            return;
        };
        match *command {
            Command::Resign(_) | Command::Stop => of.resigns += 1,
            Command::Held(token, until) => of.held = Some((token, until)),
            _ => {}
        }
    }

    /// The actions that follow it, all of them.
    pub(crate) fn sees(&mut self, now: Instant, actions: &[Action<u32>]) {
        for action in actions {
            if let Action::Publish(election, News::GivenUp(_)) = action {
                self.gives_up(*election);
            }
        }
        for action in actions {
            assert!(!self.has_stopped, "{action:?} follows the end");
            self.sees_one(now, action);
        }
    }

    /// The earliest request of that election.
    fn gives_up(&mut self, election: ElectionId) {
        for carries in self.calls.values_mut() {
            let Carries::Requests(wanted) = carries else { continue };
            let first = wanted.iter().find(|(of, _)| *of == election).copied();
            if first.is_some_and(|first| wanted.remove(&first)) {
                return;
            }
        }
    }

    fn sees_one(&mut self, now: Instant, action: &Action<u32>) {
        match *action {
            Action::Call(call, ref requests) => {
                self.check_size(requests);
                for one in requests {
                    self.check_release(now, one);
                }
                let wanted = requests.iter().map(|one| (one.election, one.id)).collect();
                self.begins(call, Carries::Requests(wanted));
            }
            Action::Ask(call, question) => self.begins(call, Carries::Question(question)),
            Action::Describe { call, election, token, .. } => {
                let tenure = self.elections.get(&election).and_then(|one| one.tenure);
                assert_eq!(tenure, Some(token), "leaders are described");
                self.begins(call, Carries::Description);
            }
            Action::Cancel(call) => match self.calls.remove(&call) {
                Some(Carries::Requests(wanted)) => {
                    assert!(wanted.is_empty(), "cancelled, and wanted: {wanted:?}");
                }
                Some(Carries::Question(question)) => {
                    self.questions.remove(&question);
                }
                Some(Carries::Description) => {}
                None => panic!("{call:?} is cancelled, and not under way"),
            },
            Action::Drain(election) => {
                let drains = self.elections.get_mut(&election).map(|one| &mut one.drains);
                assert!(drains.is_some_and(|drains| !std::mem::replace(drains, true)), "drains");
            }
            Action::Subscribe(key) => assert!(self.subscribed.insert(key), "subscribed twice"),
            Action::Unsubscribe(key) => assert!(self.subscribed.remove(&key), "unsubscribed twice"),
            Action::Publish(election, news) => self.published(election, news),
            Action::TurnEnded { steps, most } => panic!("{steps} of {most} steps"),
            Action::Stopped => self.has_stopped = true,
            Action::LookAtWork(_) | Action::WakeObserver(_) | Action::Late(_) => {}
        }
    }

    fn begins(&mut self, call: CallId, carries: Carries) {
        assert!(self.calls.insert(call, carries).is_none(), "{call:?} begins once");
    }

    /// A call has requests, all of one kind, and no more than the store takes.
    fn check_size(&self, requests: &[Outgoing]) {
        let kind_and_most = |one: &Outgoing| match one.request {
            Request::Renew { .. } => (0, self.in_call.renewals),
            Request::Look { .. } | Request::Ask { .. } => (1, self.in_call.looks),
            Request::Acquire(_) => (2, self.in_call.acquires),
            Request::Release { .. } | Request::Want { .. } | Request::Purge { .. } => (3, 1),
        };
        let most = requests.first().map_or(0, |one| kind_and_most(one).1);
        assert!((1..=most).contains(&requests.len()), "{} requests of {most}", requests.len());
        let are_alike = |two: &[Outgoing]| kind_and_most(&two[0]) == kind_and_most(&two[1]);
        assert!(requests.windows(2).all(are_alike), "requests of several kinds: {requests:?}");
    }

    /// The lease of a tenure that is held is not given back.
    fn check_release(&self, now: Instant, one: &Outgoing) {
        if let Request::Release { token, .. } = one.request {
            let held = self.elections.get(&one.election).and_then(|of| of.held);
            assert!(
                held.is_none_or(|(held, until)| held != token || until <= now),
                "{token} is held"
            );
        }
    }

    fn published(&mut self, election: ElectionId, news: News) {
        let of = self.elections.get_mut(&election).expect("an election");
        assert!(!of.has_ended, "{news:?} follows the end");
        match news {
            News::Event(Elected(claim)) => {
                assert!(of.tenure.replace(claim.token()).is_none(), "elected twice");
                assert!(!of.drains, "elected before the last tenure has drained");
                assert!(!of.has_left, "elected after it has left");
            }
            News::Event(Renewed(claim)) => assert_eq!(of.tenure, Some(claim.token()), "renewed"),
            News::Event(SteppedDown { token, .. }) => {
                assert_eq!(of.tenure.take(), Some(token), "stepped down");
            }
            News::Event(Withdrawn) => of.resigns = 0,
            News::Left => assert!(!std::mem::replace(&mut of.has_left, true), "left twice"),
            News::Ended => {
                assert!(of.has_left && !of.drains, "ended before it has left");
                assert_eq!(of.resigns, 0, "ended, and not withdrawn");
                of.has_ended = true;
            }
            _ => {}
        }
    }

    /// True if hints of that election are wanted.
    pub(crate) fn is_subscribed(&self, key: u32) -> bool {
        self.subscribed.contains(&key)
    }

    /// Nothing more is due: another step changes nothing.
    pub(crate) fn rests(&mut self, now: Instant, driver: &Driver<u32>) {
        self.rests += 1;
        if self.has_stopped || !self.rests.is_multiple_of(EACH_REST.max(driver.len())) {
            return;
        }
        let (mut again, deadline) = (driver.clone(), driver.deadline());
        again.handle(now, Event::Due);
        assert_eq!((again.poll(), again.deadline()), (None, deadline), "rests");
        for (id, of) in &self.elections {
            assert!(driver.candidate(*id).is_none() || self.is_subscribed(of.key), "subscribed");
        }
    }

    /// Everything has ended.
    pub(crate) fn ends(&self) {
        assert!(self.has_stopped, "the driver has stopped");
        assert!(self.questions.is_empty(), "unanswered: {:?}", self.questions);
        assert!(self.subscribed.is_empty(), "subscribed: {:?}", self.subscribed);
        for (id, of) in &self.elections {
            assert!(of.has_ended, "{id} has ended");
        }
    }
}
