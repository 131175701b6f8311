//! The store's part as a value: the contract of the design, or a user's own store.

use std::time::Duration;

use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{Mark, Reply, Request, Token};

/// A store of leases as a value: its data for one election, and its step.
///
/// The engine decides when requests arrive, and which faults change the data. After a crash that
/// keeps the data, the same value continues under another server identity. After a loss the default
/// value continues; after a rollback, or a failover to a lagging replica, an older clone.
///
/// Must be a function of its arguments: no clock, no entropy, no order of a hash map. Not
/// simulated: the atomicity of the step. If a real store splits the step in two, it has races that
/// the simulation can't find.
pub trait StoreModel: Clone + Default {
    /// Carries out one request, in one atomic step.
    fn apply(&mut self, at: Moment, request: Request) -> Reply;

    /// The last lease that it granted, handed back or not, by its own data. The properties use it.
    fn lease(&self) -> Option<Lease>;
}

/// A store's data about the last lease of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The tenure's token.
    pub token: Token,
    /// Its holder, and the request that last won or extended it.
    pub mark: Mark,
    /// The time that another candidate watches the mark before it may take the lease.
    pub ttl: Duration,
    /// True if it was handed back.
    pub released: bool,
}

impl From<Record> for Lease {
    fn from(record: Record) -> Self {
        let Record { token, ttl, released, .. } = record;
        Self { token, mark: record.mark(), ttl, released }
    }
}

/// The store contract as the design states it.
#[derive(Clone, Debug, Default)]
pub struct Contract {
    record: Option<Record>,
    past: Option<Past>,
}

impl StoreModel for Contract {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        contract::apply(&mut self.record, &mut self.past, at, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.record.map(Lease::from)
    }
}
