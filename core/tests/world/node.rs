//! One machine of the world, and what the checks record of the process on it.

use super::clock::Clock;
use tenure_core::{
    Candidate, Claim, Config, Event, Input, Instant, NameId, Output, Request, RequestId, Seed,
    StepDownReason, Token,
};

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) clock: Clock,
    pub(crate) config: Config,
    pub(crate) candidate: Candidate,
    /// Fed with the same inputs from the start.
    twin: Candidate,
    /// Counts the processes that ran on this machine.
    pub(crate) incarnation: u64,
    /// The last request that it sent, until the first answer to it.
    pub(crate) awaits: Option<RequestId>,
    /// The end of the last claim.
    pub(crate) valid_until: Option<Instant>,
    pub(crate) tenure: Tenure,
}

/// The tenure as the application knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    None,
    /// Elected; `over` once it was seen without a claim.
    Elected {
        token: Token,
        over: bool,
    },
    /// Stepped down, and not drained. `until` is `None` once superseded: nothing is promised then.
    Draining {
        token: Token,
        until: Option<Instant>,
    },
}

impl Node {
    pub(crate) fn new(clock: Clock, config: Config, number: usize, incarnation: u64) -> Self {
        let seed =
            Seed::new(((number as u128 + 1) << 64) | u128::from(incarnation * 64) | number as u128);
        let candidate = Candidate::new(config, NameId::from_bits(number as u128), seed);
        Self {
            clock,
            config,
            twin: candidate.clone(),
            candidate,
            incarnation,
            awaits: None,
            valid_until: None,
            tenure: Tenure::None,
        }
    }

    pub(crate) fn claim(&self, now: u64) -> Option<Claim> {
        self.candidate.claim(self.clock.read(now))
    }

    /// Hands an input in. Checks what can be checked without the rest of the world.
    pub(crate) fn handle(&mut self, now: u64, input: Input) -> Vec<Output> {
        let now = self.clock.read(now);
        let mut clone = self.candidate.clone();
        for candidate in [&mut self.candidate, &mut self.twin, &mut clone] {
            candidate.handle(now, input);
        }
        let mut outputs = Vec::new();
        loop {
            let output = self.candidate.poll();
            assert_eq!(output, self.twin.poll(), "(k) the same inputs, other outputs");
            assert_eq!(output, clone.poll(), "(k) a clone behaves differently");
            let Some(output) = output else { break };
            outputs.push(output);
        }
        assert_eq!(self.candidate, self.twin, "(k) the same inputs, another state");
        assert_eq!(self.candidate, clone, "(k) a clone ends up elsewhere");
        let deadline = self.candidate.deadline();
        assert!(
            deadline.is_none_or(|deadline| deadline > now),
            "(h) deadline {deadline:?} is not after {now:?}: {:?}",
            self.candidate
        );
        if input == Input::Drained {
            self.tenure = Tenure::None;
        }
        for output in &outputs {
            self.note(output);
        }
        outputs
    }

    fn note(&mut self, output: &Output) {
        match (*output, self.tenure) {
            (Output::Event(Event::Elected(claim)), before) => {
                assert_eq!(before, Tenure::None, "(d) elected again before stepping down");
                self.tenure = Tenure::Elected { token: claim.token(), over: false };
                self.valid_until = Some(claim.valid_until());
            }
            (Output::Event(Event::SteppedDown { token, reason, drain_until }), before) => {
                let Tenure::Elected { token: elected, .. } = before else {
                    panic!(
                        "(d) stepped down from {token:?} without having been elected: {before:?}"
                    )
                };
                assert_eq!(token, elected, "(d) stepped down from another tenure");
                let kept = reason != StepDownReason::Superseded;
                self.tenure = Tenure::Draining { token, until: kept.then_some(drain_until) };
            }
            (Output::Event(Event::DrainUntil { token, until }), before) => {
                let Tenure::Draining { token: draining, until: old } = before else {
                    panic!("drain_until moved while nothing drains: {before:?}")
                };
                assert_eq!(token, draining, "drain_until of another tenure");
                let later = old.is_some_and(|old| until > old);
                self.tenure = Tenure::Draining { token, until: later.then_some(until) };
            }
            (Output::Send { id, request, .. }, tenure) => {
                self.awaits = Some(id);
                no_send_under_work(request, tenure);
            }
            (Output::Event(Event::Renewed(claim)), _) => {
                self.valid_until = Some(claim.valid_until());
            }
            (Output::Event(_), _) => {}
        }
    }

    /// (e) A claim that has ended stays ended. Returns the claim, if there is one.
    pub(crate) fn no_resurrection(&mut self, now: u64) -> Option<Claim> {
        let now = self.clock.read(now);
        let claim = self.candidate.claim(now);
        let in_time = claim.is_none_or(|claim| now < claim.valid_until());
        assert!(in_time, "(e) {claim:?} outlives itself");
        match (&mut self.tenure, claim) {
            (Tenure::Elected { token, over }, Some(claim)) => {
                assert_eq!(claim.token(), *token, "(e) a claim of another tenure");
                assert!(!*over, "(e) a claim came back after its end");
            }
            (Tenure::Elected { over, .. }, None) => *over = true,
            (Tenure::None | Tenure::Draining { .. }, claim) => {
                assert_eq!(claim, None, "(e) a claim outside a tenure");
            }
        }
        claim
    }
}

/// (f) Nothing is handed back, and nothing asked for anew, while work may still run.
fn no_send_under_work(request: Request, tenure: Tenure) {
    let (Tenure::Elected { token: under_work, .. } | Tenure::Draining { token: under_work, .. }) =
        tenure
    else {
        return;
    };
    match request {
        Request::Acquire(_)
        | Request::Look { .. }
        | Request::Ask { .. }
        | Request::Want { .. }
        | Request::Purge { .. } => panic!("(f) {request:?} while {under_work:?} has not drained"),
        Request::Release { token, .. } => {
            assert_ne!(token, under_work, "(f) released before its work had ended");
        }
        Request::Renew { token, .. } => assert_eq!(token, under_work, "renews another tenure"),
    }
}
