//! Searches for the plan that brings two tenures closest to each other, within all assumptions.
//!
//! Random plans keep far away from the worst case, so a least margin of theirs says little. This begins
//! with some, changes them a little at a time, and keeps what brings the tenures closer. What it finds is
//! set beside the least that the formula allows: a margin below it would be a broken promise; one far
//! above it, a search that got stuck.
//!
//! Not guaranteed: that it finds the least there is.

mod changes;
mod found;

use std::time::Duration;

use super::ToleranceError;
use super::formula::Bounds;
use crate::engines::Engine;
use crate::judge::margin::{Ending, Margin};
use crate::judge::{Judging, Outcome};
use crate::plan::draw::Draw;
use crate::plan::{Plan, Settings};
use crate::search::pool;
use crate::trace::Entry;
use changes::Changes;
pub use found::{Found, Least};

/// What to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The settings of all candidates.
    pub settings: Settings,
    /// How many plans to try.
    pub runs: u64,
    /// How many times to begin anew.
    pub restarts: u64,
    /// Keys all chance.
    pub seed: u64,
    /// On how many threads.
    pub jobs: usize,
}

/// After which endings the next tenure may come close.
const ENDINGS: [Ending; 2] = [Ending::Lapsed, Ending::HandedBack];

/// Searches, once for each way in which a tenure may end. What is found does not depend on the threads.
///
/// # Errors
/// If the settings can't hold, or a run does not come to its end.
pub fn search(search: &Search) -> Result<Found, ToleranceError> {
    let bounds = Bounds::of(search.settings)?;
    let climbs = search.restarts * ENDINGS.len() as u64;
    let numbers: Vec<u64> = (0..climbs).collect();
    let climbed = pool::try_map(search.jobs, &numbers, |number| {
        let mut climb = Climb::new(&bounds, search.seed, *number);
        climb.carry_on(search.runs.div_ceil(climbs))?;
        Ok::<_, ToleranceError>(climb)
    })?;
    Ok(Found::of(&bounds, climbed))
}

/// One attempt, from a random plan on.
struct Climb<'a> {
    ending: Ending,
    changes: Changes<'a>,
    /// The plan that came closest, and how close.
    best: Option<(Duration, Plan)>,
    tried: u64,
    /// How many plans kept all assumptions, and were run.
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

    fn carry_on(&mut self, runs: u64) -> Result<(), ToleranceError> {
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
        let outcome = Engine::Model.run(&plan, Judging::All);
        let outcome = outcome.map_err(|why| ToleranceError::Engine { what, why })?;
        if let Some(violation) = outcome.judge.violation() {
            let what = format!("{}: {}", violation.property, violation.what);
            self.violation = Some((what, plan));
            return Ok(());
        }
        // As close is as good: it leads away from where nothing small brings anything.
        if let Some(margin) = margin(&outcome, self.ending)
            && self.best.as_ref().is_none_or(|(least, _)| margin <= *least)
        {
            self.best = Some((margin, plan));
        }
        Ok(())
    }
}

fn margin(outcome: &Outcome, ending: Ending) -> Option<Duration> {
    let mut margin = Margin::default();
    for Entry { at, event } in outcome.trace.entries() {
        margin.observe(*at, event);
    }
    margin.least_after(ending)
}
