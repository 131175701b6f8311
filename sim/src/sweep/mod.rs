//! Stops a process at every point that a run comes to, one after the other.
//!
//! Problem: seeds hit a point by chance, and a bug that needs a pause at one of them, for the right time,
//! may be missed by any number of seeds. A run comes to few points: it can be stopped at each.
//!
//! Guarantee: the plan is carried out once to see its [`points`]. Then it is carried out again for each
//! point and each way to stop there ([`Stops`]): pauses from a moment to past the lease, and crashes.
//! With `pairs`, each of these runs is looked at in the same way, and stopped a second time at each of
//! the points that it comes to afterwards. Every run is judged by all properties. A report depends on the
//! plan alone and not on the number of threads.
//!
//! Not guaranteed: what three stops bring about, or what lies between the points. The model engine's
//! steps are atomic: it has no other points than those at which something is sent, read, checked,
//! granted, won, or over.

mod points;
mod report;
mod stops;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::campaign::{Failure, attempt};
use crate::engine::{Engine, Judging, Outcome};
use crate::plan::{
    Fault, NodePlan, Plan, PlanError, SCHEMA, Settings, StorePlan, What, When, Work,
};
pub use points::{Spot, points};
pub use report::{Found, Report};
use report::{Key, Part};
pub use stops::Stops;

/// What to sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is stopped at each of its points.
    pub plan: Plan,
    /// Stop at pairs of points as well.
    pub pairs: bool,
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
        work: Work { every_ms: TTL_MS / 4, takes_us: 500 },
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
        let outcome =
            attempt(Engine::Model, &self.plan, Judging::All).map_err(|why| match why {
                Failure::Refused { what } | Failure::Broke { what } => SweepError::Broke(what),
                Failure::Violated { .. } | Failure::Nondeterministic { .. } => {
                    SweepError::Broke("nothing is known of it".to_owned())
                }
            })?;
        let mut own = Part::default();
        own.add(Key(0, 0), &[], None, &outcome);
        let spots = points(&self.plan, outcome.trace.entries());
        if own.violations > 0 {
            return Ok(Report::of(own, &self.plan, spots.len()));
        }
        let stops = Stops::of(&self.plan);
        let all: Vec<Stopped> = spots
            .iter()
            .flat_map(|spot| stops.at(spot).map(|fault| Stopped { spot: *spot, fault }))
            .collect();
        let singles =
            all.len().min(usize::try_from(self.runs.saturating_sub(1)).unwrap_or(usize::MAX));
        own.left_out += (all.len() - singles) as u64;
        let part = self.spread(&all[..singles], &stops, &progress);
        own.absorb(part);
        Ok(Report::of(own, &self.plan, spots.len()))
    }

    /// Spreads the work over threads.
    fn spread(
        &self,
        all: &[Stopped],
        stops: &Stops,
        progress: &(impl Fn(u64, u64) + Sync),
    ) -> Part {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let count = all.len() as u64;
        // As many for each of the first stops, so that what is left out does not depend on threads.
        let most = self.runs.saturating_sub(count + 1).checked_div(count).unwrap_or(0);
        let work = || {
            let mut part = Part::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(first) = usize::try_from(number).ok().and_then(|place| all.get(place))
                else {
                    break part;
                };
                self.stop(number + 1, *first, stops, most, &mut part);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.jobs).map(|_| scope.spawn(work)).collect();
            let mut part = work();
            for other in others {
                part.absorb(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            part
        })
    }

    /// Stops once, and then a second time at each later point.
    fn stop(&self, number: u64, first: Stopped, stops: &Stops, most: u64, part: &mut Part) {
        let (plan, outcome) = self.with(Key(number, 0), &[first], part);
        let Some(outcome) = outcome.filter(|_| self.pairs) else { return };
        let later = points(&plan, outcome.trace.entries());
        let seconds: Vec<Stopped> = later
            .iter()
            .filter(|spot| spot.at > first.spot.at)
            .flat_map(|spot| stops.at(spot).map(|fault| Stopped { spot: *spot, fault }))
            .collect();
        // Evenly thinned: what is late in a run is as good as what is early.
        let step = (seconds.len() as u64).checked_div(most).map_or(u64::MAX, |whole| {
            whole + u64::from(!(seconds.len() as u64).is_multiple_of(most))
        });
        let step = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
        let taken = if most == 0 { 0 } else { seconds.len().div_ceil(step) };
        part.left_out += (seconds.len() - taken) as u64;
        for (place, second) in (1..).zip(seconds.iter().step_by(step).take(taken)) {
            self.with(Key(number, place), &[first, *second], part);
        }
    }

    /// One run, with those stops. No outcome, if it failed.
    fn with(&self, key: Key, stopped: &[Stopped], part: &mut Part) -> (Plan, Option<Outcome>) {
        let mut plan = self.plan.clone();
        let faults: Vec<Fault> = stopped.iter().map(|stopped| stopped.fault).collect();
        plan.faults.extend(&faults);
        match attempt(Engine::Model, &plan, Judging::All) {
            Ok(outcome) => {
                part.add(key, &faults, stopped.last(), &outcome);
                let held = outcome.judge.violation().is_none();
                (plan, held.then_some(outcome))
            }
            Err(failure) => {
                part.add_failed(key, &faults, failure);
                (plan, None)
            }
        }
    }
}

/// Where a process is stopped, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    spot: Spot,
    fault: Fault,
}
