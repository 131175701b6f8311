//! The subject of a search: the shipped state machine and the store contract, or a copy with a
//! planted bug.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{
    Candidate, Claim, Config, Input, Instant, NameId, Output, Pending, Reply, Request, Seed,
};

/// The name of a node's candidates, which no holder id and no stamp equals.
pub(super) const fn name(node: usize) -> NameId {
    NameId::from_bits(u128::MAX - node as u128)
}

/// The node whose candidates have that name.
pub(super) const fn node_of(name: u128) -> Option<usize> {
    let node = u128::MAX - name;
    if node < 3 { Some(node as usize) } else { None }
}

/// The record and the past that a store keeps.
pub(crate) type Kept<'a> = (&'a mut Option<Record>, &'a mut Option<Past>);

/// A candidate and its store.
pub(crate) trait Subject: Clone + Debug + Eq + Hash + Send + Sync {
    /// A candidate that has not joined the election yet, in one of its lives.
    fn new(config: Config, name: NameId, seed: Seed) -> Self;
    /// Like [`Candidate::handle`].
    fn handle(&mut self, now: Instant, input: Input);
    /// Like [`Candidate::poll`].
    fn poll(&mut self) -> Option<Output>;
    /// Like [`Candidate::pending`].
    fn pending(&self) -> Option<Pending>;
    /// Like [`Candidate::deadline`].
    fn deadline(&self) -> Option<Instant>;
    /// Like [`Candidate::claim`].
    fn claim(&self, now: Instant) -> Option<Claim>;
    /// One step at the store.
    fn serve((record, past): Kept<'_>, at: Moment, request: Request) -> Reply {
        contract::apply(record, past, at, request)
    }
}

impl Subject for Candidate {
    fn new(config: Config, name: NameId, seed: Seed) -> Self {
        Self::new(config, name, seed)
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output> {
        self.poll()
    }

    fn pending(&self) -> Option<Pending> {
        self.pending()
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline()
    }

    fn claim(&self, now: Instant) -> Option<Claim> {
        self.claim(now)
    }
}
