//! Stops a process at every point that a run comes to, one after the other.
//!
//! Problem: seeds hit a point by chance, and a bug that needs a pause at one of them, for the right time,
//! may be missed by any number of seeds. A run comes to few points: it can be stopped at each.
//!
//! Guarantee: the plan is carried out once with each seed to see its [`points`]. Then it is carried out
//! again for each point and each way to stop there ([`Stops`]): pauses from a moment to past the lease,
//! and crashes. With `pairs`, each of these runs is looked at in the same way, and stopped a second time
//! at each of the points that it comes to afterwards. Every run is judged as in a campaign. A report
//! does not depend on the number of threads.
//!
//! Not guaranteed: what three stops bring about, or what lies between the points. The model engine's
//! steps are atomic: it has no other points than those at which something is sent, read, checked,
//! granted, won, or over.

mod points;
mod report;
mod stops;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engines::Engine;
use crate::judge::{Judging, Outcome};
use crate::plan::{
    Fault, NodePlan, Plan, PlanError, Program, SCHEMA, Settings, StorePlan, What, When, Work,
};
use crate::search::campaign::{Failure, attempt};
use crate::search::pool;
pub use points::{Spot, points};
pub use report::{Found, Report};
use report::{Key, Part};
pub use stops::Stops;

/// What to sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is stopped at each of its points.
    pub plan: Plan,
    /// With how many seeds, from the plan's own on: latencies differ, and whether a process that goes on
    /// first finds what has come or what is due.
    pub seeds: u64,
    /// Stop at pairs of points as well.
    pub pairs: bool,
    /// Judge by all properties, though a pause breaks what some of them rest on.
    pub everything: bool,
    /// On how many threads.
    pub jobs: usize,
    /// The most runs. What is left out is counted.
    pub runs: u64,
}

/// Why a plan can't be swept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// It can't be carried out.
    #[error("the plan can't be carried out: {0}")]
    Plan(#[from] PlanError),
    /// It could not be carried out to its end.
    #[error("the plan's own run failed: {0}")]
    Broke(String),
}

/// Three candidates; nothing goes wrong. The leader hands over once.
///
/// # Errors
/// Never: the TTL is a valid one.
pub fn usual_plan() -> Result<Plan, PlanError> {
    const TTL_MS: u64 = 10_000;
    let settings = Settings::of_ttl(Duration::from_millis(TTL_MS))
        .map_err(|why| PlanError::Settings { node: 0, why })?;
    let node = |clock_offset_ms| NodePlan { clock_offset_ms, clock_rate_ppm: 0, settings: None };
    Ok(Plan {
        schema: SCHEMA,
        seed: 1,
        settings,
        nodes: [1_000, 2_000, 3_000].map(node).to_vec(),
        store: StorePlan::default(),
        latency_us: (500, 1_000),
        work: Work { every_ms: TTL_MS / 4, takes_us: 500, reads_first: false },
        program: Program::default(),
        faults: vec![Fault {
            when: When::AtMs(2 * TTL_MS + TTL_MS / 2),
            for_ms: 0,
            what: What::Resign { node: None },
        }],
        calm_from_ms: 4 * TTL_MS,
        handover: true,
    })
}

impl Sweep {
    /// Carries out all runs. `progress` is told of each point and way to stop there that is done, and of
    /// how many there are.
    ///
    /// # Errors
    /// If the plan can't be carried out.
    pub fn run(&self, progress: impl Fn(u64, u64) + Sync) -> Result<Report, SweepError> {
        self.plan.check()?;
        let mut part = Part::default();
        let (mut all, mut spots) = (Vec::new(), 0);
        for seed in (self.plan.seed..).take(usize::try_from(self.seeds).unwrap_or(usize::MAX)) {
            let plan = Plan { seed, ..self.plan.clone() };
            let outcome = attempt(Engine::Model, &plan, self.judging())
                .map_err(|failure| SweepError::Broke(in_words(&failure)))?;
            part.add(Key(0, seed), &plan, None, &outcome);
            if part.violations > 0 {
                return Ok(part.report(spots, self));
            }
            let found = points(&plan, outcome.trace.entries());
            spots += found.len();
            all.extend(stopped(&Stops::of(&plan), seed, found.iter()));
        }
        let singles = self.runs.saturating_sub(part.runs);
        let singles = all.len().min(usize::try_from(singles).unwrap_or(usize::MAX));
        part.left_out += (all.len() - singles) as u64;
        part.absorb(self.spread(&all[..singles], self.runs.saturating_sub(part.runs), &progress));
        Ok(part.report(spots, self))
    }

    const fn judging(&self) -> Judging<'static> {
        if self.everything { Judging::Everything } else { Judging::All }
    }

    /// Spreads the work over threads, with so many runs at most.
    fn spread(&self, all: &[Stopped], runs: u64, progress: &(impl Fn(u64, u64) + Sync)) -> Part {
        let (count, done) = (all.len() as u64, AtomicU64::new(0));
        // As many for each of the first stops, so that what is left out does not depend on threads.
        let most = runs.saturating_sub(count).checked_div(count).unwrap_or(0);
        let stop = |part: &mut Part, number| {
            let place = usize::try_from(number).unwrap_or(usize::MAX);
            self.stop(number + 1, all[place], most, part);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            ControlFlow::Continue(())
        };
        pool::fold(self.jobs, count, Part::default, stop, Part::absorb)
    }

    /// Stops once, and then a second time at later points, so many at most.
    fn stop(&self, number: u64, first: Stopped, most: u64, part: &mut Part) {
        let Some((plan, outcome)) = self.with(Key(number, 0), &[first], part) else { return };
        if !self.pairs {
            return;
        }
        let later = points(&plan, outcome.trace.entries());
        let later = later.iter().filter(|spot| spot.at > first.spot.at);
        let seconds: Vec<Stopped> = stopped(&Stops::of(&plan), first.seed, later).collect();
        // Evenly thinned: what is late in a run is as good as what is early.
        let step =
            seconds.len().div_ceil(usize::try_from(most).unwrap_or(usize::MAX).max(1)).max(1);
        let seconds_taken =
            seconds.iter().step_by(step).take(usize::try_from(most).unwrap_or(usize::MAX));
        part.left_out += (seconds.len() - seconds_taken.len()) as u64;
        for (place, second) in (1..).zip(seconds_taken) {
            self.with(Key(number, place), &[first, *second], part);
        }
    }

    /// One run, with those stops. Nothing, if it failed.
    fn with(&self, key: Key, stopped: &[Stopped], part: &mut Part) -> Option<(Plan, Outcome)> {
        let last = stopped.last()?;
        let mut plan = Plan { seed: last.seed, ..self.plan.clone() };
        plan.faults.extend(stopped.iter().map(|stopped| stopped.fault));
        match attempt(Engine::Model, &plan, self.judging()) {
            Ok(outcome) => {
                part.add(key, &plan, Some(last), &outcome);
                outcome.judge.violation().is_none().then_some((plan, outcome))
            }
            Err(failure) => {
                part.add_failed(key, &plan, failure);
                None
            }
        }
    }
}

/// Where a process is stopped, and how.
#[derive(Clone, Copy, Debug)]
struct Stopped {
    seed: u64,
    spot: Spot,
    fault: Fault,
}

/// Every way to stop at each of those points.
fn stopped<'a>(
    stops: &'a Stops,
    seed: u64,
    spots: impl Iterator<Item = &'a Spot> + 'a,
) -> impl Iterator<Item = Stopped> + 'a {
    let at =
        move |spot: &'a Spot| stops.at(spot).map(move |fault| Stopped { seed, spot: *spot, fault });
    spots.flat_map(at)
}

fn in_words(failure: &Failure) -> String {
    match failure {
        Failure::Refused { what } | Failure::Broke { what } => what.clone(),
        // A single attempt ends in neither of these.
        Failure::Violated { property, .. } => property.clone(),
        Failure::Nondeterministic { .. } => "it gave two traces".to_owned(),
    }
}
