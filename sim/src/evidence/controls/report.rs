//! What came of a control's runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Control;
use crate::plan::Assumption;

/// What came of a control's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The control's name.
    pub control: &'static str,
    /// What its plans do not keep.
    pub beyond: &'static [Assumption],
    /// What must break.
    pub must_break: &'static [&'static str],
    /// What may break as well.
    pub may_break: &'static [&'static str],
    /// The first seed; the others follow it.
    pub seed: u64,
    /// How many runs were carried out.
    pub runs: u64,
    /// The properties that did not hold in some run.
    pub broken: BTreeMap<&'static str, Broken>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// How often a property did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// In how many runs.
    pub runs: u64,
    /// The lowest seed of these.
    pub first_seed: u64,
    /// What was wrong in that run.
    pub what: String,
}

/// Whether a control showed what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Verdict {
    /// What must break did, and what must hold did.
    Ok,
    /// Something that must break held in every run: the plans are too tame, or the judge is blind.
    NothingBroke {
        /// What held.
        missing: Vec<&'static str>,
    },
    /// Something broke that does not rest on what the plans break. Said first if something held as well.
    BrokeTooMuch {
        /// What broke.
        unexpected: Vec<Unexpected>,
    },
}

/// A property that broke in runs of a control that does not name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unexpected {
    /// Which one.
    pub property: &'static str,
    /// The lowest seed in which it broke.
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

    /// Whether the control showed what it should.
    pub fn is_ok(&self) -> bool {
        self.verdict == Verdict::Ok
    }
}

fn verdict(control: &Control, broken: &BTreeMap<&'static str, Broken>) -> Verdict {
    let unexpected: Vec<Unexpected> = broken
        .iter()
        .filter(|(property, _)| !control.expects(property))
        .map(|(property, broken)| Unexpected { property, seed: broken.first_seed })
        .collect();
    if !unexpected.is_empty() {
        return Verdict::BrokeTooMuch { unexpected };
    }
    let must = control.must_break.iter().copied();
    let missing: Vec<_> = must.filter(|property| !broken.contains_key(property)).collect();
    if missing.is_empty() { Verdict::Ok } else { Verdict::NothingBroke { missing } }
}

/// What did not hold so far. It does not depend on the order in which runs are added.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<&'static str, Broken>);

impl Tally {
    pub(super) fn add(&mut self, property: &'static str, next: Broken) {
        match self.0.get_mut(property) {
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
