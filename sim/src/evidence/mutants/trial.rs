//! Hunts in mutated simulators, each a process of its own, and their results.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{
    Arena, Chase, Diff, Mutant, Mutated, Plant, Seen, Sighting, Sources, Workshop, WorkshopError,
};

/// Any property may catch changes from outside.
const ANY: Chase = Chase { store: None, faults: "", guards: &[] };

/// The settings of trials.
#[derive(Debug)]
pub struct Trials<'a> {
    /// The workshop that makes the mutants.
    pub workshop: &'a Workshop,
    /// The number of threads that run seeds.
    pub jobs: usize,
    /// The longest duration of a hunt, because a mutant may hang.
    pub bound: Duration,
}

/// A bug, and where it is tried: on real servers only if they are named.
#[derive(Clone, Debug)]
pub struct Bug {
    plant: Plant,
    about: String,
    chases: Vec<(Arena, Chase)>,
    /// True if it need be caught in one engine only.
    once: bool,
}

/// The result of one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub mutant: String,
    /// A description of the bug.
    pub about: String,
    /// The duration of its build, which other mutants may have shared, in seconds.
    #[serde(rename = "build_s")]
    pub build: f64,
    /// One trial for each engine.
    pub trials: Vec<Trial>,
}

/// The result of a mutant in one engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The engine.
    pub engine: Arena,
    /// The store, if it is a real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The kinds of faults that plans were drawn from; all kinds of the engine if empty.
    pub faults: String,
    /// The most seeds that were run.
    pub seeds: u64,
    /// The duration, in seconds.
    #[serde(rename = "wall_s")]
    pub wall: f64,
    /// The end of the hunt.
    pub end: Caught,
    /// The properties that should have failed, but did not.
    pub missing: Vec<String>,
    /// The failures, each with its lowest seed.
    pub sightings: Vec<Sighting>,
}

/// The end of a mutant's trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caught {
    /// It was caught by all properties that guard against it; if none are named, by any. A
    /// sometimes-condition that is never met counts as well, because a campaign without it is
    /// inconclusive.
    ByProperties,
    /// Runs failed because of an assertion or an engine's check; not all properties failed that
    /// should have.
    ByAssertion,
    /// It hung, or its process died.
    ByItsDeath,
    /// It was not caught, or not by all properties that guard against it.
    Survived,
}

/// An error in a trial.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// There is no simulator.
    #[error(transparent)]
    Workshop(#[from] WorkshopError),
    /// The simulator can't be run.
    #[error("the mutated simulator {binary}: {why}")]
    Run {
        /// Its path.
        binary: String,
        /// The reason.
        #[source]
        why: io::Error,
    },
    /// The simulator refuses: its sources have another version, or it lacks the engine.
    #[error("{mutant}: the mutated simulator does not hunt in {engine}: {output}")]
    Refused {
        /// The mutant.
        mutant: String,
        /// The engine.
        engine: Arena,
        /// Its error output.
        output: String,
    },
}

impl Row {
    /// True if it was caught by properties in all engines.
    pub fn is_caught(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|trial| trial.end == Caught::ByProperties)
    }

    /// True if it was caught in any way.
    pub fn is_caught_somehow(&self) -> bool {
        self.trials.iter().any(|trial| trial.end != Caught::Survived)
    }
}

impl Bug {
    /// A mutant.
    ///
    /// # Errors
    /// If it does not fit the sources.
    pub fn of(
        mutant: &Mutant,
        sources: &Sources,
        only: Option<Arena>,
    ) -> Result<Self, WorkshopError> {
        let plant = mutant.plant(sources)?;
        let arenas = mutant.arenas().filter(|arena| arena.is_wanted(only));
        let chases = arenas.filter_map(|arena| Some((arena, mutant.chase_in(arena)?))).collect();
        Ok(Self { plant, about: mutant.about.to_owned(), chases, once: false })
    }

    /// A user's own changes, which any property may catch.
    ///
    /// # Errors
    /// If they do not fit the sources.
    pub fn of_diff(
        diff: &Diff,
        sources: &Sources,
        only: Option<Arena>,
    ) -> Result<Self, WorkshopError> {
        let plant = diff.applied(sources)?;
        let arenas = Arena::ALL.into_iter().filter(|arena| arena.is_wanted(only));
        let chases = arenas.map(|arena| (arena, ANY)).collect();
        Ok(Self { plant, about: "changes from outside".to_owned(), chases, once: true })
    }
}

impl Trials<'_> {
    /// Builds all bugs that can share a build at once, then each of the others, and hunts them.
    /// `each` gets a result as soon as there is one.
    pub fn of(&self, bugs: &[Bug], mut each: impl FnMut(Result<Row, TrialError>)) {
        let (together, alone): (Vec<&Bug>, Vec<&Bug>) =
            bugs.iter().partition(|bug| bug.plant.is_joinable());
        self.together(&together, &mut each);
        for bug in alone {
            self.together(&[bug], &mut each);
        }
    }

    fn together(&self, bugs: &[&Bug], each: &mut dyn FnMut(Result<Row, TrialError>)) {
        if bugs.is_empty() {
            return;
        }
        let chases = bugs.iter().flat_map(|bug| &bug.chases);
        let arenas: Vec<_> = chases.map(|(arena, _)| *arena).collect();
        let plants: Vec<_> = bugs.iter().map(|bug| &bug.plant).collect();
        let began = Instant::now();
        match self.workshop.built(&plants, &arenas) {
            Ok(mutated) => {
                let build = began.elapsed().as_secs_f64();
                for (bug, mutated) in bugs.iter().zip(&mutated) {
                    each(self.tried(bug, mutated, build));
                }
            }
            // One does not build, or not beside the others.
            Err(WorkshopError::Build { .. }) if bugs.len() > 1 => {
                let (some, others) = bugs.split_at(bugs.len() / 2);
                self.together(some, each);
                self.together(others, each);
            }
            Err(error) => each(Err(error.into())),
        }
    }

    /// Hunts a bug in one engine after the other.
    fn tried(&self, bug: &Bug, mutated: &Mutated, build: f64) -> Result<Row, TrialError> {
        let mut trials: Vec<Trial> = Vec::new();
        for (arena, chase) in &bug.chases {
            if bug.once && trials.iter().any(|trial| trial.end != Caught::Survived) {
                break;
            }
            trials.push(self.hunt(mutated, bug.plant.name(), *arena, *chase)?);
        }
        let (mutant, about) = (bug.plant.name().to_owned(), bug.about.clone());
        Ok(Row { mutant, about, build, trials })
    }

    fn hunt(
        &self,
        mutated: &Mutated,
        mutant: &str,
        engine: Arena,
        Chase { store, faults, guards: until }: Chase,
    ) -> Result<Trial, TrialError> {
        let failed = |why| TrialError::Run { binary: mutated.binary.display().to_string(), why };
        let seeds = engine.seeds();
        let began = Instant::now();
        let mut command = mutated.command();
        command.args(["hunt", "--engine", engine.name(), "--runs", &seeds.to_string()]);
        command.args(["--jobs", &engine.jobs(self.jobs).to_string()]);
        if let Some(store) = store {
            command.args(["--store", store]);
        }
        if !until.is_empty() {
            command.args(["--until", &until.join(",")]);
        }
        if !faults.is_empty() {
            command.args(["--faults", faults]);
        }
        let output = File::create(&mutated.output).map_err(failed)?;
        let errors_at = mutated.output.with_extension("errors");
        let errors = File::create(&errors_at).map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let code = ended(&mut child.map_err(failed)?, self.bound).map_err(failed)?;
        let wall = began.elapsed().as_secs_f64();
        let sightings = File::open(&mutated.output);
        let sightings =
            sightings.and_then(|output| self::sightings(output, until)).map_err(failed)?;
        if code == Some(64) {
            let output = std::fs::read_to_string(errors_at).map_err(failed)?;
            return Err(TrialError::Refused { mutant: mutant.to_owned(), engine, output });
        }
        let saw = |name: &str| sightings.iter().any(|one| one.seen.guard() == Some(name));
        let missing =
            until.iter().filter(|name| !saw(name)).map(ToString::to_string).collect::<Vec<_>>();
        let end = end(&sightings, &missing, code);
        let (store, faults) = (store.map(ToOwned::to_owned), faults.to_owned());
        Ok(Trial { engine, store, faults, seeds, wall, end, missing, sightings })
    }
}

fn end(sightings: &[Sighting], missing: &[String], code: Option<i32>) -> Caught {
    let any_guard = sightings.iter().any(|one| one.seen.guard().is_some());
    if any_guard && missing.is_empty() {
        Caught::ByProperties
    } else if sightings.iter().any(|one| one.seen == Seen::Broke) {
        Caught::ByAssertion
    } else if code != Some(0) {
        Caught::ByItsDeath
    } else {
        Caught::Survived
    }
}

/// The exit code of a process; `None` if it was killed.
fn ended(child: &mut Child, bound: Duration) -> io::Result<Option<i32>> {
    let began = Instant::now();
    while began.elapsed() < bound {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The first sighting of each kind, by seed, up to the run with which the hunt was over. An
/// incomplete last line of a process that died is ignored.
fn sightings(output: File, until: &[&str]) -> io::Result<Vec<Sighting>> {
    let mut first: BTreeMap<Seen, Sighting> = BTreeMap::new();
    for line in BufReader::new(output).lines() {
        let Ok(sighting) = serde_json::from_str::<Sighting>(&line?) else { continue };
        let is_first = first.get(&sighting.seen).is_none_or(|other| sighting.seed < other.seed);
        if is_first {
            first.insert(sighting.seen.clone(), sighting);
        }
    }
    let mut first: Vec<_> = first.into_values().collect();
    if let Some(last) = last(&first, until) {
        first.retain(|one| one.seed <= last);
    }
    first.sort_by(|one, other| (one.seed, &one.seen).cmp(&(other.seed, &other.seen)));
    Ok(first)
}

/// The seed with which a hunt was over: threads may have run further seeds. `None` if it was not.
fn last(first: &[Sighting], until: &[&str]) -> Option<u64> {
    if until.is_empty() {
        return first.iter().map(|one| one.seed).min();
    }
    let of = |name: &&str| first.iter().find(|one| one.seen.guard() == Some(*name));
    until
        .iter()
        .map(|name| of(name).map(|one| one.seed))
        .max_by_key(|seed| seed.unwrap_or(u64::MAX))?
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn sighting(seen: Seen) -> Sighting {
        Sighting { seen, seed: 1, what: String::new(), wall: 0.0 }
    }

    #[test]
    fn only_expected_failures_count_as_caught() {
        let property = sighting(Seen::Property("fail-closed".to_owned()));
        let broke = sighting(Seen::Broke);
        assert_eq!(end(std::slice::from_ref(&property), &[], Some(0)), Caught::ByProperties);
        assert_eq!(
            end(std::slice::from_ref(&property), &["single-leader".to_owned()], Some(0)),
            Caught::Survived
        );
        assert_eq!(
            end(&[property, broke.clone()], &["a".to_owned()], Some(0)),
            Caught::ByAssertion
        );
        assert_eq!(end(&[broke], &[], Some(0)), Caught::ByAssertion);
        assert_eq!(end(&[], &[], None), Caught::ByItsDeath);
        assert_eq!(end(&[], &[], Some(0)), Caught::Survived);
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(ended(&mut child, Duration::from_millis(50)).unwrap(), None);
        assert!(child.try_wait().unwrap().is_some());
    }
}
