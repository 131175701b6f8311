//! The hunt within a mutated simulator: which properties fail, and in which seeds first.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::campaign::{Failure, attempt};
use crate::engine::{Engine, Judging};
use crate::plan::{FaultKind, swarm};

/// What to run, and until when.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// What carries the plans out.
    pub engine: Engine,
    /// The kinds of faults that may be drawn.
    pub faults: Vec<FaultKind>,
    /// How many seeds, from 1 on.
    pub runs: u64,
    /// On how many threads.
    pub jobs: usize,
    /// The properties that have to fail before it ends early; if empty, any one will do.
    pub until: Vec<String>,
}

/// What failed in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// A property.
    Property(String),
    /// The run itself, in a way that no fault explains: mostly an assertion.
    Broke,
}

/// A failure, and when it was first seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// What failed.
    pub seen: Seen,
    /// In which run.
    pub seed: u64,
    /// What was wrong.
    pub what: String,
    /// How long the hunt had taken by then.
    #[serde(rename = "wall_s")]
    pub wall: f64,
}

impl Hunt {
    /// Runs seeds in order until all that is hunted has been seen, and tells of each sighting at once:
    /// a mutant may hang, and what was seen before counts. Gives how many runs there were.
    ///
    /// A later sighting of the same is told only if its seed is lower. All seeds below the last one
    /// that counts are run, so that the lowest ones do not depend on the number of threads.
    ///
    /// # Errors
    /// If a sighting can't be written.
    pub fn run(&self, out: impl Write + Send) -> io::Result<u64> {
        let log = Mutex::new(Log { out, first: BTreeMap::new(), result: Ok(()) });
        let (next, over, began) = (AtomicU64::new(1), AtomicBool::new(false), Instant::now());
        let work = || {
            while !over.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > self.runs {
                    break;
                }
                let failures = self.one(seed);
                if failures.is_empty() {
                    continue;
                }
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                let wall = began.elapsed();
                for (seen, what) in failures {
                    log.tell(Sighting { seen, seed, what, wall: wall.as_secs_f64() });
                }
                over.fetch_or(log.result.is_err() || self.is_over(&log.first), Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.jobs {
                scope.spawn(work);
            }
            work();
        });
        let log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
        log.result.map(|()| next.into_inner().min(self.runs + 1) - 1)
    }

    fn one(&self, seed: u64) -> Vec<(Seen, String)> {
        let plan = swarm(seed, &self.faults, self.engine.scope());
        match attempt(self.engine, &plan, Judging::Each) {
            Ok(outcome) => {
                let violations = outcome.judge.violations().iter();
                let named = |name: &str| Seen::Property(name.to_owned());
                violations.map(|one| (named(one.property), one.what.clone())).collect()
            }
            Err(Failure::Refused { what } | Failure::Broke { what }) => vec![(Seen::Broke, what)],
            Err(failure) => vec![(Seen::Broke, format!("{failure:?}"))],
        }
    }

    fn is_over(&self, first: &BTreeMap<Seen, u64>) -> bool {
        let seen: BTreeSet<&str> = first.keys().filter_map(Seen::property).collect();
        if self.until.is_empty() {
            !first.is_empty()
        } else {
            self.until.iter().all(|name| seen.contains(name.as_str()))
        }
    }
}

impl Seen {
    /// The property, if it is one.
    pub fn property(&self) -> Option<&str> {
        match self {
            Self::Property(name) => Some(name),
            Self::Broke => None,
        }
    }
}

struct Log<W> {
    out: W,
    first: BTreeMap<Seen, u64>,
    result: io::Result<()>,
}

impl<W: Write> Log<W> {
    fn tell(&mut self, sighting: Sighting) {
        let first = self.first.get(&sighting.seen);
        if first.is_some_and(|first| *first < sighting.seed) || self.result.is_err() {
            return;
        }
        let told = serde_json::to_writer(&mut self.out, &sighting).map_err(io::Error::from);
        self.result = told.and_then(|()| writeln!(self.out)).and_then(|()| self.out.flush());
        self.first.insert(sighting.seen, sighting.seed);
    }
}
