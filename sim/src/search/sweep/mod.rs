//! Stops a process at every point of a run, one after the other.
//!
//! Problem: seeds hit a point by chance, so any number of seeds may miss a bug that needs a pause
//! at one point, for the right time. A run has few points, so it can be stopped at each of them.
//!
//! Guarantee: the plan is carried out once with each seed to find its [`points`]. Then it is
//! carried out again for each point and each way to stop there ([`Stops`]): pauses from a moment to
//! past the lease, and crashes. With `pairs`, each of these runs is examined in the same way, and
//! stopped a second time at each of its later points. Every run is judged as in a campaign. A
//! report does not depend on the number of threads.
//!
//! Not guaranteed: failures that need three stops, or stops between the points. The model engine's
//! steps are atomic: its only points are those at which a message is sent or read, leadership is
//! checked, a lease is granted, or a lead begins or ends.

mod points;
mod report;
mod stops;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engines::Engine;
use crate::judge::{Judging, Outcome, Which};
use crate::plan::{Fault, NodePlan, Plan, PlanError, ProcessFault, Settings, Work};
use crate::search::campaign::{Failure, attempt};
use crate::search::pool;
pub use points::{Spot, points};
pub use report::{Found, Report};
use report::{Key, Part};
pub use stops::Stops;

/// The settings of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The plan whose run is stopped at each of its points.
    pub plan: Plan,
    /// The number of seeds, from the plan's own on. Latencies differ between seeds, and so does the
    /// order in which a process that resumes handles messages and timers.
    pub seeds: u64,
    /// True if runs are stopped at pairs of points as well.
    pub pairs: bool,
    /// True if all properties judge, even if a pause breaks their assumptions.
    pub everything: bool,
    /// The number of threads.
    pub jobs: usize,
    /// The most runs. Runs that are left out are counted.
    pub runs: u64,
}

/// The reason why a plan can't be swept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The plan can't be carried out.
    #[error("the plan can't be carried out: {0}")]
    Plan(#[from] PlanError),
    /// Its own run did not complete.
    #[error("the plan's own run failed: {0}")]
    Broke(String),
}

/// The default plan: three candidates without faults. The leader hands over once.
///
/// # Errors
/// Never: the TTL is valid.
pub fn default_plan() -> Result<Plan, PlanError> {
    const TTL_MS: u64 = 10_000;
    let settings = Settings::of_ttl(Duration::from_millis(TTL_MS))
        .map_err(|why| PlanError::Settings { node: 0, why: why.into() })?;
    let nodes = [1_000, 2_000, 3_000].map(NodePlan::of_offset).to_vec();
    let mut plan = Plan {
        latency_us: (500, 1_000),
        work: Work { every_ms: TTL_MS / 4, takes_us: 500, reads_first: false },
        calm_from_ms: 4 * TTL_MS,
        handover: true,
        ..Plan::quiet(1, settings, nodes)
    };
    plan.at(2 * TTL_MS + TTL_MS / 2, 0, ProcessFault::Resign.at(None));
    Ok(plan)
}

impl Sweep {
    /// Carries out all runs. `progress` is called after each first stop with the number of
    /// completed ones and their total.
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
                .map_err(|failure| SweepError::Broke(description(&failure)))?;
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

    /// The properties that judge its runs.
    pub const fn judging(&self) -> Judging<'static> {
        if self.everything {
            Judging::KeepJudging(Which::All)
        } else {
            Judging::StopAtFirst(Which::Applicable)
        }
    }

    /// Spreads the work over threads, with at most that many runs.
    fn spread(&self, all: &[Stopped], runs: u64, progress: &(impl Fn(u64, u64) + Sync)) -> Part {
        let (count, done) = (all.len() as u64, AtomicU64::new(0));
        // Every first stop gets the same number, so the omitted runs do not depend on the threads.
        let most = runs.saturating_sub(count).checked_div(count).unwrap_or(0);
        let stop = |part: &mut Part, number| {
            let place = usize::try_from(number).unwrap_or(usize::MAX);
            self.stop(number + 1, all[place], most, part);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            ControlFlow::Continue(())
        };
        pool::fold(self.jobs, count, Part::default, stop, Part::absorb)
    }

    /// Stops once, and then a second time at later points, with at most that many runs.
    fn stop(&self, number: u64, first: Stopped, most: u64, part: &mut Part) {
        let Some((plan, outcome)) = self.with(Key(number, 0), &[first], part) else { return };
        if !self.pairs {
            return;
        }
        let later = points(&plan, outcome.trace.entries());
        let later = later.iter().filter(|spot| spot.at > first.spot.at);
        let seconds: Vec<Stopped> = stopped(&Stops::of(&plan), first.seed, later).collect();
        // Evenly thinned, because late points are as useful as early ones.
        let step =
            seconds.len().div_ceil(usize::try_from(most).unwrap_or(usize::MAX).max(1)).max(1);
        let seconds_taken =
            seconds.iter().step_by(step).take(usize::try_from(most).unwrap_or(usize::MAX));
        part.left_out += (seconds.len() - seconds_taken.len()) as u64;
        for (place, second) in (1..).zip(seconds_taken) {
            self.with(Key(number, place), &[first, *second], part);
        }
    }

    /// One run with those stops; `None` if it failed.
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

/// A point at which a process is stopped, and the fault that stops it.
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

fn description(failure: &Failure) -> String {
    match failure {
        Failure::Refused { what } | Failure::Broke { what } => what.clone(),
        // A single attempt does not return these.
        Failure::Violated { property, .. } => property.clone(),
        Failure::Nondeterministic { .. } => "its traces differ".to_owned(),
    }
}
