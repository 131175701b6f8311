//! Many runs, and what they say together.
//!
//! Memory does not grow with the number of runs: every thread sums up its own, and the sums are added up
//! at the end, as [`merged`] does with those of several machines. Nothing in a sum depends on the order
//! of its runs.

mod margins;
mod merge;
mod report;
mod run;
mod seeds;
mod summary;
mod units;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Instant;

use crate::engines::Engine;
use crate::judge::Judging;
use crate::judge::properties::{self, PropertyName};
use crate::judge::sometimes;
use crate::plan::{FaultKind, Plan, swarm};
use crate::search::pool;
pub use margins::Margins;
pub use merge::{MergeError, merged};
pub use report::{Report, SummaryError, read, write};
pub use run::{Failure, Ordered, Run, attempt, attempt_twice};
pub use seeds::{Seeds, Shard, ShardError};
pub(crate) use summary::OFTEN;
pub use summary::{Failed, Judged, Summary, Verdict};
pub use units::milliseconds;

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// What carries the plans out.
    pub engine: Engine,
    /// The seeds.
    pub seeds: Seeds,
    /// On how many threads.
    pub jobs: usize,
    /// The kinds of faults that may be drawn.
    pub faults: Vec<FaultKind>,
    /// Judge by these properties only; by all if `None`.
    pub properties: Option<Vec<PropertyName>>,
    /// Carry out each plan twice, and compare the hashes of the traces.
    pub check_determinism: bool,
}

impl Campaign {
    /// Carries out all runs. `progress` is told of each that has ended.
    ///
    /// Stops early once one has failed. Seeds are handed out in order, so that all lower ones are carried
    /// out nevertheless, and the failed run of the lowest seed is always the same.
    pub fn run(&self, progress: impl Fn() + Sync) -> Summary {
        self.run_each(&|seed| self.one(seed), progress)
    }

    /// The same, and each seed is carried out by `one`.
    pub(crate) fn run_each(
        &self,
        one: &(dyn Fn(u64) -> Run + Sync),
        progress: impl Fn() + Sync,
    ) -> Summary {
        let began = Instant::now();
        let add = |summary: &mut Summary, number| {
            let Some(seed) = self.seeds.nth(number) else { return ControlFlow::Break(()) };
            let run = one(seed);
            let failed = run.failure.is_some();
            summary.add(run);
            progress();
            if failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let empty = || Summary::new(self);
        let mut summary = pool::fold(self.jobs, u64::MAX, empty, add, Summary::absorb);
        summary.took(began.elapsed(), self.jobs);
        summary
    }

    /// The plan of a seed.
    pub fn plan(&self, seed: u64) -> Plan {
        swarm(seed, &self.faults, self.engine.scope())
    }

    /// By what its runs are judged.
    pub fn judging(&self) -> Judging<'_> {
        self.properties.as_deref().map_or(Judging::All, Judging::Only)
    }

    fn one(&self, seed: u64) -> Run {
        let plan = self.plan(seed);
        let attempt = if self.check_determinism { attempt_twice } else { attempt };
        match attempt(self.engine, &plan, self.judging()) {
            Ok(outcome) => Run::of(&plan, &outcome),
            Err(failure) => Run::failed(seed, failure),
        }
    }

    /// The names of the properties that it judges by. One that was asked for and that its engine can't judge is
    /// among them, and so never exercised.
    fn judges_by(&self) -> BTreeSet<String> {
        match &self.properties {
            Some(asked) => asked.iter().map(ToString::to_string).collect(),
            None => properties::names_at(self.engine.tick()).map(str::to_owned).collect(),
        }
    }
}

/// The conditions that a campaign in this engine should meet.
pub fn expected(engine: Engine) -> impl Iterator<Item = &'static str> {
    sometimes::names(engine.scope())
}
