//! The hunt within a mutated simulator: it finds failing properties with their first seeds, and
//! conditions that are never met.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engines::Engine;
use crate::evidence::audited;
use crate::judge::sometimes;
use crate::judge::{Judging, Which};
use crate::plan::{FaultKind, swarm};
use crate::search::campaign::{Failure, attempt};
use crate::search::pool;

/// The number of seeds of the model engine that meet every condition, if all kinds of faults are
/// drawn: among a million seeds, no condition needed more than 318.
const MEET_ALL: u64 = 10_000;

/// The settings of a hunt.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The runs, and what judges them.
    pub ground: Ground,
    /// The number of seeds, from 1 on.
    pub runs: u64,
    /// The number of threads.
    pub jobs: usize,
    /// The properties that have to fail before it ends early; if empty, any one.
    pub until: Vec<String>,
}

/// The runs of a hunt.
#[derive(Clone, Debug)]
pub enum Ground {
    /// Runs of an engine, judged by the properties.
    Runs {
        /// The engine.
        engine: Engine,
        /// The kinds of faults that may be drawn.
        faults: Vec<FaultKind>,
    },
    /// Runs of the model engine, judged by an [audit](audited) of what their processes would have
    /// logged.
    Audits,
}

/// A kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// A property.
    Property(String),
    /// A sometimes-condition that was never met, so that a campaign of these seeds is inconclusive.
    Unmet(String),
    /// The run itself failed, mostly because of an assertion.
    Broke,
}

/// The first failure of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    /// The kind of failure.
    pub seen: Seen,
    /// The seed of the run.
    pub seed: u64,
    /// A description.
    pub what: String,
    /// The duration of the hunt until then, in seconds.
    #[serde(rename = "wall_s")]
    pub wall: f64,
}

impl Hunt {
    /// Runs seeds in order until all wanted failures have been seen, and writes each sighting at
    /// once: a mutant may hang, and earlier sightings count. Gives the number of runs.
    ///
    /// A later sighting of the same kind is written only if its seed is lower. All seeds below the
    /// last one that counts are run, so the lowest seeds do not depend on the number of threads.
    ///
    /// # Errors
    /// If a sighting can't be written.
    pub fn run(&self, out: impl Write + Send) -> io::Result<u64> {
        let log = Mutex::new(Log { out, first: BTreeMap::new(), result: Ok(()) });
        let began = Instant::now();
        let hunt = |(runs, met): &mut (u64, BTreeSet<_>), number| {
            let seed = number + 1;
            *runs += 1;
            let failures = self.one(seed, met);
            if failures.is_empty() {
                return ControlFlow::Continue(());
            }
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            let wall = began.elapsed();
            for (seen, what) in failures {
                log.add(Sighting { seen, seed, what, wall: wall.as_secs_f64() });
            }
            if self.is_over(&log) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (runs, met) = pool::fold(
            self.jobs,
            self.runs,
            Default::default,
            hunt,
            |(runs, met), (more, mut others)| {
                *runs += more;
                met.append(&mut others);
            },
        );
        let mut log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !self.is_over(&log) {
            let wall = began.elapsed().as_secs_f64();
            for name in self.must_be_met().filter(|name| !met.contains(name)) {
                let what = format!("not once in {} seeds", self.runs);
                log.add(Sighting {
                    seen: Seen::Unmet(name.to_owned()),
                    seed: self.runs,
                    what,
                    wall,
                });
            }
        }
        log.result.map(|()| runs)
    }

    /// The conditions that an unchanged simulator meets in this hunt: those that the hunt waits
    /// for, and all of the model engine if its runs are many.
    fn must_be_met(&self) -> impl Iterator<Item = &'static str> {
        let (is_awaited, scope) = match &self.ground {
            Ground::Runs { engine, faults } => {
                let all = engine.scope().kinds().iter().all(|kind| faults.contains(kind));
                let meets_all = *engine == Engine::Model && all && self.runs >= MEET_ALL;
                (!meets_all, Some(engine.scope()))
            }
            Ground::Audits => (true, None),
        };
        let names = scope.into_iter().flat_map(sometimes::names);
        names.filter(move |name| !is_awaited || self.until.iter().any(|wanted| wanted == name))
    }

    fn one(&self, seed: u64, met: &mut BTreeSet<&'static str>) -> Vec<(Seen, String)> {
        let Ground::Runs { engine, faults } = &self.ground else { return audit(seed) };
        let plan = swarm(seed, faults, engine.scope());
        match attempt(*engine, &plan, Judging::KeepJudging(Which::Applicable)) {
            Ok(outcome) => {
                let counts = outcome.sometimes.counts().into_iter();
                met.extend(counts.filter(|(_, times)| *times > 0).map(|(name, _)| name));
                let violations = outcome.judge.violations().iter();
                let named = |name: &str| Seen::Property(name.to_owned());
                violations
                    .map(|one| (named(one.property.as_str()), one.finding.to_string()))
                    .collect()
            }
            Err(failure) => vec![broke(failure)],
        }
    }

    fn is_over<W>(&self, log: &Log<W>) -> bool {
        let seen: BTreeSet<&str> = log.first.keys().filter_map(Seen::guard).collect();
        if log.result.is_err() {
            true
        } else if self.until.is_empty() {
            !log.first.is_empty()
        } else {
            self.until.iter().all(|name| seen.contains(name.as_str()))
        }
    }
}

/// The contradictions in the logs of one run. Plans that break what an audit rests on are left out.
fn audit(seed: u64) -> Vec<(Seen, String)> {
    let plan = audited::plan(seed);
    if !audited::is_within_assumptions(&plan) {
        return Vec::new();
    }
    match audited::audited(&plan) {
        Ok(report) => {
            let named = |name: &str| Seen::Property(name.to_owned());
            let violations = report.violations.iter();
            violations.map(|one| (named(one.property), one.finding.to_string())).collect()
        }
        Err(failure) => vec![broke(failure)],
    }
}

fn broke(failure: Failure) -> (Seen, String) {
    let what = match failure {
        Failure::Refused { what } | Failure::Broke { what } => what,
        failure => format!("{failure:?}"),
    };
    (Seen::Broke, what)
}

impl Seen {
    /// The property or the condition, if it is one.
    pub fn guard(&self) -> Option<&str> {
        match self {
            Self::Property(name) | Self::Unmet(name) => Some(name),
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
    fn add(&mut self, sighting: Sighting) {
        let first = self.first.get(&sighting.seen);
        if first.is_some_and(|first| *first < sighting.seed) || self.result.is_err() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, &sighting).map_err(io::Error::from);
        self.result = written.and_then(|()| writeln!(self.out)).and_then(|()| self.out.flush());
        self.first.insert(sighting.seen, sighting.seed);
    }
}
