//! What a search covers: the settings of the candidates, and how much may happen.
//!
//! Everything happens at whole ticks of 50 ms of true time. In one a clock counts 45, 50 or 55 ms: the
//! drift bound is 10 %, and both ends of it are whole nanoseconds. A TTL of 220 ms is then four ticks of
//! the fastest store clock, and the 180 ms that a candidate can count on are four ticks of its slowest one:
//! with no stop margin, a claim ends one nanosecond before the tick at which its lease does. Nothing is
//! left between what the formula allows and what would be wrong. A TTL of two ticks is the same by halves:
//! a search of as many ticks then sees twice as many leases end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{Config, ConfigError};

/// The step of true time, in nanoseconds.
pub const TICK: u64 = 50_000_000;
const DRIFT_PPM: u32 = 100_000;

/// What a search covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// How many candidates: 1 to 3.
    pub candidates: usize,
    /// How many ticks of true time; without it, runs of any length.
    pub horizon: Option<u8>,
    /// The candidates' TTL.
    pub ttl: Ttl,
    /// The candidates' stop margin.
    pub margin: StopMargin,
    /// The rates that clocks may have.
    pub rates: Rates,
    /// How many messages of one candidate may be on their way at once; of more, any one is lost.
    pub in_flight: u8,
    /// How many faults may happen in one run, of all kinds together.
    pub most_faults: u8,
    /// How often each fault may happen.
    pub faults: Faults,
}

/// How often each fault may happen in one run. Messages may be late, lost or overtaken without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Faults {
    /// A message is delivered, and is still on its way.
    pub duplicates: u8,
    /// A candidate is told that the outcome of its request is unknown, before its timeout.
    pub breaks: u8,
    /// A process stands still for as long as it likes.
    pub pauses: u8,
    /// A process is gone, and another begins in its place.
    pub crashes: u8,
    /// Another server takes the store's place, with all data or with none.
    pub store_losses: u8,
    /// A candidate is asked to hand over.
    pub resigns: u8,
    /// A clock's rate changes.
    pub rate_changes: u8,
}

/// The rates that clocks may have, and keep unless a fault changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rates {
    /// All clocks are right.
    Usual,
    /// The store's clock is as fast, and every candidate's as slow, as the drift bound allows: leases end as
    /// early, and claims as late, as they may.
    Worst,
    /// Each clock is at one end of the drift bound.
    Ends,
    /// Each clock is right, or at one end of the drift bound.
    All,
}

/// How long a lease lasts, in ticks of the fastest store clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ttl {
    /// 110 ms.
    TwoTicks,
    /// 165 ms.
    ThreeTicks,
    /// 220 ms.
    FourTicks,
}

/// How long before its lease a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopMargin {
    /// Nothing is left over: an effect must be where its check is.
    None,
    /// 55 ms: one tick of the fastest clock, and no effect takes longer than a tick.
    Tick,
}

/// What a clock counts in one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rate {
    Slowest,
    Usual,
    Fastest,
}

impl Bounds {
    /// The settings of every candidate.
    ///
    /// # Errors
    /// Never, unless the inequalities between settings change.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let ms = Duration::from_millis;
        // Three tries fit into what a claim lasts, and hardly more.
        let (renewal, timeout) = match (self.ttl, self.margin) {
            (Ttl::FourTicks, StopMargin::None) => (ms(70), ms(34)),
            (Ttl::FourTicks, StopMargin::Tick) => (ms(50), ms(22)),
            (Ttl::ThreeTicks, StopMargin::None) => (ms(50), ms(25)),
            (Ttl::ThreeTicks, StopMargin::Tick) => (ms(20), ms(16)),
            (Ttl::TwoTicks, StopMargin::None) => (ms(35), ms(16)),
            (Ttl::TwoTicks, StopMargin::Tick) => (ms(10), ms(6)),
        };
        Config::builder(self.ttl.length())
            .drift_ppm(DRIFT_PPM)
            .granularity(Duration::from_nanos(1))
            .stop_margin(self.margin.length())
            .renew_interval(renewal)
            .request_timeout(timeout)
            .retry(ms(2), ms(2))
            .drain_bound(ms(100))
            .build()
    }
}

impl Rates {
    /// Those of the store's clock.
    pub(super) const fn of_the_store(self) -> &'static [Rate] {
        match self {
            Self::Worst => &[Rate::Fastest],
            Self::Usual | Self::Ends | Self::All => self.choices(),
        }
    }

    /// Those of candidates' clocks.
    pub(super) const fn choices(self) -> &'static [Rate] {
        match self {
            Self::Usual => &[Rate::Usual],
            Self::Worst => &[Rate::Slowest],
            Self::Ends => &[Rate::Slowest, Rate::Fastest],
            Self::All => &[Rate::Slowest, Rate::Usual, Rate::Fastest],
        }
    }
}

impl Ttl {
    /// As the candidates are told.
    pub const fn length(self) -> Duration {
        match self {
            Self::TwoTicks => Duration::from_millis(110),
            Self::ThreeTicks => Duration::from_millis(165),
            Self::FourTicks => Duration::from_millis(220),
        }
    }
}

impl StopMargin {
    /// As the candidates are told.
    pub const fn length(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Tick => Duration::from_millis(55),
        }
    }
}

impl Rate {
    /// Nanoseconds that a clock counts in one tick.
    pub(super) const fn counts(self) -> u64 {
        match self {
            Self::Slowest => TICK / 10 * 9,
            Self::Usual => TICK,
            Self::Fastest => TICK / 10 * 11,
        }
    }
}

/// `duration / (1 + rho)`, the least true time that a clock takes to count it, in nanoseconds.
pub(super) fn on_fastest_clock(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos() * 10 / 11).unwrap_or(u64::MAX)
}
