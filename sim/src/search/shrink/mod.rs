//! Shrinking: the search for a small plan that fails like a large one, so that a person can read
//! it.
//!
//! Problem: a plan that was drawn holds dozens of faults and odd numbers, and most of them have
//! nothing to do with its failure. Shrinking leaves parts out and rounds numbers, one at a time,
//! runs the smaller plan, and keeps it if it still fails in the same way.
//!
//! Guarantee: the smaller plan shows the same [`Symptom`], can be carried out ([`Plan::check`]),
//! and breaks no assumption that the plan kept ([`Plan::broken`]): a failure within the assumptions
//! does not turn into one beyond them. The same plan shrinks to the same plan, on any machine. No
//! plan is run twice, and no more plans than the [`Budget`] allows.
//!
//! Not guaranteed: that no smaller plan fails; only that none of the tried ones does. Nor that it
//! fails for the same cause: two bugs can have the same symptom.

mod as_test;
mod faults;
mod nodes;
mod numbers;
mod search;
mod symptom;
mod values;

use serde::Serialize;

use crate::engines::Engine;
use crate::judge::Judging;
use crate::plan::{Plan, SimTime};
use crate::search::campaign::{Failure, attempt};
pub use as_test::as_test;
pub use search::Progress;
use search::Search;
pub use symptom::Symptom;

/// A limit on the number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most runs.
    pub runs: u64,
}

impl Budget {
    /// A budget that suffices for nearly every plan, and takes seconds; with real servers, minutes.
    pub const fn default_for(engine: Engine) -> Self {
        match engine {
            Engine::Model => Self { runs: 5_000 },
            #[cfg(feature = "turmoil")]
            Engine::Turmoil => Self { runs: 500 },
            // Each takes the better part of a minute, and need not fail again.
            #[cfg(feature = "real")]
            Engine::Real(_) => Self { runs: 10 },
        }
    }
}

/// The result of shrinking by any measure of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The smallest failing plan.
    pub plan: Plan,
    /// The number of runs.
    pub runs: u64,
    /// True if everything was tried: the budget sufficed.
    pub done: bool,
}

/// The result of shrinking a failing plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shrunk {
    /// The smallest failing plan.
    pub plan: Plan,
    /// The way in which it fails, which is that of the original plan.
    pub symptom: Symptom,
    /// The time at which the failure was found; the start if the run did not complete.
    pub at_ns: SimTime,
    /// The description of the failure of the small plan.
    pub what: String,
    /// The number of runs.
    pub runs: u64,
    /// True if everything was tried: the budget sufficed.
    pub done: bool,
}

/// An error in shrinking a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// Its run does not fail.
    #[error("the plan does not fail in the {engine} engine: there is nothing to shrink")]
    Holds {
        /// The engine.
        engine: Engine,
    },
    /// The engine can't carry it out.
    #[error("the plan can't be carried out: {what}")]
    Refused {
        /// The reason.
        what: String,
    },
}

/// Shrinks a failing plan.
///
/// ```
/// use tenure_sim::evidence::controls;
/// use tenure_sim::engines::Engine;
/// use tenure_sim::judge::{Judging, Which};
/// use tenure_sim::search::shrink::{Budget, shrink};
///
/// let control = controls::ALL[0];
/// let plan = control.plan(1);
/// let budget = Budget { runs: 100 };
/// let shrunk = shrink(Engine::Model, &plan, Judging::KeepJudging(Which::All), budget)?;
/// assert!(shrunk.plan.faults.len() <= plan.faults.len() && shrunk.runs <= 100);
/// # Ok::<(), tenure_sim::search::shrink::ShrinkError>(())
/// ```
///
/// # Errors
/// If the plan does not fail, or can't be carried out.
pub fn shrink(
    engine: Engine,
    plan: &Plan,
    judging: Judging<'_>,
    budget: Budget,
) -> Result<Shrunk, ShrinkError> {
    shrink_with_progress(engine, plan, judging, budget, |_| {})
}

/// Like [`shrink`], but calls `progress` after every run.
///
/// # Errors
/// As for [`shrink`].
pub fn shrink_with_progress(
    engine: Engine,
    plan: &Plan,
    judging: Judging<'_>,
    budget: Budget,
    progress: impl FnMut(Progress),
) -> Result<Shrunk, ShrinkError> {
    let mut last =
        failures(engine, plan, judging)?.into_iter().next().ok_or(ShrinkError::Holds { engine })?;
    let symptom = last.symptom.clone();
    let fails = |smaller: &Plan| {
        let found = failures(engine, smaller, judging).unwrap_or_default();
        let same = found.into_iter().find(|failed| failed.symptom == symptom);
        same.is_some_and(|same| {
            last = same;
            true
        })
    };
    let Smallest { plan, runs, done } = shrink_by(plan, budget, fails, progress);
    let Failed { symptom, at_ns, what } = last;
    Ok(Shrunk { plan, symptom, at_ns, what, runs: runs + 1, done })
}

/// Shrinks a plan by any measure of failure: `fails` says whether a smaller plan still fails. The
/// plan itself is assumed to fail.
pub fn shrink_by(
    plan: &Plan,
    budget: Budget,
    fails: impl FnMut(&Plan) -> bool,
    progress: impl FnMut(Progress),
) -> Smallest {
    let mut search = Search::new(plan, budget, fails, progress);
    // Each pass makes changes of the others possible: fewer faults allow rounder times, and vice
    // versa.
    while !search.is_spent() {
        let before = search.best().clone();
        faults::fewer(&mut search);
        nodes::fewer(&mut search);
        values::default_groups(&mut search);
        faults::plainer(&mut search);
        faults::earlier(&mut search);
        values::plainer(&mut search);
        if *search.best() == before {
            break;
        }
    }
    search.ended()
}

struct Failed {
    symptom: Symptom,
    at_ns: SimTime,
    what: String,
}

/// The failures of a plan's run.
fn failures(engine: Engine, plan: &Plan, judging: Judging<'_>) -> Result<Vec<Failed>, ShrinkError> {
    match attempt(engine, plan, judging) {
        Ok(outcome) => {
            let failed = |violation: &crate::judge::properties::Violation| Failed {
                symptom: Symptom::of_violation(violation),
                at_ns: violation.at,
                what: violation.finding.to_string(),
            };
            Ok(outcome.judge.violations().iter().map(failed).collect())
        }
        Err(Failure::Refused { what }) => Err(ShrinkError::Refused { what }),
        // A single attempt does not return the failures of the last arm.
        Err(Failure::Broke { what }) => {
            Ok(vec![Failed { symptom: Symptom::of_breakdown(&what), at_ns: SimTime::START, what }])
        }
        Err(Failure::Violated { .. } | Failure::Nondeterministic { .. }) => Ok(Vec::new()),
    }
}
