//! The measured frontiers, beside those of the formulas.

use serde::Serialize;

use super::ToleranceError;
use super::bisect::{Frontier, bisect};
use super::formula::Bounds;
use super::magnitudes::{Magnitude, Side};
use crate::engines::Engine;
use crate::judge::{Judging, Which};
use crate::plan::{Plan, Settings};

/// The frontier of each magnitude with some settings.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// The settings.
    pub settings: Settings,
    /// One row for each magnitude.
    pub rows: Vec<Row>,
    /// True if each frontier agrees with its formula.
    pub agrees: bool,
}

/// The frontier of one magnitude. Numbers are in its unit.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub magnitude: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The promise that breaks beyond the frontier.
    pub promise: &'static str,
    /// The side of the frontier on which it breaks.
    pub breaks_on: Side,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// The last magnitude that holds.
    pub holds: Option<u64>,
    /// The first that breaks.
    pub breaks: Option<u64>,
    /// The formula, as text.
    pub formula: &'static str,
    /// The frontier by the formula; `None` if there is none.
    pub expected: Option<f64>,
    /// The difference between the found and the expected frontier; zero between the last magnitude
    /// that holds and the first that breaks.
    pub difference: Option<f64>,
    /// The largest difference that agrees.
    pub tolerance: f64,
    /// The value that `Config::explain` promises, if it promises one: it must hold.
    pub explained: Option<f64>,
    /// The number of runs.
    pub runs: u64,
    /// True if the frontier agrees with the formula, and lies beyond the promise of
    /// `Config::explain`.
    pub agrees: bool,
    /// The plans of the last magnitude that holds and of the first that breaks.
    #[serde(skip)]
    pub plans: (Option<Plan>, Option<Plan>),
}

/// Finds the frontiers of those magnitudes.
///
/// The result depends on the settings and the magnitudes alone. `progress` is called with each row.
///
/// # Errors
/// If the settings contradict each other, or a plan can't be carried out with them.
pub fn certify(
    settings: Settings,
    magnitudes: &[Magnitude],
    progress: impl Fn(&Row),
) -> Result<Certificate, ToleranceError> {
    let bounds = Bounds::of(settings)?;
    let mut rows = Vec::new();
    for magnitude in magnitudes {
        let row = magnitude.measured(&bounds)?;
        progress(&row);
        rows.push(row);
    }
    Ok(Certificate { settings, agrees: rows.iter().all(|row| row.agrees), rows })
}

impl Magnitude {
    fn measured(&self, bounds: &Bounds) -> Result<Row, ToleranceError> {
        let mut runs = 0;
        // At odd seeds the candidate renews when that is due: a driver spreads renewals, and each
        // worst case begins just before one.
        let all = |number| 2 * number + 1;
        let mut broke_with = all(0);
        let breaks = |magnitude| -> Result<bool, ToleranceError> {
            // The seed that broke last is the most likely one to break again.
            let likely = broke_with;
            let others = (0..self.seeds).map(all).filter(|seed| *seed != likely);
            for seed in std::iter::once(likely).chain(others) {
                runs += 1;
                if self.is_broken_by(&(self.plan)(bounds, magnitude, seed))? {
                    broke_with = seed;
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let frontier = bisect((self.range)(bounds), self.side, breaks)?;
        let plan = |magnitude: u64| (self.plan)(bounds, magnitude, broke_with);
        Ok(Row {
            plans: (frontier.holds.map(plan), frontier.breaks.map(plan)),
            ..self.row(bounds, frontier, runs)
        })
    }

    fn is_broken_by(&self, plan: &Plan) -> Result<bool, ToleranceError> {
        let what = self.name;
        plan.check().map_err(|why| ToleranceError::Plan { what, why })?;
        let outcome = Engine::Model.run(plan, Judging::KeepJudging(Which::All));
        let outcome = outcome.map_err(|why| ToleranceError::Engine { what, why })?;
        Ok(self.promise.is_broken_in(&outcome))
    }

    fn row(&self, bounds: &Bounds, frontier: Frontier, runs: u64) -> Row {
        let expected = (self.frontier)(bounds);
        let explained = (self.explained)(bounds, &bounds.config.explain());
        let tolerance = (self.tolerance)(bounds);
        let difference = self.difference(frontier, expected);
        let lies_there = match (expected, difference) {
            (Some(_), Some(difference)) => difference.unsigned_abs() <= tolerance,
            (Some(_), None) => false,
            (None, _) => frontier.breaks.is_none(),
        };
        let covers = explained.is_none_or(|promised| self.covers(frontier, promised));
        let units = |parts: i64| figure(parts) / figure(self.unit.parts().cast_signed());
        let unsigned = |parts: u64| units(parts.cast_signed());
        Row {
            magnitude: self.name,
            about: self.about,
            promise: self.promise.name(),
            breaks_on: self.side,
            unit: self.unit.name(),
            holds: frontier.holds,
            breaks: frontier.breaks,
            formula: self.formula,
            expected: expected.map(unsigned),
            difference: difference.map(units),
            tolerance: unsigned(tolerance),
            explained: explained.map(unsigned),
            runs,
            agrees: lies_there && covers,
            plans: (None, None),
        }
    }

    /// The distance of the expected frontier from the interval between the last magnitude that
    /// holds and the first that breaks, in parts of a unit.
    fn difference(&self, frontier: Frontier, expected: Option<u64>) -> Option<i64> {
        let parts = self.unit.parts();
        let expected = expected?.cast_signed();
        let ends = [frontier.holds?, frontier.breaks?].map(|end| (end * parts).cast_signed());
        let [least, most] = if ends[0] < ends[1] { ends } else { [ends[1], ends[0]] };
        Some(if expected < least {
            least - expected
        } else if expected > most {
            most - expected
        } else {
            0
        })
    }

    /// True if the promised magnitude holds, to the precision of a step.
    fn covers(&self, frontier: Frontier, promised: u64) -> bool {
        let parts = self.unit.parts();
        match (self.side, frontier.holds) {
            (_, None) => false,
            (Side::Above, Some(holds)) => promised / parts <= holds,
            (Side::Below, Some(holds)) => promised.div_ceil(parts) >= holds,
        }
    }
}

/// A number for display, where lost digits don't matter.
#[allow(clippy::cast_precision_loss, reason = "see above")]
const fn figure(parts: i64) -> f64 {
    parts as f64
}
