//! Why a simulation did not hold, told so that it can be looked into.

use std::path::PathBuf;
use std::{env, fmt, fs, io, process};

use super::variables::{RUNS, SEED};
use crate::campaign::Failure;
use crate::plan::Plan;

/// Why a simulation did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A variable of the environment is not what it should be.
    #[error("{name} is {value:?}, and must be a number from {least} to {most}")]
    #[allow(missing_docs, reason = "said by the message")]
    Variable { name: &'static str, value: String, least: u64, most: u64 },
    /// There are not so many seeds.
    #[error("there are no {runs} seeds from {first} on")]
    #[allow(missing_docs, reason = "said by the message")]
    Seeds { first: u64, runs: u64 },
    /// A run failed.
    #[error("{0}")]
    Failed(Box<Failed>),
    /// Nothing was violated, but the runs did not go everywhere, as was asked for.
    #[error("nothing was violated in {runs} runs, but they never met: {}", unmet.join(", "))]
    #[allow(missing_docs, reason = "said by the message")]
    Inconclusive { runs: u64, unmet: Vec<String> },
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The seed that it was found by.
    pub seed: u64,
    /// The plan, as small as it got.
    pub plan: Plan,
    /// What is wrong when that plan is carried out.
    pub failure: Failure,
    /// The run of that plan as a page to look at; `None` if it leaves no trace, or never the same one.
    pub page: Option<Page>,
}

/// A run as an HTML file.
#[derive(Clone)]
pub struct Page(pub(super) String);

impl Page {
    /// The file's text.
    pub fn html(&self) -> &str {
        &self.0
    }

    /// Writes it into the folder for temporary files, under a name that says which seed it is of.
    pub(super) fn keep(&self, seed: u64) -> io::Result<PathBuf> {
        let name = format!("tenure-sim-seed-{seed}-of-process-{}.html", process::id());
        let path = env::temp_dir().join(name);
        fs::write(&path, &self.0)?;
        Ok(path)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({} bytes)", self.0.len())
    }
}

/// How many of the last events are shown.
const SHOWN: usize = 12;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            Failure::Violated { property, at_ns, what, entries } => {
                writeln!(f, "{property} does not hold: {what}")?;
                writeln!(f, "seen at {} ms; the last events:", at_ns / 1_000_000)?;
                for entry in &entries[entries.len().saturating_sub(SHOWN)..] {
                    let micros = entry.at / 1_000;
                    writeln!(
                        f,
                        "  {:>10}.{:03} ms  {:?}",
                        micros / 1_000,
                        micros % 1_000,
                        entry.event
                    )?;
                }
            }
            Failure::Refused { what } => writeln!(f, "the plan can't be carried out: {what}")?,
            Failure::Broke { what } => writeln!(f, "the run broke down: {what}")?,
            Failure::Nondeterministic { first, again } => writeln!(
                f,
                "the same plan gave two runs, {first} and {again}: \
                 the workload or the store looks at a clock, at entropy, or at the order of a hash map"
            )?,
        }
        writeln!(f, "found by seed {0}; to see it again: {SEED}={0} {RUNS}=1", self.seed)?;
        let plan = serde_json::to_string(&self.plan).map_err(|_| fmt::Error)?;
        write!(f, "the least plan found that still fails, for Simulation::replay:\n{plan}")
    }
}
