//! The least time between two tenures, within all assumptions. Searches for the plan with the least
//! margin.
//!
//! The least margin of random plans is far from the worst case. This search begins with random
//! plans, changes them a little at a time, and keeps changes that bring the tenures closer. The
//! result is compared with the least margin that the formula allows: a margin below it would be a
//! broken promise; one far above it means that the search got stuck.
//!
//! Not guaranteed: that it finds the least possible margin.

mod changes;
mod found;

use std::time::Duration;

use super::ToleranceError;
use super::formula::Bounds;
use crate::engines::Engine;
use crate::judge::Judging;
use crate::judge::margin::Ending;
use crate::plan::draw::Draw;
use crate::plan::{Plan, Settings};
use crate::search::pool;
use changes::Changes;
pub use found::{Found, Least};

/// The settings of a margin search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The settings of all candidates.
    pub settings: Settings,
    /// The number of plans to try.
    pub runs: u64,
    /// The number of restarts from a random plan.
    pub restarts: u64,
    /// The seed of all random draws.
    pub seed: u64,
    /// The number of threads.
    pub jobs: usize,
}

/// The endings after which the next tenure may come close.
const ENDINGS: [Ending; 2] = [Ending::Lapsed, Ending::HandedBack];

/// Searches, once for each way in which a tenure may end. The result does not depend on the number
/// of threads.
///
/// # Errors
/// If the settings contradict each other, or a run does not complete.
pub fn search(search: &Search) -> Result<Found, ToleranceError> {
    let bounds = Bounds::of(search.settings)?;
    let climbs = search.restarts * ENDINGS.len() as u64;
    let numbers: Vec<u64> = (0..climbs).collect();
    let climbed = pool::try_map(search.jobs, &numbers, |number| {
        let mut climb = Climb::new(&bounds, search.seed, *number);
        climb.run(search.runs.div_ceil(climbs))?;
        Ok::<_, ToleranceError>(climb)
    })?;
    Ok(Found::of(&bounds, climbed))
}

/// One attempt from a random plan.
struct Climb<'a> {
    ending: Ending,
    changes: Changes<'a>,
    /// The least margin so far, and its plan.
    best: Option<(Duration, Plan)>,
    tried: u64,
    /// The number of plans that kept all assumptions, and were run.
    within: u64,
    violation: Option<(String, Plan)>,
}

impl<'a> Climb<'a> {
    fn new(bounds: &'a Bounds, seed: u64, number: u64) -> Self {
        let ending = if number.is_multiple_of(2) { Ending::Lapsed } else { Ending::HandedBack };
        Self {
            ending,
            changes: Changes::new(bounds, Draw::new(seed, "margin search", number)),
            best: None,
            tried: 0,
            within: 0,
            violation: None,
        }
    }

    fn run(&mut self, runs: u64) -> Result<(), ToleranceError> {
        for _ in 0..runs {
            let plan = match &self.best {
                Some((_, plan)) => self.changes.changed(plan),
                None => self.changes.random(self.ending),
            };
            self.attempt(plan)?;
            if self.violation.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn attempt(&mut self, plan: Plan) -> Result<(), ToleranceError> {
        self.tried += 1;
        if plan.check().is_err() || !plan.broken().is_empty() {
            return Ok(());
        }
        self.within += 1;
        let what = "the margin search";
        let outcome = Engine::Model.run(&plan, Judging::default());
        let outcome = outcome.map_err(|why| ToleranceError::Engine { what, why })?;
        if let Some(violation) = outcome.judge.violation() {
            let what = format!("{}: {}", violation.property, violation.finding);
            self.violation = Some((what, plan));
            return Ok(());
        }
        // An equal margin is accepted too: it may lead away from a local minimum.
        if let Some(margin) = outcome.margin.least_after(self.ending)
            && self.best.as_ref().is_none_or(|(least, _)| margin <= *least)
        {
            self.best = Some((margin, plan));
        }
        Ok(())
    }
}
