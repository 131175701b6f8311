//! The findings of an audit.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::finding::Finding;
use crate::judge::properties::PropertyName;

/// The properties that logs can show.
pub const JUDGED: [PropertyName; 5] = [
    PropertyName::SINGLE_LEADER,
    PropertyName::TOKEN_MONOTONIC,
    PropertyName::FENCED_WRITES,
    PropertyName::ONE_STEP_DOWN_PER_ELECTION,
    PropertyName::NO_RESURRECTION,
];

/// A violation that no placement of the clocks explains.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// The property.
    pub property: &'static str,
    /// A description.
    #[serde(flatten)]
    pub finding: Finding,
    /// The lines that show it, as `file:line`.
    pub lines: Vec<String>,
}

/// A property's comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Cases that were decided: a violation would have been seen.
    pub compared: u64,
    /// Cases that hold under some placements of the clocks, or if the missing lines are innocent.
    pub undecided: u64,
}

/// The answer of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No violation, and both claims and writes were compared. Of logs that are said to be
    /// [unfenced](super::Settings::unfenced), only claims.
    Held,
    /// A violation.
    Violated,
    /// Claims or writes could not be compared: see [`Report::not_compared`].
    Inconclusive,
}

impl Verdict {
    /// The exit code of the command.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Violated => 1,
            Self::Inconclusive => 2,
        }
    }
}

/// The result of an audit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The number of files.
    pub files: u64,
    /// The number of lines.
    pub lines: u64,
    /// The number of clocks: files of one boot of one machine share one, and a file without a
    /// header has its own.
    pub clocks: u64,
    /// The number of elections, by their keys.
    pub elections: u64,
    /// The number of tenures.
    pub tenures: u64,
    /// Tenures without a step-down: their process was killed, or still runs.
    pub without_end: u64,
    /// Tenures without an accepted write.
    pub without_writes: u64,
    /// Accepted writes.
    pub writes: u64,
    /// Refused writes.
    pub refused_writes: u64,
    /// Writes whose outcome their process did not learn.
    pub unknown_writes: u64,
    /// True if nothing that leaders write is fenced, as the [settings](super::Settings::unfenced)
    /// say.
    pub unfenced: bool,
    /// Lines that the processes could not write.
    pub lost_lines: u64,
    /// Files whose last line is cut off.
    pub cut_off: u64,
    /// Files without a header, such as the later parts of a log that was split: lines before theirs
    /// may be missing.
    pub without_header: u64,
    /// Files without a line: no candidate has joined them.
    pub empty: u64,
    /// Candidates whose clock went back between two lines.
    pub clocks_back: u64,
    /// The longest overlap of two claims that the bounds of the clocks do not rule out, in
    /// nanoseconds.
    pub widest_undecided_ns: u64,
    /// Each property's comparisons.
    pub properties: BTreeMap<&'static str, Compared>,
    /// The violations, up to a limit for each property.
    pub violations: Vec<Violation>,
    /// Violations beyond that limit.
    pub further: u64,
}

/// The most described violations of one property.
const DESCRIBED: usize = 10;

impl Report {
    /// The answer.
    pub fn verdict(&self) -> Verdict {
        if !self.violations.is_empty() {
            Verdict::Violated
        } else if self.not_compared().next().is_none() {
            Verdict::Held
        } else {
            Verdict::Inconclusive
        }
    }

    /// The properties that an answer needs comparisons of, and that have none.
    pub fn not_compared(&self) -> impl Iterator<Item = PropertyName> {
        let fenced = (!self.unfenced).then_some(PropertyName::FENCED_WRITES);
        let needed = [PropertyName::SINGLE_LEADER].into_iter().chain(fenced);
        needed.filter(|property| self.of(*property).compared == 0)
    }

    /// The number of a property's comparisons.
    pub fn of(&self, property: PropertyName) -> Compared {
        self.properties.get(property.as_str()).copied().unwrap_or_default()
    }

    pub(super) fn compared(&mut self, property: PropertyName) {
        self.properties.entry(property.as_str()).or_default().compared += 1;
    }

    pub(super) fn undecided(&mut self, property: PropertyName) {
        self.properties.entry(property.as_str()).or_default().undecided += 1;
    }

    pub(super) fn accuse(&mut self, violation: Violation) {
        let alike = self.violations.iter().filter(|one| one.property == violation.property);
        if alike.count() < DESCRIBED {
            self.violations.push(violation);
        } else {
            self.further += 1;
        }
    }
}
