//! What can be more or less wrong, and how its worst plans look.

mod availability;
mod clocks;
mod effects;
mod unlimited;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tenure_core::Explanation;

use super::formula::Bounds;
use super::promise::Promise;
use crate::plan::Plan;

/// One thing that can be more or less wrong.
#[derive(Clone, Copy, Debug)]
pub struct Magnitude {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What breaks beyond the frontier.
    pub promise: Promise,
    /// On which side of the frontier it breaks.
    pub side: Side,
    /// In which steps it is bisected.
    pub unit: Unit,
    /// The formula of the frontier, in words.
    pub formula: &'static str,
    /// The frontier that the formula says, in parts of a unit; `None` if there is none.
    pub frontier: fn(&Bounds) -> Option<u64>,
    /// What `Config::explain` promises to be tolerated, in parts of a unit; `None` if it says nothing.
    pub explained: fn(&Bounds, &Explanation) -> Option<u64>,
    /// How far the frontier may lie from the formula beyond one step, in parts of a unit.
    pub tolerance: fn(&Bounds) -> u64,
    /// Where it is looked for, in units.
    pub range: fn(&Bounds) -> (u64, u64),
    /// So many seeds are tried for each magnitude: it breaks if it breaks with one of them.
    pub seeds: u64,
    /// The worst plan of that magnitude, and of a seed.
    pub plan: fn(&Bounds, u64, u64) -> Plan,
}

/// All of them.
pub const ALL: [Magnitude; 13] = [
    clocks::DRIFT,
    clocks::STORE_STEP,
    clocks::CLOCK_BACK,
    clocks::VM_STOP,
    effects::PAUSE_AT_GUARD,
    effects::SLOW_EFFECT,
    clocks::QUARANTINE,
    availability::PAUSE,
    availability::CUT,
    availability::LATENCY,
    unlimited::PAUSE,
    unlimited::HOLD,
    unlimited::REPLICA_LAG,
];

/// On which side of the frontier something breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// More is worse.
    Above,
    /// Less is worse.
    Below,
}

/// What a magnitude is counted in. Formulas count in parts of it: there is room for what a step is too
/// coarse for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Millionths, in parts of a thousandth.
    #[serde(rename = "ppm")]
    Ppm,
    /// Milliseconds, in nanoseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds, in nanoseconds.
    #[serde(rename = "us")]
    Us,
}

impl Unit {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ppm => "ppm",
            Self::Ms => "ms",
            Self::Us => "us",
        }
    }

    /// How many parts it has.
    pub const fn parts(self) -> u64 {
        match self {
            Self::Ppm | Self::Us => 1_000,
            Self::Ms => 1_000_000,
        }
    }
}

/// A magnitude for which `Config::explain` has no figure.
const fn nothing(_: &Bounds, _: &Explanation) -> Option<u64> {
    None
}

impl fmt::Display for Magnitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// No magnitude has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown magnitude {name:?}; known are {}", ALL.map(|one| one.name).join(", "))]
pub struct UnknownMagnitude {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Magnitude {
    type Err = UnknownMagnitude;

    fn from_str(name: &str) -> Result<Self, UnknownMagnitude> {
        let found = ALL.into_iter().find(|magnitude| magnitude.name == name);
        found.ok_or_else(|| UnknownMagnitude { name: name.to_owned() })
    }
}
