//! Tenure's driver around its state machine: one election a process, over the store contract.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_core::{Config, Instant, Reply, Request, RequestId, Seed};
use tenure_driver::{
    Action, CallId, Command, Driver, ElectionId, Event, InCall, Join, LostWork, News, Outcome,
};

use super::algorithm::{Algorithm, Input, Lead, Output, Served, Stored, Timers, Visit};
use super::store::Contract;
use super::tenure::{Tenure, lead, name, output};
use crate::trace::{Answer, Asked};

/// One life of a process.
#[derive(Clone)]
pub(crate) struct Driven {
    driver: Driver<()>,
    /// Hands the candidate in with its first campaign.
    join: Option<Box<Join<()>>>,
    /// The time of the last input.
    now: Instant,
    /// Happens next, at the same time.
    then: Option<Event<()>>,
    /// The last calls.
    calls: VecDeque<(RequestId, CallId)>,
}

const ELECTION: ElectionId = 0;

/// Some answers are late or repeated: of a call that has ended or was cancelled they must change
/// nothing. Those of older calls do not reach the driver.
const CALLS: usize = 8;

impl Driven {
    fn input(&mut self, input: Input<RequestId, Reply>) -> Option<Event<()>> {
        Some(match input {
            Input::Campaign => match self.join.take() {
                Some(join) => Event::Join(join),
                None => Event::Command(ELECTION, Command::Offers(true)),
            },
            Input::Resign { again_after: Some(pause) } => {
                Event::Command(ELECTION, Command::Resign(pause))
            }
            // A driver's candidate stays out only for want of work. One that is out already says
            // nothing then, but confirms a resignation.
            Input::Resign { again_after: None } => {
                self.then = Some(Event::Command(ELECTION, Command::Resign(Duration::ZERO)));
                let (token, how, hold_off) = (None, LostWork::Dropped, Duration::ZERO);
                Event::Command(ELECTION, Command::WorkLost { token, how, any: false, hold_off })
            }
            Input::Drained => Event::Drained(ELECTION),
            Input::Resumed => Event::Resumed,
            Input::Hint => Event::Hint(()),
            Input::Wake => Event::Due,
            Input::Reply { id, reply } => {
                let (_, call) = *self.calls.iter().find(|(of, _)| *of == id)?;
                let outcome = reply.map_or(Outcome::Unanswered, Outcome::Answered);
                Event::Called(call, vec![outcome])
            }
        })
    }

    fn carries_out(&mut self, action: Action<()>) -> Option<Output<RequestId, Request>> {
        match action {
            // The store takes one request a call.
            Action::Call(call, requests) => requests.into_iter().next().map(|one| {
                if self.calls.len() == CALLS {
                    self.calls.pop_front();
                }
                self.calls.push_back((one.id, call));
                Output::Send { id: one.id, request: one.request }
            }),
            Action::Cancel(call) => {
                let (id, _) = *self.calls.iter().find(|(_, other)| *other == call)?;
                Some(Output::Cancel { id })
            }
            Action::Publish(_, News::Event(event)) => output(event),
            // For handles and subscriptions: the engine has work and hints of its own.
            _ => None,
        }
    }
}

impl Algorithm for Driven {
    type Id = RequestId;
    type Request = Request;
    type Reply = Reply;
    type Store = Contract;
    const TIMERS: Timers = Timers::Boot;

    #[expect(clippy::cast_possible_truncation, reason = "any bits of a seed are random")]
    fn new(config: &Config, node: usize, seed: u128) -> Self {
        let join = Join {
            election: ELECTION,
            key: (),
            config: *config,
            name: name(node),
            seed: Seed::new(seed),
            phase: seed as u64,
        };
        Self {
            driver: Driver::new(InCall::default()),
            join: Some(Box::new(join)),
            now: Instant::ORIGIN,
            then: None,
            calls: VecDeque::new(),
        }
    }

    fn handle(&mut self, now: Instant, input: Input<RequestId, Reply>) {
        self.now = now;
        if let Some(event) = self.input(input) {
            self.driver.handle(now, event);
        }
    }

    fn poll(&mut self) -> Option<Output<RequestId, Request>> {
        loop {
            while let Some(action) = self.driver.poll() {
                if let Some(output) = self.carries_out(action) {
                    return Some(output);
                }
            }
            let next = self.then.take().or_else(|| {
                self.driver.deadline().filter(|at| *at <= self.now).map(|_| Event::Due)
            });
            self.driver.handle(self.now, next?);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.driver.deadline()
    }

    fn leads(&self, now: Instant) -> Option<Lead> {
        self.driver.candidate(ELECTION)?.claim(now).map(lead)
    }

    fn wish(store: &mut Contract, at: Visit, to: usize) -> bool {
        Tenure::wish(store, at, to)
    }

    fn serve(store: &mut Contract, at: Visit, request: Request) -> Served<Reply> {
        Tenure::serve(store, at, request)
    }

    fn kept(store: &Contract) -> Option<Stored> {
        Tenure::kept(store)
    }

    fn number(id: RequestId) -> u64 {
        Tenure::<Contract>::number(id)
    }

    fn asked(request: Request) -> Option<(u128, Asked)> {
        Tenure::<Contract>::asked(request)
    }

    fn answered(reply: Reply) -> Option<Answer> {
        Tenure::<Contract>::answered(reply)
    }
}
