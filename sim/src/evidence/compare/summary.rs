//! What many runs of one contender in one trouble say together.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Contender, Measured, Takeover, Trouble};

/// What many runs of one contender in one trouble say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What went wrong.
    pub trouble: Trouble,
    /// Whether that is beyond what tenure's single leadership assumes.
    pub beyond_assumptions: bool,
    /// What ran.
    pub contender: Contender,
    /// How many runs.
    pub runs: u64,
    /// How many in which two nodes said at once that they lead.
    pub overlapped: u64,
    /// For how long, in those that did.
    pub overlap: Option<Spread>,
    /// For how long nobody led, at the longest in each run.
    pub vacancy: Option<Spread>,
    /// Writes of an older tenure that were accepted after one of a newer: by the sink that checks tokens
    /// for tenure, which has some; by the one that does not for the others.
    pub stale_accepted: u64,
    /// Those that were refused; `None` if there is no token to refuse them by.
    pub stale_refused: Option<u64>,
    /// From the request to leave to the next lead.
    pub handover: Option<Spread>,
    /// From the end of the crashed leader's lease to the next lead.
    pub takeover: Option<Spread>,
    /// Runs in which nobody took over while the leader was away.
    pub never: u64,
}

/// The middle and the largest of several durations, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of them are at most that.
    pub median_ms: f64,
    /// All of them are.
    pub max_ms: f64,
}

impl Spread {
    /// Of those durations; `None` if there are none.
    pub fn of(mut durations: Vec<Duration>) -> Option<Self> {
        durations.sort_unstable();
        let ms = |duration: &Duration| duration.as_secs_f64() * 1_000.0;
        let median = durations.get(durations.len().saturating_sub(1) / 2)?;
        Some(Self { median_ms: ms(median), max_ms: durations.last().map_or(0.0, ms) })
    }
}

impl Cell {
    /// Sums runs up.
    pub fn of(trouble: Trouble, contender: Contender, runs: &[Measured]) -> Self {
        let overlaps: Vec<Duration> =
            runs.iter().map(|run| run.overlap).filter(|overlap| !overlap.is_zero()).collect();
        let stale: u64 = runs.iter().map(|run| run.stale).sum();
        let fenced: u64 = runs.iter().map(|run| run.stale_fenced).sum();
        let has_tokens = contender == Contender::Tenure;
        let handovers = runs.iter().filter_map(|run| run.handover);
        let handovers: Vec<_> = handovers.filter(|_| trouble == Trouble::Handover).collect();
        let takeovers: Vec<_> = runs.iter().filter_map(|run| run.takeover).collect();
        Self {
            trouble,
            beyond_assumptions: trouble.is_beyond_the_assumptions(),
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
