//! The engine that overloads a store: hundreds of elections of one driver, and a second process
//! beside it.
//!
//! The shipped driver, handles and state machine run in tokio's virtual time. The store is the
//! contract as code behind a server of bounded rate. A run has one thread and one order of events:
//! selects are biased, maps are ordered, identities and jitter come from the seed. So a plan has
//! one trace.
//!
//! Not simulated: lost messages, clocks that drift, crashes. The other engines have those, with few
//! elections.

mod candidates;
mod journal;
mod plan;
pub mod properties;
mod runtime;
mod store;

use std::io;
use std::sync::Arc;

use serde::Serialize;
use tokio::runtime::Builder;

use crate::judge::properties::{PropertyName, Violation};
use crate::plan::SimTime;
use crate::trace::{Digest, Who};
use candidates::Processes;
use journal::{Journal, Noted};
use runtime::Clock;

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

/// An error that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverloadError {
    /// There is no runtime.
    #[error("no tokio runtime")]
    Runtime(#[source] io::Error),
    /// A candidate could not be started.
    #[error("{who:?} could not be started")]
    Start {
        /// The candidate.
        who: Who,
        /// The reason.
        #[source]
        why: Box<tenure::StartError>,
    },
    /// The journal has a gap.
    #[error("events of {who:?} were lost at {at}")]
    Lagged {
        /// The candidate.
        who: Who,
        /// The time.
        at: SimTime,
    },
}

/// Carries out a plan, and judges the run. Its candidates are numbered by process and election:
/// `n5` is that of the first process in election 5, `n100005` that of the second.
///
/// # Errors
/// If the simulation itself fails.
pub fn run(plan: &Plan) -> Result<Outcome, OverloadError> {
    Ok(properties::judge(plan, &record(plan)?))
}

/// Carries out a plan.
fn record(plan: &Plan) -> Result<Vec<Noted>, OverloadError> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(OverloadError::Runtime)?;
    let journal = Arc::new(Journal::default());
    let processes = runtime.block_on(async {
        let clock = Clock::begin();
        let processes = Processes::new(plan, clock, &journal);
        processes.join_all(plan).await?;
        clock.sleep_until(plan.hands_over_at()).await;
        processes.hand_over_some(plan);
        clock.sleep_until(plan.resigns_at()).await;
        processes.resign_some(plan);
        processes.hand_over_some(plan);
        clock.sleep_until(plan.end()).await;
        Ok(processes)
    })?;
    let entries = journal.close(plan.end());
    processes.end();
    entries.map_err(|(who, at)| OverloadError::Lagged { who, at })
}
