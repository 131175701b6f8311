//! The store's part as a value: the contract of the design, or somebody's own.

use tenure_core::contract::{self, History, Moment, Record};
use tenure_core::{HolderId, Instant, Reply, Request, Token};

/// A store of leases as a value: what it keeps for one election, and what it does with it.
///
/// The engine decides when requests come and what becomes of the data. A crash that keeps the data goes on
/// with this value under another identity. A loss goes on with the default one, a rollback or a failover
/// to a lagging replica with an older clone.
///
/// Must be a function of its arguments: no clock, no entropy, no order of a hash map. Not simulated: what
/// keeps the step atomic. A step that a real store splits in two has races that this one has not.
pub trait StoreModel: Clone + Default {
    /// Carries out one request, in one atomic step.
    fn apply(&mut self, at: Moment, request: Request) -> Reply;

    /// The last lease that it granted, ended or not, as it knows it: what the properties go by.
    fn lease(&self) -> Option<Lease>;
}

/// What a store knows about the last lease of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The tenure's token.
    pub token: Token,
    /// Its holder.
    pub holder: HolderId,
    /// When it ends, by the store's clock.
    pub ends: Instant,
    /// Whether it was handed back.
    pub released: bool,
}

impl From<Record> for Lease {
    fn from(record: Record) -> Self {
        let Record { token, holder, lease_end: ends, released, .. } = record;
        Self { token, holder, ends, released }
    }
}

/// The store contract as the design states it.
#[derive(Clone, Debug, Default)]
pub struct Contract {
    record: Option<Record>,
    history: Option<History>,
}

impl StoreModel for Contract {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        contract::apply(&mut self.record, &mut self.history, at, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.record.map(Lease::from)
    }
}
