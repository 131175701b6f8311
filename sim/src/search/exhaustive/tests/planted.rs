//! Subjects with a planted bug, each built around the real candidate or store.

use std::fmt::Debug;
use std::time::Duration;

use tenure_core::contract::{self, History, Moment, Record};
use tenure_core::{
    Candidate, Claim, Config, Event, Input, Instant, Output, Reply, Request, RequestId, Seed, Token,
};

use super::Subject;

/// A subject that wraps the real candidate. Each bug overrides one of the methods of [`Planted`].
macro_rules! around {
    ($(#[$about:meta])* $name:ident $(, $item:item)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(super) struct $name(Candidate);

        impl Planted for $name {
            $($item)*
        }

        impl Subject for $name {
            fn new(config: Config, seed: Seed) -> Self {
                Self(Candidate::new(config, seed))
            }

            fn handle(&mut self, now: Instant, input: Input) {
                let (now, input) = Self::reads(&self.0, now, input);
                self.0.handle(now, input);
            }

            fn poll(&mut self) -> Option<Output> {
                self.0.poll()
            }

            fn deadline(&self) -> Option<Instant> {
                self.0.deadline()
            }

            fn claim(&self, now: Instant) -> Option<Claim> {
                self.0.claim(now)
            }

            fn serve(
                record: &mut Option<Record>,
                history: &mut Option<History>,
                at: Moment,
                request: Request,
            ) -> Reply {
                Self::answers(record, history, at, request)
            }
        }
    };
}

trait Planted {
    fn reads(_: &Candidate, now: Instant, input: Input) -> (Instant, Input) {
        (now, input)
    }

    fn answers(
        record: &mut Option<Record>,
        history: &mut Option<History>,
        at: Moment,
        request: Request,
    ) -> Reply {
        contract::apply(record, history, at, request)
    }
}

around!(
    /// Leads without waiting for the quarantine.
    NoQuarantine,
    fn reads(_: &Candidate, now: Instant, input: Input) -> (Instant, Input) {
        let Input::Reply { id, result: Ok(Reply::Granted { token, .. }) } = input else {
            return (now, input);
        };
        let granted = Reply::Granted { token, wait: Duration::ZERO };
        (now, Input::Reply { id, result: Ok(granted) })
    }
);

around!(
    /// Takes the time of a renewal before the reply arrives: a reply that comes too late renews a claim that has ended.
    LateRenewalCounts,
    fn reads(candidate: &Candidate, now: Instant, input: Input) -> (Instant, Input) {
        let renewed = matches!(input, Input::Reply { result: Ok(Reply::Renewed), .. });
        let before = candidate.deadline().unwrap_or(now) - Duration::from_nanos(1);
        (if renewed { now.min(before) } else { now }, input)
    }
);

around!(
    /// The store grants to candidates that do not know the last tenure.
    AnyCandidateKnowsTheLastTenure,
    fn answers(
        record: &mut Option<Record>,
        history: &mut Option<History>,
        at: Moment,
        request: Request,
    ) -> Reply {
        let request = match request {
            Request::Acquire { holder, ttl, quarantine, seen } => {
                let seen = seen.max(record.map(|lease| lease.token));
                Request::Acquire { holder, seen, ttl, quarantine }
            }
            other => other,
        };
        contract::apply(record, history, at, request)
    }
);

around!(
    /// A store without data counts tokens from one.
    TokensStartOver,
    fn answers(
        record: &mut Option<Record>,
        history: &mut Option<History>,
        at: Moment,
        request: Request,
    ) -> Reply {
        let was_empty = record.is_none();
        match (contract::apply(record, history, at, request), record) {
            (Reply::Granted { wait, .. }, Some(lease)) if was_empty => {
                lease.token = Token::FIRST;
                Reply::Granted { token: Token::FIRST, wait }
            }
            (reply, _) => reply,
        }
    }
);

/// Counts the validity of a claim from the arrival of the reply, not from the sending of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CountedFromTheReply {
    candidate: Candidate,
    /// The candidate before it sent its last request.
    before: Option<Candidate>,
}

impl Subject for CountedFromTheReply {
    fn new(config: Config, seed: Seed) -> Self {
        Self { candidate: Candidate::new(config, seed), before: None }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        let granted = matches!(
            input,
            Input::Reply { result: Ok(Reply::Granted { .. } | Reply::Renewed), .. }
        );
        let before = self.candidate.clone();
        if granted && let Some(mut again) = self.before.take() {
            let sends = if again.deadline().is_none() { Input::Campaign } else { Input::Wake };
            again.handle(now, sends);
            let Input::Reply { id, .. } = input else { return };
            let mut sent = None;
            while let Some(output) = again.poll() {
                if let Output::Send { id, .. } = output {
                    sent = Some(id);
                }
            }
            if sent == Some(id) {
                self.candidate = again;
            }
        }
        self.candidate.handle(now, input);
        let mut look = self.candidate.clone();
        while let Some(output) = look.poll() {
            if let Output::Send { .. } = output {
                self.before = Some(before.clone());
            }
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.candidate.poll()
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.candidate.claim(now)
    }
}

/// Takes the work of a tenure as drained as soon as the tenure is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReleasesAtOnce {
    candidate: Candidate,
    now: Instant,
    stepped_down: bool,
}

impl Subject for ReleasesAtOnce {
    fn new(config: Config, seed: Seed) -> Self {
        let now = Instant::ORIGIN;
        Self { candidate: Candidate::new(config, seed), now, stepped_down: false }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.now = now;
        self.candidate.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        let output = self.candidate.poll();
        match output {
            Some(Output::Event(Event::SteppedDown { .. })) => self.stepped_down = true,
            None if self.stepped_down => {
                self.stepped_down = false;
                self.candidate.handle(self.now, Input::Drained);
                return self.candidate.poll();
            }
            _ => {}
        }
        output
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.candidate.claim(now)
    }
}

/// Reports the end of each tenure twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EndsTwice {
    candidate: Candidate,
    again: Option<Event>,
}

impl Subject for EndsTwice {
    fn new(config: Config, seed: Seed) -> Self {
        Self { candidate: Candidate::new(config, seed), again: None }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.candidate.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        if let Some(event) = self.again.take() {
            return Some(Output::Event(event));
        }
        let output = self.candidate.poll();
        if let Some(Output::Event(event @ Event::SteppedDown { .. })) = output {
            self.again = Some(event);
        }
        output
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.candidate.claim(now)
    }
}

/// Leads without a grant of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeadsUnasked {
    candidate: Candidate,
    now: Instant,
    asked: Option<RequestId>,
}

impl Subject for LeadsUnasked {
    fn new(config: Config, seed: Seed) -> Self {
        Self { candidate: Candidate::new(config, seed), now: Instant::ORIGIN, asked: None }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.now = now;
        self.candidate.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        let output = self.candidate.poll();
        match output {
            Some(Output::Send { id, request: Request::Acquire { .. }, .. }) => {
                self.asked = Some(id);
            }
            None => {
                let id = self.asked.take()?;
                let granted = Reply::Granted { token: Token::FIRST, wait: Duration::ZERO };
                self.handle(self.now, Input::Reply { id, result: Ok(granted) });
                return self.candidate.poll();
            }
            Some(_) => {}
        }
        output
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.candidate.claim(now)
    }
}

/// Lets work run for a second longer than its lease protects it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DrainsForLonger(Candidate);

impl Subject for DrainsForLonger {
    fn new(config: Config, seed: Seed) -> Self {
        Self(Candidate::new(config, seed))
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.0.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        let longer = |until| until + Duration::from_secs(1);
        Some(match self.0.poll()? {
            Output::Event(Event::SteppedDown { token, reason, drain_until }) => {
                let drain_until = longer(drain_until);
                Output::Event(Event::SteppedDown { token, reason, drain_until })
            }
            other => other,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.0.claim(now)
    }
}
