//! The sum of many runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::margins::Margins;
use super::seeds::joined;
use super::{Campaign, Failure, Ordered, Run, Seeds, expected, units};
use crate::plan::FaultKind;
use crate::trace::Digest;

/// The version of the format.
pub(super) const SCHEMA: u32 = 2;

/// Of a kind of fault that was ordered so often, some must have had an effect.
pub(crate) const OFTEN: u64 = 20;

/// How a campaign ended. The greatest of several is theirs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was violated, and the runs went everywhere.
    Held,
    /// Nothing was violated, but some condition was never met: the runs prove less than they should.
    Inconclusive,
    /// The same plan gave two traces.
    Nondeterministic,
    /// A property did not hold, or a run broke down.
    Violated,
}

impl Verdict {
    /// The command's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Violated => 1,
            Self::Inconclusive => 2,
            Self::Nondeterministic => 3,
        }
    }

    /// What a failure means.
    pub const fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Violated { .. } | Failure::Refused { .. } | Failure::Broke { .. } => {
                Self::Violated
            }
            Failure::Nondeterministic { .. } => Self::Nondeterministic,
        }
    }
}

/// In how many runs a property was judged, in how many of them it compared something, how often it did in all of
/// them, and in how many it did not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the type's own documentation says it")]
pub struct Judged {
    pub checked: u64,
    pub exercised: u64,
    pub compared: u64,
    pub violated: u64,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Its seed.
    pub seed: u64,
    /// Why.
    #[serde(flatten)]
    pub failure: Failure,
}

/// The sum of a campaign, or of several that belong together.
///
/// A map holds a zero for whatever could have happened, and did not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The version of the format.
    pub schema: u32,
    /// The version of the simulator: another one may draw another plan from a seed.
    pub version: String,
    /// The name of the engine.
    pub engine: String,
    /// The lowest seed of the ranges that seeds were taken from.
    pub seed: u64,
    /// Which seeds were to be run.
    pub seeds: Vec<Seeds>,
    /// How many runs were carried out.
    pub runs: u64,
    /// On how many threads.
    pub jobs: u64,
    /// How much time was simulated.
    #[serde(rename = "simulated_s", with = "units::in_seconds")]
    pub simulated: Duration,
    /// How long it took: the longest of several that were merged, as if they had run side by side.
    #[serde(rename = "wall_s", with = "units::in_seconds")]
    pub wall: Duration,
    /// How long it took, all threads taken together.
    #[serde(rename = "core_s", with = "units::in_seconds")]
    pub core: Duration,
    /// How much happened.
    pub events: u64,
    /// How many tenures there were.
    pub elections: u64,
    /// The kinds of faults that plans were drawn from.
    pub allowed: Vec<FaultKind>,
    /// What was to go wrong, and what did, by kind.
    pub faults: BTreeMap<FaultKind, Ordered>,
    /// The properties that were asked for.
    pub properties: BTreeMap<String, Judged>,
    /// The conditions that a campaign should meet, and how often each was met.
    pub sometimes: BTreeMap<String, u64>,
    /// In how many runs each was met.
    pub sometimes_runs: BTreeMap<String, u64>,
    /// How many seeds it took, from `seed` on, until each was met.
    pub sometimes_needed: BTreeMap<String, u64>,
    /// The least time between two tenures' permitted writes.
    #[serde(rename = "margin_min_ms", with = "units::in_milliseconds")]
    pub margin_min: Option<Duration>,
    /// The lowest seed of a run with it.
    #[serde(default)]
    pub margin_min_seed: Option<u64>,
    /// How many runs had such a least time, by its size.
    #[serde(default)]
    pub margins: Margins,
    /// A hash of all traces, whatever the order of the runs.
    pub trace_hash: Digest,
    /// The failed run of the lowest seed.
    pub failed: Option<Failed>,
}

impl Summary {
    /// Of no run yet.
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
                .judges_by()
                .into_iter()
                .map(|name| (name, Judged::default()))
                .collect(),
            sometimes: expected(campaign.engine).map(|name| (name.to_owned(), 0)).collect(),
            sometimes_runs: expected(campaign.engine).map(|name| (name.to_owned(), 0)).collect(),
            sometimes_needed: BTreeMap::new(),
            margin_min: None,
            margin_min_seed: None,
            margins: Margins::default(),
            trace_hash: Digest::default(),
            failed: None,
        }
    }

    /// Takes in a run.
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
            let judged = self.properties.entry((*name).to_owned()).or_default();
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
        if let Some(failure) = run.failure {
            if let Failure::Violated { property, .. } = &failure {
                self.properties.entry(property.clone()).or_default().violated += 1;
            }
            self.fail(Failed { seed: run.seed, failure });
        }
    }

    /// Takes in what another one says of other seeds.
    pub(super) fn absorb(&mut self, other: Self) {
        let seed = self.seed.min(other.seed);
        let (later, other_later) = (self.seed - seed, other.seed - seed);
        self.sometimes_needed.values_mut().for_each(|needed| *needed += later);
        self.seed = seed;
        self.runs += other.runs;
        self.simulated += other.simulated;
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
        if let Some(margin) = other.margin_min {
            self.margin(margin, other.margin_min_seed);
        }
        other.failed.into_iter().for_each(|failed| self.fail(failed));
    }

    /// It ran side by side with another one, whose seeds it takes in too.
    pub(super) fn beside(&mut self, other: &Self) {
        self.seeds.extend(&other.seeds);
        self.seeds = joined(&self.seeds);
        self.jobs += other.jobs;
        self.wall = self.wall.max(other.wall);
        self.core += other.core;
    }

    pub(super) fn took(&mut self, wall: Duration, jobs: usize) {
        let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
        self.jobs = jobs.into();
        self.wall = wall;
        self.core = wall * jobs;
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

    /// The least margin is that of the lowest seed that has it. A summary of an earlier version names none.
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

    /// The conditions that no run has met.
    pub fn unmet(&self) -> Vec<&str> {
        let never = self.sometimes.iter().filter(|(_, count)| **count == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }

    /// The kinds of faults that were ordered often, and never had an effect: whatever should carry them out does
    /// not.
    pub fn without_effect(&self) -> Vec<FaultKind> {
        let never = |count: &Ordered| count.ordered >= OFTEN && count.effects == 0;
        self.faults.iter().filter(|(_, count)| never(count)).map(|(kind, _)| *kind).collect()
    }

    /// The properties that have compared nothing in any run: that they were not violated means nothing.
    pub fn unexercised(&self) -> Vec<&str> {
        let never = self.properties.iter().filter(|(_, judged)| judged.compared == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }

    /// What keeps it from being held though nothing was violated, in words.
    pub fn missing(&self) -> Vec<String> {
        let kinds: Vec<&str> = self.without_effect().into_iter().map(FaultKind::name).collect();
        let lists = [
            ("never met", self.unmet()),
            ("ordered, and without effect", kinds),
            ("never exercised", self.unexercised()),
        ];
        let missing = lists.into_iter().filter(|(_, names)| !names.is_empty());
        missing.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect()
    }

    /// How it ended.
    pub fn verdict(&self) -> Verdict {
        match &self.failed {
            Some(failed) => Verdict::of(&failed.failure),
            None if self.missing().is_empty() => Verdict::Held,
            None => Verdict::Inconclusive,
        }
    }
}

/// That a condition was met.
#[derive(Clone, Copy)]
struct Met {
    count: u64,
    runs: u64,
    needed: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Engine;

    fn campaign() -> Campaign {
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

    fn meeting(seed: u64) -> Run {
        let mut run = failed(seed);
        (run.failure, run.sometimes) = (None, vec![("luck", 2)]);
        run
    }

    #[test]
    fn how_runs_are_spread_over_threads_does_not_matter() {
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
    fn the_least_margin_is_told_with_its_lowest_seed_and_all_are_counted() {
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
    fn what_was_needed_counts_from_the_first_of_all_seeds() {
        let earlier = Campaign { seeds: Seeds::range(1, 9), ..campaign() };
        let (mut one, mut other) = (Summary::new(&campaign()), Summary::new(&earlier));
        one.add(meeting(10));
        one.absorb(other.clone());
        assert_eq!((one.seed, one.sometimes_needed["luck"]), (1, 10));
        other.add(meeting(3));
        one.absorb(other);
        assert_eq!((one.seed, one.sometimes_needed["luck"]), (1, 3));
    }

    #[test]
    fn a_fault_without_effects_is_inconclusive() {
        let summary = |count| {
            let mut summary = Summary::new(&campaign());
            (summary.sometimes, summary.properties) = Default::default();
            summary.ordered(FaultKind::Cut, count);
            summary
        };
        for (ordered, effects, verdict) in [
            (OFTEN, 0, Verdict::Inconclusive),
            (OFTEN - 1, 0, Verdict::Held),
            (OFTEN, 1, Verdict::Held),
        ] {
            let summary = summary(Ordered { ordered, effects });
            assert_eq!(summary.verdict(), verdict, "{ordered} ordered, {effects} effects");
        }
    }

    #[test]
    fn a_property_that_compared_nothing_is_inconclusive() {
        let judged_in = |runs: &[u64]| {
            let mut summary = Summary::new(&campaign());
            summary.sometimes.clear();
            summary.properties = [("luck".to_owned(), Judged::default())].into();
            for compared in runs {
                let mut run = meeting(10);
                (run.sometimes, run.judged) = (Vec::new(), vec![("luck", *compared)]);
                summary.add(run);
            }
            summary
        };
        for (runs, exercised, verdict) in [
            (&[][..], 0, Verdict::Inconclusive),
            (&[0, 0], 0, Verdict::Inconclusive),
            (&[0, 3, 1], 2, Verdict::Held),
        ] {
            let summary = judged_in(runs);
            assert_eq!(summary.verdict(), verdict, "{runs:?}");
            let judged = summary.properties["luck"];
            assert_eq!((judged.checked, judged.exercised), (runs.len() as u64, exercised));
            assert_eq!(judged.compared, runs.iter().sum::<u64>());
        }
    }

    #[test]
    fn the_worst_verdict_is_that_of_all() {
        use Verdict::{Held, Inconclusive, Nondeterministic, Violated};
        let worst = [Inconclusive, Violated, Held, Nondeterministic].into_iter().max();
        assert_eq!(worst.map(Verdict::exit_code), Some(1));
        assert_eq!([Held, Inconclusive].into_iter().max(), Some(Inconclusive));
    }
}
