//! One process: its driver, its handles, and the checks of what the driver asks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use tenure_core::Event::{Elected, Renewed, SteppedDown, Withdrawn};
use tenure_core::{Config, Instant, NameId, Request, RequestId, Seed, Token};
use tenure_driver::{
    Action, CallId, Command, DescribeOutcome, Driver, ElectionId, Event, Join, LostWork, News,
    Outcome, Outgoing, Question, QuestionId,
};

use super::{Draw, Due, Key, Plan, Seen};

pub(crate) struct Process {
    index: usize,
    plan: Plan,
    pub(crate) driver: Driver<Key>,
    pub(crate) inbox: VecDeque<Event<Key>>,
    pub(crate) paused_from: Instant,
    pub(crate) paused_until: Instant,
    pub(crate) cut_until: Instant,
    /// The time by which its clock is ahead.
    pub(crate) ahead: Duration,
    pub(crate) was_suspended: bool,
    /// The time at which it is woken for its next deadline.
    pub(crate) wakes_at: Instant,
    rests: u32,
    /// The time at which it last took events.
    pub(crate) took_at: Instant,
    pub(crate) has_stopped: bool,
    /// The calls under way.
    pub(crate) sent: BTreeMap<CallId, Sent>,
    elections: BTreeMap<ElectionId, Handle>,
    /// Questions that were neither answered nor cancelled nor given up.
    questions: BTreeSet<QuestionId>,
    asked: u64,
    subscribed: BTreeSet<Key>,
    observers: BTreeSet<(Key, u64)>,
    pub(crate) seen: Seen,
}

/// A call under way.
#[derive(Clone, Default)]
pub(crate) struct Sent {
    pub(crate) requests: Vec<(Key, Request)>,
    /// The requests that were not given up.
    wanted: BTreeSet<(ElectionId, RequestId)>,
    question: Option<QuestionId>,
}

/// An election as it is known from outside.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a circumstance of its own")]
struct Handle {
    key: Key,
    tenure: Option<Token>,
    /// The last tenure that was held, and until when.
    held: Option<(Token, Instant)>,
    /// Work of the last tenure has not ended.
    drains: bool,
    /// The resignations that were not answered.
    resigns: u32,
    has_left: bool,
    has_ended: bool,
    version: u64,
    offered: bool,
}

type Effects = Vec<(u64, Duration, Option<Due>)>;

impl Process {
    pub(crate) fn new(index: usize, plan: Plan) -> Self {
        Self {
            index,
            plan,
            driver: Driver::new(plan.in_call),
            inbox: VecDeque::new(),
            paused_from: Instant::ORIGIN,
            paused_until: Instant::ORIGIN,
            cut_until: Instant::ORIGIN,
            ahead: Duration::ZERO,
            was_suspended: false,
            wakes_at: Instant::FAR_FUTURE,
            rests: 0,
            took_at: Instant::ORIGIN,
            has_stopped: false,
            sent: BTreeMap::new(),
            elections: BTreeMap::new(),
            questions: BTreeSet::new(),
            asked: 0,
            subscribed: BTreeSet::new(),
            observers: BTreeSet::new(),
            seen: Seen::default(),
        }
    }

    pub(crate) fn join(&mut self, election: ElectionId, key: Key, draw: &mut Draw) -> Event<Key> {
        let handle = Handle {
            key,
            tenure: None,
            held: None,
            drains: false,
            resigns: 0,
            has_left: false,
            has_ended: false,
            version: 0,
            offered: false,
        };
        assert!(self.elections.insert(election, handle).is_none());
        let seed = Seed::new(u128::from(self.plan.seed) << 64 | u128::from(election));
        let config = Config::builder(Duration::from_secs(6)).build().unwrap();
        let name = NameId::from_bits(election.into());
        let join = Join { election, key, config, name, seed, phase: draw.bits() };
        Event::Join(Box::new(join))
    }

    fn elections(&self) -> Vec<ElectionId> {
        let live = |(id, handle): (&ElectionId, &Handle)| (!handle.has_ended).then_some(*id);
        self.elections.iter().filter_map(live).collect()
    }

    /// A handle does something.
    pub(crate) fn acts(&mut self, now: Instant, draw: &mut Draw) -> Vec<Event<Key>> {
        let all = self.elections();
        if all.is_empty() {
            return Vec::new();
        }
        let election = all[usize::try_from(draw.below(all.len() as u64)).unwrap()];
        let key = Key::try_from(draw.below(self.plan.keys.into())).unwrap();
        let hold_off = draw.duration(0, 2_000);
        let number = draw.below(13);
        let handle = self.elections.get_mut(&election).unwrap();
        let token = handle.tenure;
        let one = match number {
            0 => Command::Resign(hold_off),
            1 => Command::RenewNow,
            2 => {
                handle.offered = !handle.offered;
                Command::Offers(handle.offered)
            }
            3 | 4 => {
                let how = match draw.below(3) {
                    0 => LostWork::Dropped,
                    1 => LostWork::Panicked,
                    _ => LostWork::Failed { before: 2, thousandths: 500 },
                };
                handle.offered = draw.one_in(2);
                let any = handle.offered;
                // Work is offered again, sooner or later.
                let again = Command::Offers(true);
                let lost = Command::WorkLost { token, how, any, hold_off };
                return vec![Event::Command(election, lost), Event::Command(election, again)];
            }
            5 => {
                let Some(token) = token else { return Vec::new() };
                let due = Some(now + draw.duration(0, 3_000));
                Command::WorkDue { token, due, hold_off }
            }
            6 => {
                let Some(token) = token else { return Vec::new() };
                Command::Closed(token)
            }
            7 => {
                handle.version += 1;
                Command::Describe(handle.version)
            }
            8 => {
                self.asked += 1;
                let (id, within) = (self.asked, draw.duration(1, 2_000));
                self.questions.insert(id);
                return vec![Event::Ask(Question { id, request: "observe", within })];
            }
            9 => {
                let question = self.asked;
                self.questions.remove(&question);
                return vec![Event::GiveUp(question)];
            }
            10 => {
                self.observers.insert((key, number));
                return vec![Event::Watch(key, number)];
            }
            11 => {
                let Some(token) = token else { return Vec::new() };
                Command::Held(token, now + draw.duration(0, 9_000))
            }
            _ => {
                self.observers.remove(&(key, 10));
                return vec![Event::Unwatch(key, 10)];
            }
        };
        vec![Event::Command(election, one)]
    }

    /// Everything ends.
    pub(crate) fn stop_all(&mut self) -> Vec<Event<Key>> {
        let stop = |election| Event::Command(election, Command::Stop);
        let all = self.elections();
        let observers = std::mem::take(&mut self.observers);
        let unwatch = observers.into_iter().map(|(key, observer)| Event::Unwatch(key, observer));
        let stops = all.into_iter().map(stop).chain(unwatch);
        stops.chain([Event::HandlesGone]).collect()
    }

    /// Hands an event in, and carries the actions out.
    pub(crate) fn handle(&mut self, now: Instant, event: Event<Key>, draw: &mut Draw) -> Effects {
        match &event {
            Event::Command(election, Command::Resign(_) | Command::Stop)
                if self.driver.candidate(*election).is_some() =>
            {
                self.elections.get_mut(election).unwrap().resigns += 1;
            }
            Event::Called(call, _) | Event::Described(call, ..) => {
                if let Some(question) = self.sent.remove(call).and_then(|sent| sent.question) {
                    self.questions.remove(&question);
                }
            }
            Event::Command(election, Command::Held(token, until)) => {
                self.elections.get_mut(election).unwrap().held = Some((*token, *until));
            }
            Event::Drained(election) => {
                let handle = self.elections.get_mut(election).unwrap();
                assert!(std::mem::take(&mut handle.drains));
            }
            _ => {}
        }
        self.driver.handle(now, event);
        let actions: Vec<Action<Key>> = std::iter::from_fn(|| self.driver.poll()).collect();
        self.check_cancelled(&actions);
        let mut effects = Effects::new();
        for action in actions {
            assert!(!self.has_stopped, "{action:?} follows the end");
            let hash = if self.plan.hashes { hash(&action) } else { 0 };
            let (after, due) = self.carry_out(now, action, draw);
            effects.push((hash, after, due));
        }
        effects
    }

    /// A call is cancelled only if none of its requests is wanted any more.
    fn check_cancelled(&mut self, actions: &[Action<Key>]) {
        let given_up = actions.iter().filter_map(|action| match action {
            Action::Publish(election, News::GivenUp(_)) => Some(*election),
            _ => None,
        });
        for election in given_up {
            for sent in self.sent.values_mut() {
                // The earliest of the election.
                let first = sent.wanted.iter().find(|(of, _)| *of == election).copied();
                if first.is_some_and(|first| sent.wanted.remove(&first)) {
                    break;
                }
            }
        }
    }

    fn carry_out(
        &mut self,
        now: Instant,
        action: Action<Key>,
        draw: &mut Draw,
    ) -> (Duration, Option<Due>) {
        let process = self.index;
        let reaches = |event| Some(Due::Reaches { process, event });
        let nothing = (Duration::ZERO, None);
        match action {
            Action::Call(call, requests) => {
                assert!(!requests.is_empty());
                for one in &requests {
                    self.check_release(now, one);
                }
                self.seen.batches += u32::from(requests.len() > 1);
                let wanted = requests.iter().map(|one| (one.election, one.id)).collect();
                let of = |election| self.elections[&election].key;
                let requests = requests.iter().map(|one| (of(one.election), one.request)).collect();
                self.begins(call, Sent { requests, wanted, question: None });
                (draw.duration(0, 5), Some(Due::Arrives { process, call }))
            }
            Action::Ask(call, question) => {
                self.begins(call, Sent { question: Some(question), ..Sent::default() });
                let results = vec![Outcome::Refused];
                let answers = draw.below(10) > 0;
                let event = Event::Called(call, results);
                (draw.duration(0, 500), answers.then(|| reaches(event)).flatten())
            }
            Action::Describe { call, election, token, .. } => {
                self.begins(call, Sent::default());
                let handle = &self.elections[&election];
                assert_eq!(handle.tenure, Some(token));
                let outcome = match draw.below(8) {
                    0 => DescribeOutcome::Refused,
                    1 => DescribeOutcome::Unanswered,
                    2 => return nothing,
                    _ => {
                        self.seen.described += 1;
                        DescribeOutcome::Answered
                    }
                };
                let event = Event::Described(call, handle.version, outcome);
                (draw.duration(0, 300), reaches(event))
            }
            Action::Cancel(call) => {
                let sent = self.sent.remove(&call).expect("each call is cancelled once");
                assert!(sent.wanted.is_empty(), "{:?} are wanted", sent.wanted);
                self.seen.cancelled += 1;
                if let Some(question) = sent.question {
                    self.questions.remove(&question);
                    self.seen.unanswered_questions += 1;
                }
                nothing
            }
            Action::Drain(election) => {
                let handle = self.elections.get_mut(&election).unwrap();
                assert!(!std::mem::replace(&mut handle.drains, true), "drained twice");
                (draw.duration(0, 1_500), reaches(Event::Drained(election)))
            }
            Action::LookAtWork(election) => {
                let Some(token) = self.elections[&election].tenure else { return nothing };
                let due = match draw.below(3) {
                    0 => None,
                    1 => Some(now),
                    _ => Some(now + draw.duration(1, 3_000)),
                };
                let hold_off = Duration::from_millis(700);
                let due = Command::WorkDue { token, due, hold_off };
                self.inbox.push_back(Event::Command(election, due));
                nothing
            }
            Action::Subscribe(key) => {
                assert!(self.subscribed.insert(key), "subscribed twice");
                (draw.duration(0, 5), reaches(Event::Hint(key)))
            }
            Action::Unsubscribe(key) => {
                assert!(self.subscribed.remove(&key), "unsubscribed twice");
                nothing
            }
            Action::WakeObserver(_) | Action::Late(_) => nothing,
            Action::Publish(election, news) => {
                self.publish(election, news);
                nothing
            }
            Action::TurnEnded { steps, most } => panic!("{steps} of {most} steps"),
            Action::Stopped => {
                self.has_stopped = true;
                nothing
            }
        }
    }

    /// The lease of a tenure that is held is not given back.
    fn check_release(&self, now: Instant, one: &Outgoing) {
        if let Request::Release { token, .. } = one.request {
            let held = self.elections[&one.election].held;
            assert!(held.is_none_or(|(held, until)| held != token || until <= now));
        }
    }

    fn begins(&mut self, call: CallId, sent: Sent) {
        assert!(self.sent.insert(call, sent).is_none(), "each call begins once");
    }

    fn publish(&mut self, election: ElectionId, news: News) {
        let handle = self.elections.get_mut(&election).unwrap();
        assert!(!handle.has_ended, "{news:?} follows the end");
        match news {
            News::Event(Elected(claim)) => {
                assert!(handle.tenure.replace(claim.token()).is_none());
                assert!(!handle.drains, "elected before the last tenure has drained");
                assert!(!handle.has_left);
                self.seen.elected += 1;
            }
            News::Event(Renewed(claim)) => assert_eq!(handle.tenure, Some(claim.token())),
            News::Event(SteppedDown { token, .. }) => {
                assert_eq!(handle.tenure.take(), Some(token));
            }
            News::Event(Withdrawn) => handle.resigns = 0,
            News::Left => assert!(!std::mem::replace(&mut handle.has_left, true), "left twice"),
            News::Ended => {
                assert!(handle.has_left && !handle.drains);
                handle.has_ended = true;
            }
            News::RunsOut { .. } => self.seen.ran_out += 1,
            News::WorkSilent(_) => self.seen.silent += 1,
            News::WorkLost { .. } => self.seen.work_lost += 1,
            _ => {}
        }
    }

    /// Nothing more is due: another step changes nothing, and none is due before its time.
    pub(crate) fn check_rest(&mut self, now: Instant) {
        self.rests += 1;
        if self.has_stopped || !self.rests.is_multiple_of(8) {
            return;
        }
        let mut again = self.driver.clone();
        let deadline = again.deadline();
        assert!(deadline.is_none_or(|at| at > now));
        again.handle(now, Event::Due);
        assert_eq!((again.poll(), again.deadline()), (None, deadline), "{:?}", self.plan);
        for (id, handle) in &self.elections {
            assert!(self.driver.candidate(*id).is_none() || self.subscribed.contains(&handle.key));
        }
    }

    pub(crate) fn leads_at(&self, now: Instant) -> impl Iterator<Item = Key> {
        let leads = move |(id, handle): (&ElectionId, &Handle)| {
            self.driver.candidate(*id)?.claim(now).map(|_| handle.key)
        };
        self.elections.iter().filter_map(leads)
    }

    /// All that was asked was answered.
    pub(crate) fn check_end(&self) {
        let plan = self.plan;
        assert!(self.has_stopped, "{plan:?}");
        assert!(self.driver.is_empty() && self.questions.is_empty(), "{plan:?}");
        assert!(self.subscribed.is_empty(), "{plan:?}");
        for handle in self.elections.values() {
            assert!(handle.has_ended && handle.resigns == 0, "{handle:?} {plan:?}");
        }
    }
}

fn hash(action: &Action<Key>) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{action:?}").hash(&mut hasher);
    hasher.finish()
}
