//! The engine that overloads a store: hundreds of elections of one driver, and a second process
//! beside it.
//!
//! The shipped drivers and state machines run over a queue of events. The store is the contract as
//! code behind a server of bounded rate. Identities and jitter come from the seed, so a plan has
//! one trace.
//!
//! Not simulated: lost messages, clocks that drift, crashes, handles, and a process that is late.
//! The other engines have those, with few elections.

mod commands;
mod journal;
mod plan;
mod process;
pub mod properties;
mod run;
mod store;

use serde::Serialize;

use crate::judge::properties::{PropertyName, Violation};
use crate::trace::Digest;

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
