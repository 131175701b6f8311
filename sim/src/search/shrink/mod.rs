//! A failing plan, made as small as it gets, so that a person can read it.
//!
//! Problem: a plan that was drawn holds dozens of faults and odd numbers, and nearly all of them have
//! nothing to do with why it fails. Shrinking leaves out and rounds off one thing after the other, runs
//! what is left, and keeps it if it still fails in the same way.
//!
//! Guarantee: the smaller plan shows the same [`Symptom`], can be carried out ([`Plan::check`]), and
//! breaks no assumption that the plan kept ([`Plan::broken`]): a failure within the assumptions does not
//! turn into one beyond them. The same plan shrinks to the same plan, on any machine. No plan is run
//! twice, and no more plans than the [`Budget`] has.
//!
//! Not guaranteed: that no smaller plan fails; only that none of those tried does. Nor that it fails for
//! the same cause: two bugs can look alike.

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
use crate::plan::Plan;
use crate::plan::clock::True;
use crate::search::campaign::{Failure, attempt};
pub use as_test::as_test;
pub use search::Progress;
use search::Search;
pub use symptom::Symptom;

/// How many plans may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most runs.
    pub runs: u64,
}

impl Budget {
    /// What is enough for nearly every plan, and takes seconds.
    pub const fn usual(engine: Engine) -> Self {
        match engine {
            Engine::Model => Self { runs: 5_000 },
            #[cfg(feature = "turmoil")]
            Engine::Turmoil => Self { runs: 500 },
        }
    }
}

/// What came of shrinking by any measure of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The plan that fails still.
    pub plan: Plan,
    /// How many plans were run.
    pub runs: u64,
    /// Nothing that could be tried was left: the budget sufficed.
    pub done: bool,
}

/// A failing plan, made small.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shrunk {
    /// The plan.
    pub plan: Plan,
    /// In what way it fails, as the plan did that it was made of.
    pub symptom: Symptom,
    /// When the failure was seen, in nanoseconds of true time; zero, if the run broke down.
    pub at_ns: True,
    /// What is wrong in the run of the small plan.
    pub what: String,
    /// How many plans were run.
    pub runs: u64,
    /// Nothing that could be tried was left: the budget sufficed.
    pub done: bool,
}

/// Why a plan can't be shrunk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// Nothing is wrong with its run.
    #[error("the plan does not fail in the {engine} engine: there is nothing to shrink")]
    Holds {
        /// The engine.
        engine: Engine,
    },
    /// The engine can't carry it out.
    #[error("the plan can't be carried out: {what}")]
    Refused {
        /// Why.
        what: String,
    },
}

/// Makes a failing plan small.
///
/// ```
/// use tenure_sim::evidence::controls;
/// use tenure_sim::engines::Engine;
/// use tenure_sim::judge::Judging;
/// use tenure_sim::search::shrink::{Budget, shrink};
///
/// let control = controls::ALL[0];
/// let plan = (control.plan)(1);
/// let budget = Budget { runs: 100 };
/// let shrunk = shrink(Engine::Model, &plan, Judging::Everything, budget)?;
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
    shrink_telling(engine, plan, judging, budget, |_| {})
}

/// The same, and `progress` is told of every run.
///
/// # Errors
/// As for [`shrink`].
pub fn shrink_telling(
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

/// Makes a plan small that fails by any measure: `fails` says whether a smaller one still does. The
/// plan itself is taken to fail.
pub fn shrink_by(
    plan: &Plan,
    budget: Budget,
    fails: impl FnMut(&Plan) -> bool,
    progress: impl FnMut(Progress),
) -> Smallest {
    let mut search = Search::new(plan, budget, fails, progress);
    // Each pass makes room for the others: with fewer faults, rounder times do, and the other way round.
    while !search.is_spent() {
        let before = search.best().clone();
        faults::fewer(&mut search);
        nodes::fewer(&mut search);
        values::plain_at_once(&mut search);
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
    at_ns: True,
    what: String,
}

/// In what ways a plan's run fails; in none, if all holds.
fn failures(engine: Engine, plan: &Plan, judging: Judging<'_>) -> Result<Vec<Failed>, ShrinkError> {
    match attempt(engine, plan, judging) {
        Ok(outcome) => {
            let failed = |violation: &crate::judge::properties::Violation| Failed {
                symptom: Symptom::of_violation(violation),
                at_ns: violation.at,
                what: violation.what.clone(),
            };
            Ok(outcome.judge.violations().iter().map(failed).collect())
        }
        Err(Failure::Refused { what }) => Err(ShrinkError::Refused { what }),
        // Neither of the others comes of a single attempt.
        Err(Failure::Broke { what }) => {
            Ok(vec![Failed { symptom: Symptom::of_breakdown(&what), at_ns: 0, what }])
        }
        Err(Failure::Violated { .. } | Failure::Nondeterministic { .. }) => Ok(Vec::new()),
    }
}
