//! Many runs over a range of seeds, and their sum.
//!
//! Memory does not grow with the number of runs: every thread sums up its own runs, and the sums
//! are added at the end, as [`merged`] does with those of several machines. Nothing in a sum
//! depends on the order of its runs.

mod durations;
mod elsewhere;
mod margins;
mod merge;
mod report;
mod run;
mod seeds;
mod soak;
mod summary;
mod units;
mod verdict;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::engines::Engine;
use crate::judge::properties::PropertyName;
use crate::judge::sometimes;
use crate::judge::{Judging, Which};
use crate::plan::{FaultKind, Plan, swarm};
use crate::search::pool;
pub use durations::Durations;
pub use elsewhere::Elsewhere;
pub use margins::Margins;
pub use merge::{MergeError, merged};
pub use report::{Report, SummaryError, read, write};
pub use run::{Failure, Named, Ordered, Run, again, attempt, attempt_twice};
pub use seeds::{Seeds, Shard, ShardError};
pub use soak::{Soak, Usage};
pub use summary::{Failed, Judged, Summary};
pub use units::milliseconds;
pub(crate) use verdict::OFTEN;
pub use verdict::Verdict;

/// The runs of a campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The engine that carries the plans out.
    pub engine: Engine,
    /// The seeds.
    pub seeds: Seeds,
    /// The number of threads.
    pub jobs: usize,
    /// The kinds of faults that may be drawn.
    pub faults: Vec<FaultKind>,
    /// The properties that judge the runs; all if `None`.
    pub properties: Option<Vec<PropertyName>>,
    /// True if each plan is carried out twice, and the hashes of the traces are compared.
    pub check_determinism: bool,
}

impl Campaign {
    /// Carries out all runs. `progress` is called after each.
    ///
    /// The plan of a run with real servers that has failed is tried in the engines that simulate.
    ///
    /// Stops early once one has failed. Seeds are handed out in order, so all lower ones are still
    /// carried out, and the failed run with the lowest seed is always the same.
    pub fn run(&self, progress: impl Fn() + Sync) -> Summary {
        let mut summary = self.run_each(&|seed| self.one(seed), progress);
        if let Some(failed) = summary.failed.as_mut().filter(|_| !self.engine.simulates()) {
            let (Judging::StopAtFirst(which) | Judging::KeepJudging(which)) = self.judging();
            failed.elsewhere = elsewhere::elsewhere(&self.plan(failed.seed), which);
        }
        summary
    }

    /// Like [`run`](Self::run), but each seed is carried out by `one`.
    pub(crate) fn run_each(
        &self,
        one: &(dyn Fn(u64) -> Run + Sync),
        progress: impl Fn() + Sync,
    ) -> Summary {
        let began = Instant::now();
        let add = |summary: &mut Summary, number| {
            let Some(seed) = self.seeds.nth(number) else { return ControlFlow::Break(()) };
            let began = processor_time();
            let run = one(seed);
            summary.core += processor_time().saturating_sub(began);
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

    /// The properties that judge its runs.
    pub fn judging(&self) -> Judging<'_> {
        let which = self.properties.as_deref().map_or(Which::Applicable, Which::Named);
        Judging::StopAtFirst(which)
    }

    fn one(&self, seed: u64) -> Run {
        let plan = self.plan(seed);
        let attempt = if self.check_determinism { attempt_twice } else { attempt };
        match attempt(self.engine, &plan, self.judging()) {
            Ok(outcome) => Run::of(&plan, &outcome),
            Err(failure) => Run::failed(seed, failure),
        }
    }

    /// The names of the properties that judge its runs. A named property that does not apply to its
    /// engine is included, and so never exercised.
    fn property_names(&self) -> BTreeSet<String> {
        match &self.properties {
            Some(asked) => asked.iter().map(ToString::to_string).collect(),
            None => self.engine.properties().map(|name| name.to_string()).collect(),
        }
    }
}

/// The processor time of the thread that calls this; always zero in a browser, which tells no such
/// time.
#[cfg(target_family = "wasm")]
const fn processor_time() -> Duration {
    Duration::ZERO
}

/// The processor time of the thread that calls this.
#[cfg(not(target_family = "wasm"))]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ThreadCPUTime);
    // It begins at zero.
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// The conditions that a campaign in this engine should meet.
pub fn expected(engine: Engine) -> impl Iterator<Item = &'static str> {
    sometimes::names(engine.scope())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::summary::tests::{campaign, meeting};
    use super::*;

    #[test]
    fn only_what_threads_compute_is_processor_time() {
        let least = Duration::from_millis(20);
        let computes = |seed: u64| {
            let began = processor_time();
            while seed == 1 && processor_time() < began + least {
                std::hint::spin_loop();
            }
            sleep(least);
            meeting(seed)
        };
        let campaign = Campaign { seeds: Seeds::range(1, 40), jobs: 2, ..campaign() };
        let summary = campaign.run_each(&computes, || ());
        assert!(summary.core >= least, "{:?}", summary.core);
        assert!(summary.core < summary.wall, "{:?} of {:?}", summary.core, summary.wall);
    }
}
