//! What many runs say together.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hasher;
use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use xxhash_rust::xxh3::Xxh3;

use super::{Campaign, Failure, Run};
use crate::plan::FaultKind;
use crate::properties;
use crate::sometimes;

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was violated, and the runs went everywhere.
    Held,
    /// A property did not hold, or a run broke down.
    Violated,
    /// Nothing was violated, but some condition was never met: the runs prove less than they should.
    Inconclusive,
    /// The same plan gave two traces.
    Nondeterministic,
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
}

/// How often a property was judged, and in how many runs it did not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "said above")]
pub struct Judged {
    pub checked: u64,
    pub violated: u64,
}

/// The sum of a campaign.
pub struct Summary {
    /// The first seed.
    pub seed: u64,
    /// How many runs were carried out.
    pub runs: u64,
    /// How much time was simulated.
    pub simulated: Duration,
    /// How long it took.
    pub wall: Duration,
    /// How many tenures there were.
    pub elections: u64,
    /// What went wrong, by kind, zeros included.
    pub faults: BTreeMap<FaultKind, u64>,
    /// The properties.
    pub properties: BTreeMap<&'static str, Judged>,
    /// The conditions that a campaign should meet, zeros included.
    pub sometimes: BTreeMap<&'static str, u64>,
    /// The least time between two tenures' permitted writes.
    pub margin_min: Option<Duration>,
    /// The failed run of the lowest seed.
    pub failed: Option<Run>,
    hash: Xxh3,
}

impl Summary {
    pub(super) fn new(campaign: &Campaign) -> Self {
        Self {
            seed: campaign.seed,
            runs: 0,
            simulated: Duration::ZERO,
            wall: Duration::ZERO,
            elections: 0,
            faults: campaign.faults.iter().map(|kind| (*kind, 0)).collect(),
            properties: properties::names().map(|name| (name, Judged::default())).collect(),
            sometimes: sometimes::NAMES.into_iter().map(|name| (name, 0)).collect(),
            margin_min: None,
            failed: None,
            hash: Xxh3::new(),
        }
    }

    pub(super) fn add(&mut self, run: Run) {
        self.runs += 1;
        self.simulated += run.simulated;
        self.elections += run.elections;
        self.hash.write_u64(run.seed);
        self.hash.write_u64(run.hash);
        for (kind, count) in &run.faults {
            *self.faults.entry(*kind).or_default() += count;
        }
        for name in &run.judged {
            self.properties.entry(name).or_default().checked += 1;
        }
        for (name, count) in &run.sometimes {
            *self.sometimes.entry(name).or_default() += count;
        }
        self.margin_min = match (self.margin_min, run.margin) {
            (Some(least), Some(margin)) => Some(least.min(margin)),
            (least, margin) => least.or(margin),
        };
        if let Some(Failure::Violated(violation, _)) = &run.failure {
            self.properties.entry(violation.property).or_default().violated += 1;
        }
        if run.failure.is_some() && self.failed.as_ref().is_none_or(|other| run.seed < other.seed) {
            self.failed = Some(run);
        }
    }

    /// The conditions that no run has met.
    pub fn unmet(&self) -> Vec<&'static str> {
        self.sometimes.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect()
    }

    /// How it ended.
    pub fn verdict(&self) -> Verdict {
        match self.failed.as_ref().and_then(|run| run.failure.as_ref()) {
            Some(Failure::Nondeterministic { .. }) => Verdict::Nondeterministic,
            Some(Failure::Violated(..) | Failure::Broke(_)) => Verdict::Violated,
            None if self.unmet().is_empty() => Verdict::Held,
            None => Verdict::Inconclusive,
        }
    }

    /// A hash of all traces, in order of their seeds.
    pub fn trace_hash(&self) -> String {
        format!("{:016x}", self.hash.finish())
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summary")
            .field("seed", &self.seed)
            .field("runs", &self.runs)
            .field("verdict", &self.verdict())
            .finish_non_exhaustive()
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Summary", 12)?;
        object.serialize_field("engine", "turmoil")?;
        object.serialize_field("seed", &self.seed)?;
        object.serialize_field("runs", &self.runs)?;
        object.serialize_field("simulated_s", &self.simulated.as_secs_f64())?;
        object.serialize_field("wall_s", &self.wall.as_secs_f64())?;
        object.serialize_field("elections", &self.elections)?;
        object.serialize_field("faults", &self.faults)?;
        object.serialize_field("properties", &self.properties)?;
        object.serialize_field("sometimes", &self.sometimes)?;
        let margin = self.margin_min.map(|margin| margin.as_secs_f64() * 1_000.0);
        object.serialize_field("margin_min_ms", &margin)?;
        object.serialize_field("verdict", &self.verdict())?;
        object.serialize_field("trace_hash", &self.trace_hash())?;
        object.end()
    }
}
