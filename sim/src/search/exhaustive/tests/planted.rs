//! Subjects with a planted bug, each built around the real candidate or store.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use tenure_core::contract::{self, Moment};
use tenure_core::{
    Candidate, Claim, Config, Event, Input, Instant, Output, Pending, Reply, Request, RequestId,
    Seed, Token,
};

use super::Subject;
use super::subject::Kept;

/// A candidate or store with that bug.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planted<B> {
    candidate: Candidate,
    bug: B,
}

/// The behaviour that a bug changes, and the state that it needs for that. The default is the correct behaviour.
pub(super) trait Bug: Clone + Debug + Default + Eq + Hash + Send + Sync {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        candidate.handle(now, input);
    }

    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        candidate.poll()
    }

    fn serve((record, history): Kept<'_>, at: Moment, request: Request) -> Reply {
        contract::apply(record, history, at, request)
    }
}

impl<B: Bug> Subject for Planted<B> {
    fn new(config: Config, seed: Seed) -> Self {
        Self { candidate: Candidate::new(config, seed), bug: B::default() }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.bug.handle(&mut self.candidate, now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        self.bug.poll(&mut self.candidate)
    }

    fn pending(&self) -> Option<Pending> {
        self.candidate.pending()
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.candidate.claim(now)
    }

    fn serve(kept: Kept<'_>, at: Moment, request: Request) -> Reply {
        B::serve(kept, at, request)
    }
}

/// The machine never goes back in time: to it, this is the time of the last input.
const SAME_TIME: Instant = Instant::ORIGIN;

/// Leads without waiting for the quarantine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NoQuarantine;

impl Bug for NoQuarantine {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, mut input: Input) {
        if let Input::Reply { result: Ok(Reply::Granted { wait, .. }), .. } = &mut input {
            *wait = Duration::ZERO;
        }
        candidate.handle(now, input);
    }
}

/// Takes the time of a renewal before the reply arrives: a reply that comes too late renews a claim that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LateRenewalCounts;

impl Bug for LateRenewalCounts {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        let renewed = matches!(input, Input::Reply { result: Ok(Reply::Renewed), .. });
        let before = candidate.deadline().unwrap_or(now) - Duration::from_nanos(1);
        candidate.handle(if renewed { now.min(before) } else { now }, input);
    }
}

/// The store grants to candidates that do not know the last tenure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct AnyCandidateKnowsTheLastTenure;

impl Bug for AnyCandidateKnowsTheLastTenure {
    fn serve((record, history): Kept<'_>, at: Moment, mut request: Request) -> Reply {
        if let Request::Acquire { seen, .. } = &mut request {
            *seen = (*seen).max(record.map(|lease| lease.token));
        }
        contract::apply(record, history, at, request)
    }
}

/// A store without data counts tokens from one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokensStartOver;

impl Bug for TokensStartOver {
    fn serve((record, history): Kept<'_>, at: Moment, request: Request) -> Reply {
        let was_empty = record.is_none();
        match (contract::apply(record, history, at, request), record) {
            (Reply::Granted { wait, .. }, Some(lease)) if was_empty => {
                lease.token = Token::FIRST;
                Reply::Granted { token: Token::FIRST, wait }
            }
            (reply, _) => reply,
        }
    }
}

/// Counts the validity of a claim from the arrival of the reply, not from the sending of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CountedFromTheReply {
    /// The candidate before its last request was admitted.
    before: Option<Candidate>,
}

impl Bug for CountedFromTheReply {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        let granted = matches!(
            input,
            Input::Reply { result: Ok(Reply::Granted { .. } | Reply::Renewed), .. }
        );
        let before = candidate.clone();
        if granted && let Some(mut again) = self.before.take() {
            again.handle(now, Input::Admitted);
            let Input::Reply { id, .. } = input else { return };
            let mut sent = None;
            while let Some(output) = again.poll() {
                if let Output::Send { id, .. } = output {
                    sent = Some(id);
                }
            }
            if sent == Some(id) {
                *candidate = again;
            }
        }
        candidate.handle(now, input);
        let mut look = candidate.clone();
        while let Some(output) = look.poll() {
            if let Output::Send { .. } = output {
                self.before = Some(before.clone());
            }
        }
    }
}

/// Takes the work of a tenure as drained as soon as the tenure is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReleasesAtOnce {
    stepped_down: bool,
}

impl Bug for ReleasesAtOnce {
    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        let output = candidate.poll();
        match output {
            Some(Output::Event(Event::SteppedDown { .. })) => self.stepped_down = true,
            None if self.stepped_down => {
                self.stepped_down = false;
                candidate.handle(SAME_TIME, Input::Drained);
                return candidate.poll();
            }
            _ => {}
        }
        output
    }
}

/// Reports the end of each tenure twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct EndsTwice {
    again: Option<Event>,
}

impl Bug for EndsTwice {
    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        if let Some(event) = self.again.take() {
            return Some(Output::Event(event));
        }
        let output = candidate.poll();
        if let Some(Output::Event(event @ Event::SteppedDown { .. })) = output {
            self.again = Some(event);
        }
        output
    }
}

/// Leads without a grant of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LeadsUnasked {
    asked: Option<RequestId>,
}

impl Bug for LeadsUnasked {
    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        let output = candidate.poll();
        match output {
            Some(Output::Send { id, request: Request::Acquire { .. }, .. }) => {
                self.asked = Some(id);
            }
            None => {
                let id = self.asked.take()?;
                let granted = Reply::Granted { token: Token::FIRST, wait: Duration::ZERO };
                candidate.handle(SAME_TIME, Input::Reply { id, result: Ok(granted) });
                return candidate.poll();
            }
            Some(_) => {}
        }
        output
    }
}

/// Lets work run for a second longer than its lease protects it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DrainsForLonger;

impl Bug for DrainsForLonger {
    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        let mut output = candidate.poll();
        if let Some(Output::Event(Event::SteppedDown { drain_until, .. })) = &mut output {
            *drain_until = *drain_until + Duration::from_secs(1);
        }
        output
    }
}
