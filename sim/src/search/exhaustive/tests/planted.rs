//! Subjects with a planted bug, each built around the real candidate or store.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use tenure_core::contract::{self, Moment};
use tenure_core::{
    Acquire, Candidate, Claim, Config, Event, Input, Instant, NameId, Output, Pending, Reply,
    Request, RequestId, Seed, Sight, Stamp, Token, WatchedStamp,
};

use super::Subject;
use super::subject::Kept;

/// A candidate or store with that bug.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planted<B> {
    candidate: Candidate,
    bug: B,
}

/// The behaviour that a bug changes, and the state that it needs for that. The default is the
/// correct behaviour.
pub(super) trait Bug: Clone + Debug + Default + Eq + Hash + Send + Sync {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        candidate.handle(now, input);
    }

    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        candidate.poll()
    }

    fn serve((record, past): Kept<'_>, at: Moment, request: Request) -> Reply {
        contract::apply(record, past, at, request)
    }
}

impl<B: Bug> Subject for Planted<B> {
    fn new(config: Config, name: NameId, seed: Seed) -> Self {
        Self { candidate: Candidate::new(config, name, seed), bug: B::default() }
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

/// Watches a lease for half of its TTL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WatchesHalfOfTheTtl;

impl Bug for WatchesHalfOfTheTtl {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, mut input: Input) {
        if let Input::Reply { result: Ok(Reply::Not(sight) | Reply::At(sight)), .. } = &mut input
            && let Some(lease) = &mut sight.record
        {
            lease.ttl /= 2;
        }
        candidate.handle(now, input);
    }
}

/// Watches a past for half of the quarantine, and says that it has watched all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WatchesHalfOfTheQuarantine {
    /// The stamp that was told last, and since when.
    told: Option<(Stamp, Instant)>,
}

impl Bug for WatchesHalfOfTheQuarantine {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, mut input: Input) {
        if let Input::Reply { result: Ok(Reply::Not(sight) | Reply::At(sight)), .. } = &mut input {
            self.watch(sight, now, candidate.config().quarantine() / 2);
        }
        candidate.handle(now, input);
    }

    fn poll(&mut self, candidate: &mut Candidate) -> Option<Output> {
        let mut output = candidate.poll();
        if let Some(Output::Send { request: Request::Acquire(Acquire { stamp, .. }), .. }) =
            &mut output
            && let Some((told, _)) = self.told
        {
            *stamp = Some(WatchedStamp { stamp: told, time: candidate.config().quarantine() });
        }
        output
    }
}

impl WatchesHalfOfTheQuarantine {
    fn watch(&mut self, sight: &mut Sight, now: Instant, demand: Duration) {
        let Some(past) = sight.past else { return };
        match self.told {
            Some((stamp, since)) if stamp == past.stamp => {
                if now.since(since) >= demand {
                    sight.past = None;
                }
            }
            Some(_) | None => self.told = Some((past.stamp, now)),
        }
    }
}

/// Takes a lease that is kept for another one at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TakesWhatIsKept;

impl Bug for TakesWhatIsKept {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, mut input: Input) {
        if let Input::Reply { result: Ok(Reply::Not(sight) | Reply::At(sight)), .. } = &mut input
            && let Some(lease) = &mut sight.record
            && let Some(kept) = &mut lease.reservation
        {
            kept.reserve = Duration::ZERO;
        }
        candidate.handle(now, input);
    }
}

/// Two pasts have the same stamp, so a watch of the earlier one counts for the later one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GivesAStampTwice;

impl Bug for GivesAStampTwice {
    fn serve((record, past): Kept<'_>, mut at: Moment, request: Request) -> Reply {
        at.fresh = Stamp::from_bits(0);
        contract::apply(record, past, at, request)
    }
}

/// Takes the time of a renewal before the reply arrives: a reply that comes too late renews a claim
/// that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LateRenewalCounts;

impl Bug for LateRenewalCounts {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        let renewed = matches!(input, Input::Reply { result: Ok(Reply::Renewed { .. }), .. });
        let before = candidate.deadline().unwrap_or(now) - Duration::from_nanos(1);
        candidate.handle(if renewed { now.min(before) } else { now }, input);
    }
}

/// The store grants a lease that was given back to candidates that do not know its tenure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct AnyCandidateKnowsTheLastTenure;

impl Bug for AnyCandidateKnowsTheLastTenure {
    fn serve((record, past): Kept<'_>, at: Moment, mut request: Request) -> Reply {
        if let Request::Acquire(Acquire { seen, .. }) = &mut request {
            *seen = (*seen).max(record.map(|lease| lease.token));
        }
        contract::apply(record, past, at, request)
    }
}

/// A store without data counts tokens from one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokensStartOver;

impl Bug for TokensStartOver {
    fn serve((record, past): Kept<'_>, at: Moment, request: Request) -> Reply {
        let was_empty = record.is_none();
        match (contract::apply(record, past, at, request), record) {
            (Reply::Granted { .. }, Some(lease)) if was_empty => {
                lease.token = Token::FIRST;
                Reply::Granted { token: Token::FIRST }
            }
            (reply, _) => reply,
        }
    }
}

/// Counts the validity of a claim from the arrival of the reply, not from the sending of the
/// request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CountedFromTheReply {
    /// The candidate before its last request was admitted.
    before: Option<Candidate>,
}

impl Bug for CountedFromTheReply {
    fn handle(&mut self, candidate: &mut Candidate, now: Instant, input: Input) {
        let granted = matches!(
            input,
            Input::Reply { result: Ok(Reply::Granted { .. } | Reply::Renewed { .. }), .. }
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
            Some(Output::Send { id, request: Request::Acquire(_), .. }) => {
                self.asked = Some(id);
            }
            None => {
                let id = self.asked.take()?;
                let granted = Reply::Granted { token: Token::FIRST };
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
