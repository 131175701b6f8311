//! Is leader-only work safe under faults, and does a store keep its promises? Runs a user's own
//! work, or a user's own store, under drawn plans, and judges all properties.
//!
//! The candidates are tenure's real state machine in the [model engine](crate::engines::model). The
//! resource to which they write ([`Workload`]) and the store that grants the leases
//! ([`StoreModel`]) may be the user's. Both are plain values with plain functions that the engine
//! calls. With the feature `turmoil`, a user's async code can run instead (`Service`), with the
//! shipped driver and store.
//!
//! ```
//! use tenure_sim::Simulation;
//! use tenure_sim::simulation::{Effect, Leader, Workload};
//!
//! /// A counter that must never lose a count.
//! #[derive(Default)]
//! struct Counter { fence: u64, value: u64, counted: u64 }
//!
//! #[derive(Clone, Hash)]
//! enum Intent { TakeOver, Set(u64) }
//!
//! impl Workload for Counter {
//!     type Intent = Intent;
//!     fn intend(&self, leader: Leader) -> Option<Intent> {
//!         // A leader's reads are safe once it has taken the counter over.
//!         let is_ours = self.fence == leader.token;
//!         Some(if is_ours { Intent::Set(self.value + 1) } else { Intent::TakeOver })
//!     }
//!     fn effect(&mut self, effect: Effect<Intent>) {
//!         match effect.intent {
//!             Intent::TakeOver => self.fence = self.fence.max(effect.by.token),
//!             Intent::Set(value) if effect.by.token == self.fence => {
//!                 self.value = value;
//!                 self.counted += 1;
//!             }
//!             Intent::Set(_) => {}
//!         }
//!     }
//!     fn verify(&self) -> Result<(), String> {
//!         if self.value == self.counted { Ok(()) } else { Err("a count is lost".to_owned()) }
//!     }
//! }
//!
//! Simulation::new().runs(20).workload(Counter::default).check();
//! ```
//!
//! Guaranteed: the same seed gives the same run, on any number of threads; a sample of the runs,
//! and each run that fails, is carried out twice to check this. Not guaranteed: anything about code
//! outside of the value, such as a real client of a real queue.

mod attempt;
mod error;
mod subject;
mod variables;
mod workload;

use std::env;
use std::fmt;
#[cfg(feature = "turmoil")]
use std::sync::Arc;

use crate::plan::{FaultKind, Plan};
use crate::search::campaign::{Campaign, Run, Seeds, Summary};
use crate::search::pool;

pub use crate::engines::model::store::{Contract, Lease, StoreModel};
#[cfg(feature = "turmoil")]
pub use crate::engines::turmoil::{Outside, Process, Service};
pub use crate::judge::properties::Leader;
use crate::judge::properties::PropertyName;
pub use crate::trace::Who;
pub use error::{Failed, Page, SimulationError};
use subject::Subject;
pub use tenure_core::contract::Moment;
pub use tenure_core::{HolderId, Instant, Reply, Request, Token};
pub use variables::{RUNS, SEED};
pub use workload::{Effect, Workload};
use workload::{Guarded, Judged};

/// A simulation of many runs, each with a plan of its own.
pub struct Simulation {
    first: u64,
    runs: Option<u64>,
    faults: Vec<FaultKind>,
    needs_all_conditions: bool,
    subject: Subject,
}

/// The result of a simulation without a failure.
#[derive(Clone, Debug)]
pub struct Report {
    /// The sum of all runs.
    pub summary: Summary,
    /// The conditions that no run has met. With fewer runs there are more of them.
    pub unmet: Vec<String>,
}

impl Simulation {
    /// Tenure's own state machine and store contract, every kind of fault, and a thousand seeds
    /// from 1 on.
    pub fn new() -> Self {
        Self {
            first: 1,
            runs: None,
            faults: FaultKind::ALL.to_vec(),
            needs_all_conditions: false,
            subject: Subject::own(),
        }
    }

    /// Sets the number of seeds; without it a thousand, or a hundred for a
    /// [`Service`](Self::service). `TENURE_SIM_RUNS` overrides it.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = Some(runs);
        self
    }

    /// Sets the first seed. `TENURE_SIM_SEED` overrides it.
    #[must_use]
    pub fn seed(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// Sets the kinds of faults that plans are drawn from.
    #[must_use]
    pub fn faults(mut self, kinds: impl IntoIterator<Item = FaultKind>) -> Self {
        self.faults = kinds.into_iter().collect();
        self
    }

    /// Sets the work of leaders. `new` is called for each run.
    #[must_use]
    pub fn workload<W: Workload + 'static>(mut self, new: impl Fn() -> W + Sync + 'static) -> Self {
        let new = move |broken: &[_]| -> Box<dyn Judged> { Box::new(Guarded::new(new(), broken)) };
        self.subject = self.subject.with_workload(Box::new(new));
        self
    }

    /// Sets the store that grants the leases, instead of the store contract as the design states
    /// it.
    #[must_use]
    pub fn store<S: StoreModel>(mut self) -> Self {
        self.subject = self.subject.with_store::<S>();
        self
    }

    /// Sets the service that runs on each node, in place of a workload and a store as values: with
    /// the shipped driver and the shipped Redis store, in the [turmoil
    /// engine](crate::engines::turmoil). `new` is called for each run.
    #[cfg(feature = "turmoil")]
    #[must_use]
    pub fn service<S: Service>(mut self, new: impl Fn() -> S + Sync + 'static) -> Self {
        self.subject = Subject::Service(Box::new(move || Arc::new(new())));
        self
    }

    /// Makes a condition that no run has met an error.
    #[must_use]
    pub fn needs_all_conditions(mut self) -> Self {
        self.needs_all_conditions = true;
        self
    }

    /// Carries out all runs, and panics if one fails. For a `#[test]`.
    ///
    /// # Panics
    /// With the failure, the seed, the plan, and the path of the run's page. Conditions that were
    /// never met are printed on standard error, and are not a failure unless
    /// [required](Self::needs_all_conditions).
    pub fn check(&self) {
        match self.run() {
            Ok(report) if report.unmet.is_empty() => {}
            Ok(report) => eprintln!(
                "nothing was violated in {} runs, but they never met: {}",
                report.summary.runs,
                report.unmet.join(", ")
            ),
            Err(error) => panic!("{error}{}", kept_page(&error)),
        }
    }

    /// Carries out all runs.
    ///
    /// # Errors
    /// The failed run of the lowest seed, with the smallest failing plan; runs that could not have
    /// failed ([`Empty`](SimulationError::Empty)); or a variable of the environment with an invalid
    /// value.
    pub fn run(&self) -> Result<Report, SimulationError> {
        let campaign = self.campaign(|name| env::var_os(name))?;
        let mut summary = campaign.run_each(&|seed| self.one(seed), || {});
        if let Some(failed) = summary.failed.take() {
            let failed = self.failed(failed.seed, failed.failure);
            return Err(SimulationError::Failed(Box::new(failed)));
        }
        let why = self.nothing_judged(&summary);
        if !why.is_empty() {
            return Err(SimulationError::Empty { runs: summary.runs, why });
        }
        let never = self.subject.never_meets();
        let unmet = summary.unmet().into_iter().filter(|name| !never.contains(name));
        let unmet: Vec<String> = unmet.map(str::to_owned).collect();
        if self.needs_all_conditions && !unmet.is_empty() {
            return Err(SimulationError::Inconclusive { runs: summary.runs, unmet });
        }
        Ok(Report { summary, unmet })
    }

    /// Carries out one plan twice: the plan of a failure, or one written by hand.
    ///
    /// # Errors
    /// If it fails.
    pub fn replay(&self, plan: &Plan) -> Result<(), SimulationError> {
        match self.attempt_twice(plan) {
            Ok(run) if run.failure.is_none() => Ok(()),
            Ok(Run { failure: Some(failure), .. }) | Err(failure) => {
                self.repeat_panic(plan, &failure);
                let (seed, page) = (plan.seed, self.page(plan, None));
                let failed = Failed { seed, plan: plan.clone(), failure, page };
                Err(SimulationError::Failed(Box::new(failed)))
            }
            Ok(_) => Ok(()),
        }
    }

    /// The reasons why runs without a violation prove nothing; empty if they do prove something.
    fn nothing_judged(&self, summary: &Summary) -> Vec<String> {
        let mut why = Vec::new();
        for (name, counts) in &summary.properties {
            if counts.compared == 0 && name.parse::<PropertyName>().is_err() {
                why.push(self.subject.nothing_compared(name));
            }
        }
        for kind in summary.without_effect() {
            why.push(format!("no fault of the kind {kind} had an effect"));
        }
        why
    }

    fn campaign(
        &self,
        read: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Campaign, SimulationError> {
        let first = variables::number(SEED, 0, &read)?.unwrap_or(self.first);
        let runs =
            variables::number(RUNS, 1, &read)?.unwrap_or(self.runs.unwrap_or(self.subject.runs()));
        if runs == 0 || first.checked_add(runs - 1).is_none() {
            return Err(SimulationError::Seeds { first, runs });
        }
        Ok(Campaign {
            engine: self.subject.engine(),
            seeds: Seeds::range(first, runs),
            jobs: pool::cores(),
            faults: self.faults.clone(),
            properties: self.subject.properties(),
            check_determinism: false,
        })
    }
}

/// A sentence with the path of the failed run's page.
fn kept_page(error: &SimulationError) -> String {
    let SimulationError::Failed(failed) = error else { return String::new() };
    match failed.page.as_ref().map(|page| page.keep(failed.seed)) {
        Some(Ok(path)) => format!("\nthe page of the run: {}", path.display()),
        Some(Err(error)) => format!("\nthe page of the run could not be written: {error}"),
        None => String::new(),
    }
}

impl Default for Simulation {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, runs, faults, needs_all_conditions, .. } = self;
        f.debug_struct("Simulation")
            .field("first", first)
            .field("runs", runs)
            .field("faults", faults)
            .field("needs_all_conditions", needs_all_conditions)
            .finish_non_exhaustive()
    }
}
