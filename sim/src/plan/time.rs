//! True time, and spans of it in whole nanoseconds.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The resolution of true time, and of every clock.
pub(crate) const NANOSECOND: Duration = Duration::from_nanos(1);

/// A point in true time, in nanoseconds since the run began. No simulated process can read true
/// time.
///
/// A clock's reading is an [`Instant`](tenure_core::Instant) of that clock, not a point in true
/// time. Arithmetic saturates at both ends, so a long span never leads to an earlier time.
/// `Display` prints the duration since the run began; in JSON a point is a number of nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

impl SimTime {
    /// The beginning of the run.
    pub const START: Self = Self(0);
    /// Later than every point that a run reaches.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point that many nanoseconds after the run began.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point that many milliseconds after the run began.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the run began, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

impl Sub<Duration> for SimTime {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}

impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A duration in whole nanoseconds, saturating at 584 years. Without 128-bit arithmetic, because
/// engines call it often.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos() as u64)
}

/// A duration in whole microseconds, rounded down.
pub(crate) const fn micros(duration: Duration) -> u64 {
    nanos(duration) / 1_000
}

/// A duration in whole milliseconds, rounded down.
pub(crate) const fn millis(duration: Duration) -> u64 {
    nanos(duration) / 1_000_000
}

/// `duration * times / by`, rounded down to a nanosecond.
pub(crate) fn scaled(duration: Duration, times: u64, by: u64) -> Duration {
    from_nanos(u128::from(nanos(duration)) * u128::from(times) / u128::from(by))
}

/// `duration * times / by`, rounded up to a nanosecond.
pub(crate) fn scaled_up(duration: Duration, times: u64, by: u64) -> Duration {
    from_nanos((u128::from(nanos(duration)) * u128::from(times)).div_ceil(u128::from(by)))
}

fn from_nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The point that many nanoseconds after the run began.
#[cfg(test)]
pub(crate) const fn ns(nanos: u64) -> SimTime {
    SimTime::from_nanos(nanos)
}

/// The point that many milliseconds after the run began.
#[cfg(test)]
pub(crate) const fn ms(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let second = Duration::from_secs(1);
        assert_eq!(SimTime::START - second, SimTime::START);
        assert_eq!(SimTime::NEVER + second, SimTime::NEVER);
        assert_eq!(SimTime::START + Duration::MAX, SimTime::NEVER);
        assert_eq!(SimTime::START.since(SimTime::NEVER), Duration::ZERO);
        assert_eq!((SimTime::from_millis(7) + second).since(SimTime::from_millis(7)), second);
    }

    #[test]
    fn display_has_a_unit_json_has_nanoseconds() {
        let point = SimTime::from_nanos(229_555_580);
        assert_eq!(
            (point.to_string(), format!("{point:?}")),
            ("229.55558ms".into(), "229.55558ms".into())
        );
        assert_eq!(serde_json::to_string(&point).ok().as_deref(), Some("229555580"));
        assert_eq!(serde_json::from_str::<SimTime>("229555580").ok(), Some(point));
    }

    #[test]
    fn a_duration_in_nanoseconds() {
        for (secs, part) in [(0, 0), (0, 999_999_999), (3, 1), (18_446_744_073, 709_551_615)] {
            let duration = Duration::new(secs, part);
            assert_eq!(u128::from(nanos(duration)), duration.as_nanos());
        }
        assert_eq!(nanos(Duration::new(18_446_744_073, 709_551_616)), u64::MAX);
        assert_eq!(nanos(Duration::MAX), u64::MAX);
    }

    #[test]
    fn ratios_are_rounded_down_or_up() {
        let ns = Duration::from_nanos;
        assert_eq!((scaled(ns(10), 2, 3), scaled_up(ns(10), 2, 3)), (ns(6), ns(7)));
        assert_eq!(scaled(Duration::MAX, 2, 1), ns(u64::MAX));
    }
}
