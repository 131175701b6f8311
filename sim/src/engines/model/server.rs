//! The servers of the store: one, or for a while two.

use tenure_core::Instant;

use super::algorithm::{Algorithm, Session};
use crate::plan::SimTime;
use crate::plan::clock::Clock;
use crate::trace::Kept;

/// A server: what it keeps, and the clock that it keeps it by.
pub(super) struct Server<A: Algorithm> {
    /// Counted up each time that another one takes the store's place.
    pub(super) number: u32,
    pub(super) clock: Clock,
    pub(super) state: A::Store,
    /// The election's record, as the last step left it.
    pub(super) kept: Option<Kept>,
    /// What it kept before, for those that are put back to it.
    past: Vec<(SimTime, A::Store)>,
    /// How many faults under way keep it from running.
    pub(super) down: u32,
    /// Nobody answers in its place, not even that it is down.
    pub(super) silent: u32,
    pub(super) stalls: u32,
    /// What has arrived while it answered nothing.
    pub(super) waiting: Vec<Request<A>>,
}

/// A request that has arrived.
pub(super) struct Request<A: Algorithm> {
    pub(super) session: Session,
    pub(super) id: A::Id,
    pub(super) asks: A::Request,
}

#[allow(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask the algorithm to be Copy")]
impl<A: Algorithm> Clone for Request<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Algorithm> Copy for Request<A> {}

impl<A: Algorithm> Server<A> {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            number: 0,
            clock,
            state: A::Store::default(),
            kept: None,
            past: Vec::new(),
            down: 0,
            silent: 0,
            stalls: 0,
            waiting: Vec::new(),
        }
    }

    /// Puts the clock forward or back: the lease ends sooner or later for it.
    pub(super) fn step_clock(&mut self, at: SimTime, by_ms: i64) {
        self.clock.step(at, by_ms);
        self.kept = None;
        self.record();
    }

    /// The election's record. When it ends in true time is worked out when it is written.
    pub(super) fn record(&mut self) -> Option<Kept> {
        self.kept = match (self.kept, A::kept(&self.state)) {
            (Some(known), Some(kept)) if known.lease_end == kept.lease_end => {
                Some(Kept { lease_ends: known.lease_ends, ..kept })
            }
            (_, Some(kept)) => {
                let lease_ends = self.clock.when(Instant::from_nanos(kept.lease_end));
                Some(Kept { lease_ends, ..kept })
            }
            (_, None) => None,
        };
        self.kept
    }

    /// Notes what is kept from now on.
    pub(super) fn remember(&mut self, at: SimTime) {
        self.past.push((at, self.state.clone()));
    }

    /// What was kept at that time.
    pub(super) fn as_of(&self, at: SimTime) -> A::Store {
        let before = self.past.iter().rev().find(|(then, _)| *then <= at);
        before.map_or_else(A::Store::default, |(_, state)| state.clone())
    }

    /// The server that takes its place with that data.
    pub(super) fn successor(&self, state: A::Store) -> Self {
        Self {
            number: self.number + 1,
            kept: None,
            clock: self.clock.clone(),
            past: self.past.clone(),
            state,
            down: self.down,
            silent: self.silent,
            stalls: self.stalls,
            waiting: Vec::new(),
        }
    }
}
