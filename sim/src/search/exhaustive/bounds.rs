//! The bounds of a search: the settings of the candidates, and the number of faults and ticks.
//!
//! Why these settings? All events happen at whole ticks of 50 ms of true time. In one tick a clock
//! counts 45, 50 or 55 ms: the drift bound is 10 %, and both of its ends are whole nanoseconds. A
//! TTL of 220 ms is then four ticks of the fastest clock that watches a lease, and the 180 ms of a
//! claim are four ticks of the slowest leader's clock. With no stop margin, a claim ends one
//! nanosecond before the tick at which its lease may be taken, so the smallest error in the formula
//! for the claim's end violates a property. A TTL of two ticks halves all of this: in the same
//! number of ticks, a search sees twice as many leases taken.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{Config, ConfigError};

/// The step of true time, in nanoseconds.
pub const TICK: u64 = 50_000_000;
const DRIFT_PPM: u32 = 100_000;

/// The bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The number of candidates: 1 to 3.
    pub candidates: usize,
    /// The number of ticks of true time; `None` for runs of any length.
    pub horizon: Option<u8>,
    /// The candidates' TTL.
    pub ttl: Ttl,
    /// The candidates' stop margin.
    pub margin: StopMargin,
    /// The rates that clocks may have.
    pub rates: Rates,
    /// The most messages of one candidate in flight at once; if there are more, any one of them is
    /// lost.
    pub in_flight: u8,
    /// The most faults in one run, of all kinds together.
    pub most_faults: u8,
    /// The most faults of each kind in one run.
    pub faults: Faults,
}

/// The most faults of each kind in one run. Messages may be late, lost or reordered without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Faults {
    /// A message is delivered, and a duplicate of it stays in flight.
    pub duplicates: u8,
    /// A connection breaks: a candidate learns before its timeout that the outcome of its request
    /// is unknown.
    pub breaks: u8,
    /// A process is paused for any length of time.
    pub pauses: u8,
    /// A process crashes, and another starts in its place.
    pub crashes: u8,
    /// Another server takes the store's place, with all data or with none.
    pub store_losses: u8,
    /// A candidate is asked to resign.
    pub resigns: u8,
    /// The rate of a candidate's clock changes.
    pub rate_changes: u8,
    /// An operator wishes for another leader, or withdraws the wish.
    pub wishes: u8,
}

/// The rates that candidates' clocks may have, and keep unless a fault changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rates {
    /// All clocks are exact.
    // Reports have this name since their first version.
    #[serde(rename = "usual")]
    Exact,
    /// One candidate's clock is as slow, and those of the others as fast, as the drift bound
    /// allows: its claims end as late, and its leases are taken as early, as possible.
    Worst,
    /// Each clock is at one end of the drift bound.
    Ends,
    /// Each clock is exact, or at one end of the drift bound.
    All,
}

/// The TTL, in ticks of the fastest clock.
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

/// The time from the end of a claim until its lease may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopMargin {
    /// Zero: a write must arrive at the tick of its check.
    None,
    /// 55 ms: one tick of the fastest clock. A write arrives within a tick of its check.
    Tick,
}

/// The rate of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rate {
    Slowest,
    Exact,
    Fastest,
}

impl Bounds {
    /// The settings of every candidate.
    ///
    /// # Errors
    /// None: the settings are valid.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let ms = Duration::from_millis;
        let (renewal, timeout) = self.renewals();
        Config::builder(self.ttl.length())
            .drift_ppm(DRIFT_PPM)
            .granularity(Duration::from_nanos(1))
            .stop_margin(self.margin.length())
            .renew_interval(renewal)
            .request_timeout(timeout)
            .least_retry(ms(2))
            .largest_retry(ms(2))
            .drain_bound(ms(100))
            .build()
    }

    /// The renew interval and the request timeout: a claim lasts for three attempts to renew it,
    /// and hardly longer.
    pub(super) const fn renewals(&self) -> (Duration, Duration) {
        let (renewal, timeout) = match (self.ttl, self.margin) {
            (Ttl::FourTicks, StopMargin::None) => (70, 34),
            (Ttl::FourTicks, StopMargin::Tick) => (50, 22),
            (Ttl::ThreeTicks, StopMargin::None) => (50, 25),
            (Ttl::ThreeTicks, StopMargin::Tick) => (20, 16),
            (Ttl::TwoTicks, StopMargin::None) => (35, 16),
            (Ttl::TwoTicks, StopMargin::Tick) => (10, 6),
        };
        (Duration::from_millis(renewal), Duration::from_millis(timeout))
    }

    /// The most faults of each kind, if there may be any.
    pub(super) fn allowed(&self) -> Faults {
        if self.most_faults == 0 { Faults::default() } else { self.faults }
    }

    /// The least true time in which a candidate watches a lease, in nanoseconds. That of a past is
    /// the same: the quarantine is as long as the TTL.
    pub(super) fn shortest_watch(&self) -> u64 {
        on_fastest_clock(self.ttl.length())
    }
}

impl Rates {
    /// The rates that a clock may have.
    pub(super) const fn choices(self) -> &'static [Rate] {
        match self {
            Self::Exact => &[Rate::Exact],
            Self::Worst | Self::Ends => &[Rate::Slowest, Rate::Fastest],
            Self::All => &[Rate::Slowest, Rate::Exact, Rate::Fastest],
        }
    }

    /// The rates of so many candidates' clocks at the beginning, once for each order of candidates.
    pub(super) fn beginnings(self, candidates: usize) -> Vec<Vec<Rate>> {
        let mut all = vec![Vec::new()];
        for _ in 0..candidates {
            all = all.iter().flat_map(|rates| self.with_another(rates)).collect();
        }
        all
    }

    fn with_another(self, rates: &[Rate]) -> Vec<Vec<Rate>> {
        let is_next = |rate: &&Rate| match (self, rates.last()) {
            (Self::Worst, None) => **rate == Rate::Slowest,
            (Self::Worst, Some(_)) => **rate == Rate::Fastest,
            (Self::Exact | Self::Ends | Self::All, least) => Some(*rate) >= least,
        };
        let choices = self.choices().iter().filter(is_next);
        choices.map(|rate| [rates, &[*rate]].concat()).collect()
    }
}

impl Ttl {
    /// The TTL in the candidates' settings.
    pub const fn length(self) -> Duration {
        match self {
            Self::TwoTicks => Duration::from_millis(110),
            Self::ThreeTicks => Duration::from_millis(165),
            Self::FourTicks => Duration::from_millis(220),
        }
    }
}

impl StopMargin {
    /// The stop margin in the candidates' settings.
    pub const fn length(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Tick => Duration::from_millis(55),
        }
    }
}

impl Rate {
    /// The nanoseconds that a clock counts in one tick.
    pub(super) const fn per_tick(self) -> u64 {
        match self {
            Self::Slowest => TICK / 10 * 9,
            Self::Exact => TICK,
            Self::Fastest => TICK / 10 * 11,
        }
    }
}

/// `duration / (1 + rho)`, the least true time that a clock takes to count it, in nanoseconds.
pub(super) fn on_fastest_clock(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos() * 10 / 11).unwrap_or(u64::MAX)
}
