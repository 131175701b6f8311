//! The audit: judges the logs of any application that uses `tenure::trace`, from several machines,
//! without the store's records and without true time.
//!
//! **What it decides.** Each machine's clock has an unknown offset from true time, bounded by the
//! uncertainty that the user states, and a rate within the drift bound. A violation is reported
//! only if no placement of all clocks within those bounds explains all lines of all files. Whatever
//! holds under some placements and not under others is counted as undecided, and is no violation.
//!
//! **What is compared.** A claim stands for certain from its `elected` line to its `stepped-down`
//! line, or to the end by time that its last line names, if that is earlier; without a
//! `stepped-down` line, only to the last line that proves it, since a process that is killed writes
//! no end. Claims of one election must not overlap, and follow each other in the order of their
//! tokens. A write that was accepted happened at some moment between its two readings.
//!
//! **Parts of a log.** A file without a header is a later part of a log that was split or rotated.
//! It has a clock of its own, of which its clock lines are known, and it may lack lines. Two
//! tenures under one token, of which one has no line of its election, may be one tenure in two
//! parts: they are not accused, and both are compared with other tokens.
//!
//! **What an answer needs.** Nothing is said to hold unless claims were compared, and writes too:
//! leaders that write no lines of their writes may have written anything. [`Settings::unfenced`]
//! gives up the second.
//!
//! **Not guaranteed**: that a log without a finding is of a correct run. Overlaps shorter than the
//! clocks can tell, and processes that wrote no log, are not seen.

mod candidate;
mod explain;
mod facts;
mod leads;
pub(crate) mod log;
mod orders;
mod placement;
mod read;
#[cfg(all(test, feature = "real"))]
mod tests;
mod timeline;
mod verdict;
mod writes;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use facts::Facts;
pub use log::{DRIFT_MOST, LogError};
use orders::Orders;
use rustc_hash::FxHashSet;
pub use verdict::{Compared, JUDGED, Report, Verdict, Violation};

/// The settings of an audit.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The largest error of each wall clock; `None` if that is not known.
    pub uncertainty: Option<Duration>,
    /// The same for single files, by their names.
    pub of_files: BTreeMap<String, Duration>,
    /// The drift bound of every clock, in parts per million, instead of the one in its files.
    pub drift_ppm: Option<u32>,
    /// Nothing that leaders write is fenced, so the answer may rest on their claims alone. It says
    /// nothing about what they wrote.
    pub unfenced: bool,
}

impl Settings {
    fn uncertainty_of(&self, file: &str) -> Option<Duration> {
        self.of_files.get(file).copied().or(self.uncertainty)
    }
}

/// The clock lines contradict what is known of the clocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the wall clock at {lines} does not fit the stated uncertainty and the drift bound; an uncertainty that is larger \
     by {short:?} would do for these lines; if the clock was set between them, move the lines since then to a file of \
     their own without a header, which counts as another clock"
)]
pub struct ClocksError {
    /// The lines.
    pub lines: String,
    /// The uncertainty that is missing.
    pub short: Duration,
}

/// An audit of several files.
#[derive(Debug, Default)]
pub struct Audit {
    settings: Settings,
    facts: Facts,
    report: Report,
}

impl Audit {
    /// An audit without files.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Reads a file. Its name is used in findings, and for its uncertainty.
    ///
    /// # Errors
    /// If it is not a log.
    pub fn read(&mut self, name: &str, from: impl BufRead) -> Result<(), LogError> {
        self.report.files += 1;
        read::read(&mut self.facts, &mut self.report, name, from)
    }

    /// Judges all files together.
    ///
    /// # Errors
    /// If the clocks contradict what is known of them.
    pub fn judge(self) -> Result<Report, ClocksError> {
        let Self { settings, facts, mut report } = self;
        for property in JUDGED {
            report.properties.entry(property.as_str()).or_default();
        }
        report.clocks = facts.clocks.len() as u64;
        report.elections = facts.keys.len() as u64;
        report.tenures = facts.tenures.len() as u64;
        report.unfenced = settings.unfenced;
        let wrote: FxHashSet<_> = facts.writes.keys().map(|of| (of.key, of.token)).collect();
        let silent = facts.tenures.iter().filter(|one| !wrote.contains(&(one.key, one.token)));
        report.without_writes = silent.count() as u64;
        let endless = facts.tenures.iter().filter(|tenure| tenure.stepped_down.is_none());
        report.without_end = endless.count() as u64;
        Orders::new(&facts, &mut report).judge(&settings)?;
        Ok(report)
    }
}
