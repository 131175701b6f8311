//! Many runs, and what they say together.

mod summary;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::margin::Margin;
use crate::plan::{FaultKind, Plan, swarm};
use crate::properties::{PropertyName, Violation};
use crate::trace::{Entry, Event};
use crate::turmoil_engine;
pub use summary::{Judged, Summary, Verdict};

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// How many seeds.
    pub runs: u64,
    /// On how many threads.
    pub jobs: usize,
    /// The kinds of faults that may be drawn.
    pub faults: Vec<FaultKind>,
    /// Judge by these properties only; by all if `None`.
    pub properties: Option<Vec<PropertyName>>,
    /// Carry out each plan twice, and compare the hashes of the traces.
    pub check_determinism: bool,
}

/// What came of one run, small enough to be kept by the million.
#[derive(Debug)]
pub struct Run {
    /// The run's seed.
    pub seed: u64,
    /// The hash of its trace.
    pub hash: u64,
    /// How much time was simulated.
    pub simulated: Duration,
    /// How many tenures there were.
    pub elections: u64,
    /// What went wrong, by kind.
    pub faults: BTreeMap<FaultKind, u64>,
    /// The properties that were judged.
    pub judged: Vec<&'static str>,
    /// Where the run went.
    pub sometimes: BTreeMap<&'static str, u64>,
    /// The least time between two tenures' permitted writes.
    pub margin: Option<Duration>,
    /// What did not hold.
    pub failure: Option<Failure>,
}

/// Why a run failed.
#[derive(Debug)]
pub enum Failure {
    /// A property did not hold: with the trace, so that it can be shown.
    Violated(Violation, Vec<Entry>),
    /// The run could not be carried out to its end.
    Broke(String),
    /// The same plan gave another trace.
    Nondeterministic {
        /// The hash of the second run's trace.
        again: u64,
    },
}

impl Campaign {
    /// Carries out all runs. Stops early once one has failed. `progress` is told of each run as it ends.
    pub fn run(&self, mut progress: impl FnMut(&Run)) -> Summary {
        let began = Instant::now();
        let next = AtomicU64::new(0);
        let failed = AtomicBool::new(false);
        let mut summary = Summary::new(self);
        std::thread::scope(|scope| {
            let (finished, runs) = mpsc::channel();
            for _ in 0..self.jobs.max(1) {
                let finished = finished.clone();
                let (next, failed) = (&next, &failed);
                scope.spawn(move || {
                    while !failed.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= self.runs {
                            return;
                        }
                        let run = self.one(self.seed.wrapping_add(index));
                        failed.fetch_or(run.failure.is_some(), Ordering::Relaxed);
                        if finished.send((index, run)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(finished);
            // Taken in by seed, so that the summary does not depend on which thread was faster.
            let mut early = BTreeMap::new();
            let mut expected = 0;
            for (index, run) in runs {
                progress(&run);
                early.insert(index, run);
                while let Some(run) = early.remove(&expected) {
                    summary.add(run);
                    expected += 1;
                }
            }
            for run in early.into_values() {
                summary.add(run);
            }
        });
        summary.wall = began.elapsed();
        summary
    }

    /// The plan of a seed.
    pub fn plan(&self, seed: u64) -> Plan {
        swarm(seed, &self.faults)
    }

    fn one(&self, seed: u64) -> Run {
        let plan = self.plan(seed);
        let only = self.properties.as_deref();
        let mut run = carry_out(&plan, only);
        if self.check_determinism && run.failure.is_none() {
            let again = carry_out(&plan, only).hash;
            if again != run.hash {
                run.failure = Some(Failure::Nondeterministic { again });
            }
        }
        run
    }
}

/// Carries out one plan, judged by all properties or only by those named.
pub fn carry_out(plan: &Plan, only: Option<&[PropertyName]>) -> Run {
    let mut run = Run {
        seed: plan.seed,
        hash: 0,
        simulated: Duration::ZERO,
        elections: 0,
        faults: BTreeMap::new(),
        judged: Vec::new(),
        sometimes: BTreeMap::new(),
        margin: None,
        failure: None,
    };
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| turmoil_engine::run(plan, only)));
    let outcome = match outcome {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            run.failure = Some(Failure::Broke(error.to_string()));
            return run;
        }
        Err(_) => {
            run.failure = Some(Failure::Broke("the engine panicked".into()));
            return run;
        }
    };
    let mut margin = Margin::default();
    for Entry { at, event } in outcome.trace.entries() {
        margin.observe(*at, event);
        match event {
            Event::Elected { .. } => run.elections += 1,
            Event::Fault { kind, .. } => *run.faults.entry(*kind).or_default() += 1,
            _ => {}
        }
    }
    if plan.store_rate_ppm != 0 || plan.nodes.iter().any(|node| node.clock_rate_ppm != 0) {
        *run.faults.entry(FaultKind::Drift).or_default() += 1;
    }
    run.hash = outcome.trace.hash();
    run.simulated = outcome.simulated;
    run.judged = outcome.judge.judged().collect();
    run.sometimes = outcome.sometimes.counts();
    run.margin = margin.least();
    run.failure = outcome
        .judge
        .violation()
        .map(|violation| Failure::Violated(violation.clone(), outcome.trace.entries().to_vec()));
    run
}
