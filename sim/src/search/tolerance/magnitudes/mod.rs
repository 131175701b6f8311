//! The magnitudes of faults and errors, and the worst plan for each.

mod availability;
mod clocks;
mod effects;
mod unlimited;

use serde::Serialize;
use tenure_core::Explanation;

use super::formula::Bounds;
use super::promise::Promise;
use crate::plan::{Plan, named};

/// The magnitude of one fault or error.
#[derive(Clone, Copy, Debug)]
pub struct Magnitude {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The promise that breaks beyond the frontier.
    pub promise: Promise,
    /// The side of the frontier on which it breaks.
    pub side: Side,
    /// The step of the bisection.
    pub unit: Unit,
    /// The formula of the frontier, as text.
    pub formula: &'static str,
    /// The frontier by the formula, in parts of a unit; `None` if there is none.
    pub frontier: fn(&Bounds) -> Option<u64>,
    /// The magnitude that `Config::explain` promises to tolerate, in parts of a unit; `None` if it
    /// promises none.
    pub explained: fn(&Bounds, &Explanation) -> Option<u64>,
    /// The largest distance of the frontier from the formula beyond one step, in parts of a unit.
    pub tolerance: fn(&Bounds) -> u64,
    /// The range of the bisection, in units.
    pub range: fn(&Bounds) -> (u64, u64),
    /// The number of seeds for each magnitude: it breaks if it breaks with one of them.
    pub seeds: u64,
    /// The worst plan of that magnitude and a seed.
    pub plan: fn(&Bounds, u64, u64) -> Plan,
}

/// All magnitudes.
pub const ALL: [Magnitude; 15] = [
    clocks::DRIFT,
    clocks::WATCHER_STEP,
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
    unlimited::STORE_FORWARD,
    unlimited::STORE_BACK,
];

/// The side of the frontier on which a promise breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// A larger magnitude breaks the promise.
    Above,
    /// A smaller magnitude breaks the promise.
    Below,
}

/// The unit of a magnitude. Formulas count in parts of it, because a step of a whole unit is too
/// coarse for them.
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

    /// The number of its parts.
    pub const fn parts(self) -> u64 {
        match self {
            Self::Ppm | Self::Us => 1_000,
            Self::Ms => 1_000_000,
        }
    }
}

/// For a magnitude without a promise in `Config::explain`.
const fn nothing(_: &Bounds, _: &Explanation) -> Option<u64> {
    None
}

named!(Magnitude, "magnitude", ALL, |one| one.name);
