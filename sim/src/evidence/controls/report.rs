//! The result of a control's runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Control;
use crate::judge::properties::PropertyName;
use crate::plan::Assumption;

/// The result of a control's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The control's name.
    pub control: &'static str,
    /// The assumptions that its plans break.
    pub beyond: &'static [Assumption],
    /// The properties that must be violated.
    pub must_break: &'static [PropertyName],
    /// Further properties that may be violated.
    pub may_break: &'static [PropertyName],
    /// The first seed; the others follow it.
    pub seed: u64,
    /// The number of runs that were carried out.
    pub runs: u64,
    /// The properties that were violated in some run.
    pub broken: BTreeMap<PropertyName, Broken>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The violations of a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The number of runs with a violation.
    pub runs: u64,
    /// The lowest seed of these runs.
    pub first_seed: u64,
    /// The description of the violation in that run.
    pub what: String,
}

/// The verdict on a control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Verdict {
    /// All properties that must be violated were, and all that must hold did.
    Ok,
    /// A property that must be violated held in every run: the plans are too harmless, or the judge
    /// misses violations.
    NothingBroke {
        /// The properties that held.
        missing: Vec<PropertyName>,
    },
    /// A property was violated that does not rest on the broken assumptions. Takes precedence over
    /// `NothingBroke`.
    BrokeTooMuch {
        /// The violated properties.
        unexpected: Vec<Unexpected>,
    },
}

/// A property that broke in runs of a control that does not name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unexpected {
    /// The property.
    pub property: PropertyName,
    /// The lowest seed in which it was violated.
    pub seed: u64,
}

impl Report {
    pub(super) fn new(control: &Control, seed: u64, runs: u64, broken: Tally) -> Self {
        Self {
            control: control.name,
            beyond: control.beyond,
            must_break: control.must_break,
            may_break: control.may_break,
            seed,
            runs,
            verdict: verdict(control, &broken.0),
            broken: broken.0,
        }
    }

    /// True if the control gave the expected result.
    pub fn is_ok(&self) -> bool {
        self.verdict == Verdict::Ok
    }
}

fn verdict(control: &Control, broken: &BTreeMap<PropertyName, Broken>) -> Verdict {
    let unexpected: Vec<Unexpected> = broken
        .iter()
        .filter(|(property, _)| !control.expects(**property))
        .map(|(property, broken)| Unexpected { property: *property, seed: broken.first_seed })
        .collect();
    if !unexpected.is_empty() {
        return Verdict::BrokeTooMuch { unexpected };
    }
    let must = control.must_break.iter().copied();
    let missing: Vec<_> = must.filter(|property| !broken.contains_key(property)).collect();
    if missing.is_empty() { Verdict::Ok } else { Verdict::NothingBroke { missing } }
}

/// The violations so far. They do not depend on the order in which runs are added.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<PropertyName, Broken>);

impl Tally {
    pub(super) fn add(&mut self, property: PropertyName, next: Broken) {
        match self.0.get_mut(&property) {
            None => {
                self.0.insert(property, next);
            }
            Some(known) => {
                let runs = known.runs + next.runs;
                if next.first_seed < known.first_seed {
                    *known = next;
                }
                known.runs = runs;
            }
        }
    }

    pub(super) fn absorb(&mut self, other: Self) {
        other.0.into_iter().for_each(|(property, broken)| self.add(property, broken));
    }
}
