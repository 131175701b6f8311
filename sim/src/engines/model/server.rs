//! The servers of the store: one, or two for a while.

use std::collections::BTreeMap;

use super::algorithm::{Algorithm, Ends, Session, Stored};
use crate::plan::SimTime;
use crate::plan::clock::{Clock, true_time};
use crate::trace::Kept;

/// A server: its data, and its clock.
pub(super) struct Server<A: Algorithm> {
    /// The number of the server; it increases whenever another one replaces the store.
    pub(super) number: u32,
    pub(super) clock: Clock,
    pub(super) state: A::Store,
    /// The election's record after the last step.
    pub(super) kept: Option<Kept>,
    /// The connection of each node over which it has carried out a request.
    served: BTreeMap<usize, u32>,
    /// The most by which a candidate's clock may be fast.
    drift_ppm: i64,
    /// Its earlier data, for rollbacks.
    past: Vec<(SimTime, A::Store)>,
    /// True if a fault keeps it from running, and if its machine does not even report that.
    pub(super) is_down: bool,
    pub(super) is_silent: bool,
    pub(super) is_stalled: bool,
    /// The requests that have arrived while it answered nothing.
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
    pub(super) fn new(clock: Clock, drift_ppm: u32) -> Self {
        Self {
            number: 0,
            clock,
            state: A::Store::default(),
            kept: None,
            served: BTreeMap::new(),
            drift_ppm: drift_ppm.into(),
            past: Vec::new(),
            is_down: false,
            is_silent: false,
            is_stalled: false,
            waiting: Vec::new(),
        }
    }

    /// Steps the clock forward or back: a lease that the server ends ends sooner or later.
    pub(super) fn step_clock(&mut self, at: SimTime, by_ms: i64) {
        self.clock.step(at, by_ms);
        if let Some(Stored { ends: Ends::ByServer(_), .. }) = A::kept(&self.state) {
            self.kept = None;
            self.record(at);
        }
    }

    /// The election's record. The lease's end in true time is computed when its mark is written.
    pub(super) fn record(&mut self, at: SimTime) -> Option<Kept> {
        self.kept = A::kept(&self.state).map(|Stored { token, mark, released, ends }| {
            let lease_ends = match (self.kept, ends) {
                (Some(known), _) if known.mark == mark => known.lease_ends,
                (_, Ends::ByServer(ends)) => self.clock.when(ends),
                (_, Ends::Watched(ttl)) => at + true_time(ttl, self.drift_ppm),
            };
            Kept { token, mark, lease_ends, released }
        });
        self.kept
    }

    /// True if that is the first step over the connection.
    pub(super) fn is_first(&mut self, session: Session) -> bool {
        self.served.insert(session.node, session.connection) != Some(session.connection)
    }

    /// Keeps a copy of the present data.
    pub(super) fn remember(&mut self, at: SimTime) {
        self.past.push((at, self.state.clone()));
    }

    /// The data at that time.
    pub(super) fn as_of(&self, at: SimTime) -> A::Store {
        let before = self.past.iter().rev().find(|(then, _)| *then <= at);
        before.map_or_else(A::Store::default, |(_, state)| state.clone())
    }

    /// The server that replaces it, with that data.
    pub(super) fn successor(&self, state: A::Store) -> Self {
        Self {
            number: self.number + 1,
            kept: None,
            served: BTreeMap::new(),
            drift_ppm: self.drift_ppm,
            clock: self.clock.clone(),
            past: self.past.clone(),
            state,
            is_down: self.is_down,
            is_silent: self.is_silent,
            is_stalled: self.is_stalled,
            waiting: Vec::new(),
        }
    }
}
