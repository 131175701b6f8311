//! Errors of a simulation, with everything that is needed to investigate them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::{env, fmt, io, process};

use serde_json::json;

use super::variables::{RUNS, SEED};
use crate::plan::Plan;
use crate::report::text;
use crate::search::campaign::Failure;

/// The reason why a simulation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A variable of the environment has an invalid value.
    #[error("{name} is {value:?}, and must be a number from {least} to {most}")]
    #[allow(missing_docs, reason = "see the message")]
    Variable { name: &'static str, value: String, least: u64, most: u64 },
    /// The range of seeds exceeds the largest number.
    #[error("there are no {runs} seeds from {first} on")]
    #[allow(missing_docs, reason = "see the message")]
    Seeds { first: u64, runs: u64 },
    /// A run failed.
    #[error("{0}")]
    Failed(Box<Failed>),
    /// No property was violated, but some required conditions were never met.
    #[error("nothing was violated in {runs} runs, but they never met: {}", unmet.join(", "))]
    #[allow(missing_docs, reason = "see the message")]
    Inconclusive { runs: u64, unmet: Vec<String> },
    /// No property was violated, but none could have been.
    #[error("nothing was violated in {runs} runs, which proves nothing: {}", why.join("; "))]
    #[allow(missing_docs, reason = "see the message")]
    Empty { runs: u64, why: Vec<String> },
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The seed of the first failing plan.
    pub seed: u64,
    /// The smallest failing plan.
    pub plan: Plan,
    /// The failure of that plan.
    pub failure: Failure,
    /// The page of that plan's run; `None` if it has no trace, or different ones.
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

    /// Writes it into the folder for temporary files, under a name with the seed.
    pub(super) fn keep(&self, seed: u64) -> io::Result<PathBuf> {
        let folder = env::temp_dir();
        let mut error = io::Error::from(io::ErrorKind::AlreadyExists);
        // Other users may write to that folder, so existing files and links are not changed.
        for number in 1..=NAMES_MOST {
            let name = format!("tenure-sim-seed-{seed}-of-process-{}-{number}.html", process::id());
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => return file.write_all(self.0.as_bytes()).map(|()| path),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => error = why,
                Err(why) => return Err(why),
            }
        }
        Err(error)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({} bytes)", self.0.len())
    }
}

/// The most names that are tried for a page.
const NAMES_MOST: u32 = 100;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Failure::Violated { property, what, .. } = &self.failure {
            writeln!(f, "{property} does not hold: {what}")?;
        }
        // In the format of `tenure-sim replay`.
        let faults = self.plan.faults.iter().map(|fault| {
            let node = fault.node().map_or_else(String::new, |node| format!(" of n{node}"));
            format!("{}{node}", fault.kind())
        });
        writeln!(f, "Faults: {}", listed(faults))?;
        let beyond = self.plan.broken();
        let beyond = beyond.iter().filter_map(|one| Some(json!(one).as_str()?.to_owned()));
        writeln!(f, "Beyond the assumptions: {}", listed(beyond))?;
        let mut text = Vec::new();
        text::failure(&mut text, &self.failure, text::BEFORE).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))?;
        if let Failure::Nondeterministic { .. } = self.failure {
            writeln!(
                f,
                "The code under test reads a real clock, entropy or the order of a hash map, or has a select! that is not \
                 biased"
            )?;
        }
        writeln!(f, "found by seed {0}; to repeat it: {SEED}={0} {RUNS}=1", self.seed)?;
        let plan = serde_json::to_string(&self.plan).map_err(|_| fmt::Error)?;
        write!(f, "the smallest failing plan found, for Simulation::replay:\n{plan}")
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}
