//! The sum of many runs of one contender in one scenario.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Contender, Measured, Scenario, Takeover};

/// The sum of many runs of one contender in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The scenario.
    #[serde(rename = "trouble")]
    pub scenario: Scenario,
    /// The contender.
    pub contender: Contender,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs in which two nodes answered at once that they lead.
    pub overlapped: u64,
    /// The longest overlap of each of those runs.
    pub overlap: Option<Spread>,
    /// The longest time without a leader of each run.
    pub vacancy: Option<Spread>,
    /// Writes of an older tenure that were accepted after one of a newer: for tenure, which has
    /// tokens, by the sink that checks them; for the others, by the sink that does not.
    pub stale_accepted: u64,
    /// Stale writes that were refused; `None` without tokens.
    pub stale_refused: Option<u64>,
    /// The time from the request to leave to the next lead.
    pub handover: Option<Spread>,
    /// The time from the end of the crashed leader's lease to the next lead.
    pub takeover: Option<Spread>,
    /// Runs in which no candidate took over while the leader was away.
    pub never: u64,
}

/// The median and the maximum of several durations, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

impl Spread {
    /// The spread of those durations; `None` if there are none.
    pub fn of(mut durations: Vec<Duration>) -> Option<Self> {
        durations.sort_unstable();
        let ms = |duration: &Duration| duration.as_secs_f64() * 1_000.0;
        let median = durations.get(durations.len().saturating_sub(1) / 2)?;
        Some(Self { median_ms: ms(median), max_ms: durations.last().map_or(0.0, ms) })
    }
}

impl Cell {
    /// Sums runs up.
    pub fn of(scenario: Scenario, contender: Contender, runs: &[Measured]) -> Self {
        let overlaps: Vec<Duration> =
            runs.iter().map(|run| run.overlap).filter(|overlap| !overlap.is_zero()).collect();
        let stale: u64 = runs.iter().map(|run| run.stale).sum();
        let fenced: u64 = runs.iter().map(|run| run.stale_fenced).sum();
        let has_tokens = contender == Contender::Tenure;
        let handovers = runs.iter().filter_map(|run| run.handover);
        let handovers: Vec<_> = handovers.filter(|_| scenario == Scenario::Handover).collect();
        let takeovers: Vec<_> = runs.iter().filter_map(|run| run.takeover).collect();
        Self {
            scenario,
            contender,
            runs: runs.len() as u64,
            overlapped: overlaps.len() as u64,
            overlap: Spread::of(overlaps),
            vacancy: Spread::of(runs.iter().map(|run| run.vacancy).collect()),
            stale_accepted: if has_tokens { fenced } else { stale },
            stale_refused: has_tokens.then(|| stale - fenced),
            handover: taken(&handovers),
            takeover: taken(&takeovers),
            never: never(&handovers) + never(&takeovers),
        }
    }
}

fn taken(takeovers: &[Takeover]) -> Option<Spread> {
    let after = |takeover: &Takeover| match takeover {
        Takeover::After(took) => Some(*took),
        Takeover::Never => None,
    };
    Spread::of(takeovers.iter().filter_map(after).collect())
}

fn never(takeovers: &[Takeover]) -> u64 {
    takeovers.iter().filter(|takeover| **takeover == Takeover::Never).count() as u64
}
