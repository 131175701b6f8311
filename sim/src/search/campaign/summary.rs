//! The sum of many runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::durations::Durations;
use super::margins::Margins;
use super::seeds::joined;
use super::{Campaign, Elsewhere, Failure, Ordered, Run, Seeds, Soak, expected, units};
use crate::judge::turnover::Interval;
use crate::plan::FaultKind;
use crate::trace::Digest;

/// The version of the format.
pub(super) const SCHEMA: u32 = 2;

/// The counts of a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The runs in which it was judged.
    pub checked: u64,
    /// The runs in which it compared something.
    pub exercised: u64,
    /// The comparisons in all runs.
    pub compared: u64,
    /// The runs in which it was violated.
    pub violated: u64,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Its seed.
    pub seed: u64,
    /// Its failure.
    #[serde(flatten)]
    pub failure: Failure,
    /// Its plan in the engines that simulate, if it did not fail in one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
}

/// The sum of a campaign, or of several that belong together.
///
/// A map has an entry with zero for each name that was expected and never occurred.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The version of the format.
    pub schema: u32,
    /// The version of the simulator: different versions may draw different plans from a seed.
    pub version: String,
    /// The name of the engine.
    pub engine: String,
    /// The lowest seed of the ranges that seeds were taken from.
    pub seed: u64,
    /// The seeds of the campaign.
    pub seeds: Vec<Seeds>,
    /// The number of runs that were carried out.
    pub runs: u64,
    /// The number of threads.
    pub jobs: u64,
    /// The simulated time.
    #[serde(rename = "simulated_s", with = "units::in_seconds")]
    pub simulated: Duration,
    /// The wall-clock time: the longest one of merged campaigns, as if they had run in parallel.
    #[serde(rename = "wall_s", with = "units::in_seconds")]
    pub wall: Duration,
    /// The processor time of the threads that carried out the runs. What other threads and
    /// processes took is not in it.
    #[serde(rename = "core_s", with = "units::in_seconds")]
    pub core: Duration,
    /// The number of events.
    pub events: u64,
    /// The number of tenures.
    pub elections: u64,
    /// The kinds of faults that plans were drawn from.
    pub allowed: Vec<FaultKind>,
    /// The counts of ordered and effective faults, by kind.
    pub faults: BTreeMap<FaultKind, Ordered>,
    /// The counts of the judging properties.
    pub properties: BTreeMap<String, Judged>,
    /// The count of each expected condition.
    pub sometimes: BTreeMap<String, u64>,
    /// The number of runs in which each was met.
    pub sometimes_runs: BTreeMap<String, u64>,
    /// The number of seeds, from `seed` on, until each was met.
    pub sometimes_needed: BTreeMap<String, u64>,
    /// The least time between two tenures' permitted writes.
    #[serde(rename = "margin_min_ms", with = "units::in_milliseconds")]
    pub margin_min: Option<Duration>,
    /// The lowest seed of a run with that margin.
    #[serde(default)]
    pub margin_min_seed: Option<u64>,
    /// The number of runs by their least margin.
    #[serde(default)]
    pub margins: Margins,
    /// The times between leads, by kind.
    #[serde(default)]
    pub turnover: BTreeMap<Interval, Durations>,
    /// A hash of all traces, whatever the order of the runs.
    pub trace_hash: Digest,
    /// The failed run of the lowest seed.
    pub failed: Option<Failed>,
    /// The resources held after each block of seeds, if the campaign was to last for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soak>,
}

impl Summary {
    /// The sum of no runs.
    pub(crate) fn new(campaign: &Campaign) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            engine: campaign.engine.name().to_owned(),
            seed: campaign.seeds.first,
            seeds: vec![campaign.seeds],
            runs: 0,
            jobs: 0,
            simulated: Duration::ZERO,
            wall: Duration::ZERO,
            core: Duration::ZERO,
            events: 0,
            elections: 0,
            allowed: campaign.faults.clone(),
            faults: campaign.faults.iter().map(|kind| (*kind, Ordered::default())).collect(),
            properties: campaign
                .property_names()
                .into_iter()
                .map(|name| (name, Judged::default()))
                .collect(),
            sometimes: expected(campaign.engine).map(|name| (name.to_owned(), 0)).collect(),
            sometimes_runs: expected(campaign.engine).map(|name| (name.to_owned(), 0)).collect(),
            sometimes_needed: BTreeMap::new(),
            margin_min: None,
            margin_min_seed: None,
            margins: Margins::default(),
            turnover: BTreeMap::new(),
            trace_hash: Digest::default(),
            failed: None,
            soak: None,
        }
    }

    /// Adds a run.
    pub(crate) fn add(&mut self, run: Run) {
        self.runs += 1;
        self.simulated += run.simulated;
        self.events += run.events;
        self.elections += run.elections;
        self.trace_hash.add_run(run.seed, run.hash);
        for (kind, count) in run.faults() {
            self.ordered(kind, count);
        }
        for (name, compared) in &run.judged {
            let judged = self.properties.entry(name.to_string()).or_default();
            judged.checked += 1;
            judged.exercised += u64::from(*compared > 0);
            judged.compared += compared;
        }
        for (name, count) in &run.sometimes {
            let met = Met { count: *count, runs: 1, needed: Some(run.seed - self.seed + 1) };
            self.met(name, met);
        }
        if let Some(margin) = run.margin {
            self.margins.add(margin);
            self.margin(margin, Some(run.seed));
        }
        for (interval, duration) in run.turnover {
            self.turnover.entry(interval).or_default().add(duration);
        }
        if let Some(failure) = run.failure {
            if let Failure::Violated { property, .. } = &failure {
                self.properties.entry(property.clone()).or_default().violated += 1;
            }
            self.fail(Failed { seed: run.seed, failure, elsewhere: Vec::new() });
        }
    }

    /// Adds the sum of other seeds.
    pub(super) fn absorb(&mut self, other: Self) {
        let seed = self.seed.min(other.seed);
        let (later, other_later) = (self.seed - seed, other.seed - seed);
        self.sometimes_needed.values_mut().for_each(|needed| *needed += later);
        self.seed = seed;
        self.runs += other.runs;
        self.simulated += other.simulated;
        self.core += other.core;
        self.events += other.events;
        self.elections += other.elections;
        self.trace_hash.add(other.trace_hash);
        for (kind, count) in &other.faults {
            self.ordered(*kind, *count);
        }
        for (name, judged) in other.properties {
            let sum = self.properties.entry(name).or_default();
            sum.checked += judged.checked;
            sum.exercised += judged.exercised;
            sum.compared += judged.compared;
            sum.violated += judged.violated;
        }
        for (name, count) in &other.sometimes {
            let runs = other.sometimes_runs.get(name).copied().unwrap_or(0);
            let needed = other.sometimes_needed.get(name).map(|needed| needed + other_later);
            self.met(name, Met { count: *count, runs, needed });
        }
        self.margins.absorb(&other.margins);
        for (interval, durations) in &other.turnover {
            self.turnover.entry(*interval).or_default().absorb(durations);
        }
        if let Some(margin) = other.margin_min {
            self.margin(margin, other.margin_min_seed);
        }
        other.failed.into_iter().for_each(|failed| self.fail(failed));
    }

    /// Adds the seeds and the times of a campaign that ran in parallel.
    pub(super) fn add_parallel(&mut self, other: &Self) {
        self.seeds.extend(&other.seeds);
        self.seeds = joined(&self.seeds);
        self.jobs += other.jobs;
        self.wall = self.wall.max(other.wall);
    }

    /// Adds a campaign that ran afterwards with the seeds that follow, but not its wall-clock time.
    pub(super) fn add_later(&mut self, other: Self) {
        match (self.seeds.last_mut(), other.seeds.as_slice()) {
            (Some(last), [next]) if last.first + last.count == next.first => {
                last.count += next.count;
            }
            _ => self.seeds.extend(&other.seeds),
        }
        self.absorb(other);
    }

    pub(super) fn took(&mut self, wall: Duration, jobs: usize) {
        let jobs = jobs.max(1) as u64;
        self.jobs = jobs;
        self.wall = wall;
    }

    fn ordered(&mut self, kind: FaultKind, count: Ordered) {
        let sum = self.faults.entry(kind).or_default();
        sum.ordered += count.ordered;
        sum.effects += count.effects;
    }

    fn met(&mut self, name: &str, met: Met) {
        *self.sometimes.entry(name.to_owned()).or_default() += met.count;
        *self.sometimes_runs.entry(name.to_owned()).or_default() += met.runs;
        if let Some(needed) = met.needed {
            let least = self.sometimes_needed.entry(name.to_owned()).or_insert(needed);
            *least = needed.min(*least);
        }
    }

    /// Keeps the least margin; of equal ones, that of the lowest seed. A summary of an earlier
    /// version has no seed.
    fn margin(&mut self, margin: Duration, seed: Option<u64>) {
        let key = |margin: Duration, seed: Option<u64>| (margin, seed.unwrap_or(u64::MAX));
        let known = self.margin_min.map(|least| key(least, self.margin_min_seed));
        if known.is_none_or(|known| key(margin, seed) < known) {
            (self.margin_min, self.margin_min_seed) = (Some(margin), seed);
        }
    }

    fn fail(&mut self, failed: Failed) {
        if self.failed.as_ref().is_none_or(|other| failed.seed < other.seed) {
            self.failed = Some(failed);
        }
    }
}

/// The counts of a condition that was met.
#[derive(Clone, Copy)]
struct Met {
    count: u64,
    runs: u64,
    needed: Option<u64>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Verdict;
    use super::*;
    use crate::engines::Engine;

    pub(in super::super) fn campaign() -> Campaign {
        Campaign {
            engine: Engine::Model,
            seeds: Seeds::range(10, 100),
            jobs: 1,
            faults: Vec::new(),
            properties: None,
            check_determinism: false,
        }
    }

    fn failed(seed: u64) -> Run {
        Run::failed(seed, Failure::Broke { what: format!("seed {seed}") })
    }

    pub(in super::super) fn meeting(seed: u64) -> Run {
        let mut run = failed(seed);
        (run.failure, run.sometimes) = (None, vec![("luck", 2)]);
        run
    }

    #[test]
    fn the_sum_does_not_depend_on_threads() {
        let runs = || [meeting(40), failed(70), meeting(13), failed(21), meeting(99)];
        let mut alone = Summary::new(&campaign());
        for run in runs() {
            alone.add(run);
        }
        let (mut one, mut other) = (Summary::new(&campaign()), Summary::new(&campaign()));
        for (number, run) in runs().into_iter().enumerate() {
            if number % 2 == 0 { one.add(run) } else { other.add(run) }
        }
        one.absorb(other);
        for summary in [alone, one] {
            assert_eq!((summary.runs, summary.verdict()), (5, Verdict::Violated));
            assert_eq!(summary.failed.as_ref().map(|failed| failed.seed), Some(21));
            let of = |map: &BTreeMap<String, u64>| map.get("luck").copied();
            assert_eq!(of(&summary.sometimes), Some(6));
            assert_eq!(of(&summary.sometimes_runs), Some(3));
            assert_eq!(of(&summary.sometimes_needed), Some(4));
        }
    }

    #[test]
    fn the_least_margin_has_its_lowest_seed() {
        let with = |seed, margin_ms| {
            let mut run = meeting(seed);
            run.margin = Some(Duration::from_millis(margin_ms));
            run
        };
        let (mut one, mut other) = (Summary::new(&campaign()), Summary::new(&campaign()));
        one.add(with(50, 3));
        one.add(with(12, 900));
        other.add(meeting(10));
        other.add(with(40, 3));
        other.add(with(60, 3));
        for mut sum in [one.clone(), other.clone()] {
            sum.absorb(if sum.runs == 2 { other.clone() } else { one.clone() });
            let least = (sum.margin_min, sum.margin_min_seed);
            assert_eq!(least, (Some(Duration::from_millis(3)), Some(40)));
            assert_eq!(sum.margins.runs(), 4, "one run had none");
        }
    }

    #[test]
    fn needed_seeds_count_from_the_lowest_seed() {
        let earlier = Campaign { seeds: Seeds::range(1, 9), ..campaign() };
        let (mut one, mut other) = (Summary::new(&campaign()), Summary::new(&earlier));
        one.add(meeting(10));
        one.absorb(other.clone());
        assert_eq!((one.seed, one.sometimes_needed["luck"]), (1, 10));
        other.add(meeting(3));
        one.absorb(other);
        assert_eq!((one.seed, one.sometimes_needed["luck"]), (1, 3));
    }
}
