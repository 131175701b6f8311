//! The engine of many elections: two processes, each with one driver and up to hundreds of
//! elections.
//!
//! The shipped drivers and state machines run over a queue of events. The store is the contract as
//! code behind a server of bounded rate. Identities and jitter come from the seed, so a plan has
//! one trace. A plan either overloads the store, or has [faults](Fault) of the processes and of
//! their ways to it.
//!
//! Not simulated: handles, and a store that loses data. The other engines have those.

mod commands;
mod faults;
mod flights;
mod journal;
mod ledger;
mod plan;
mod process;
pub mod properties;
mod run;
mod store;

use serde::Serialize;

use crate::judge::properties::{PropertyName, Violation};
use crate::trace::Digest;

pub use faults::{Fault, FaultKind, Shell};
pub(crate) use ledger::Ledger;
pub use plan::{Kind, Phase, Plan};

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Each property's number of comparisons with events: zero means that the run says nothing
    /// about it.
    pub compared: Vec<(PropertyName, u64)>,
    /// The first violation of each property.
    pub violations: Vec<Violation>,
    /// The hash of the events.
    pub hash: Digest,
    /// The number of events.
    pub events: usize,
    /// The number of handovers to the candidate that was meant.
    pub handed_over: usize,
    /// The most leaders at one time.
    pub leaders: usize,
    /// The most calls of the first process in flight at one time.
    pub in_flight: usize,
}

impl Outcome {
    /// The properties about which the run says nothing.
    pub fn never_compared(&self) -> impl Iterator<Item = PropertyName> {
        let never = self.compared.iter().filter(|(_, times)| *times == 0);
        never.map(|(name, _)| *name)
    }
}

/// Carries out a plan, and judges the run. Its candidates are numbered by process and election:
/// `n5` is that of the first process in election 5, `n100005` that of the second.
pub fn run(plan: &Plan) -> Outcome {
    properties::judge(plan, &run::record(plan))
}
