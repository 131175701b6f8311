//! A point on one clock.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::num::NonZeroU64;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time on *one* clock, in nanoseconds since an origin that only that clock knows.
///
/// Two instants may be compared only if they were read from the same clock: the candidate's own,
/// or, in [`contract`](crate::contract), the store's. Arithmetic saturates at both ends, so that no
/// duration, however large, wraps around to an early deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ORIGIN: Self = Self(0);
    /// Later than every deadline that is ever reached.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant that many nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:?}", Duration::from_nanos(self.0))
    }
}

/// A length of time, in half the room of a [`Duration`]: each candidate of a hundred thousand keeps
/// a dozen. Saturates at 584 years.
///
/// One nanosecond more than it says, so that an `Option` takes no more room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(NonZeroU64);

impl Span {
    pub(crate) const ZERO: Self = Self(NonZeroU64::MIN);

    pub(crate) const fn of(duration: Duration) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos(duration)))
    }

    pub(crate) const fn get(self) -> Duration {
        Duration::from_nanos(self.0.get() - 1)
    }
}

/// Hashes the duration: a reader of a state through its hash (the exhaustive search) can tell it
/// from a time.
impl Hash for Span {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A duration in whole nanoseconds, saturating at 584 years.
#[allow(clippy::cast_possible_truncation, reason = "the branch above the cast bounds the value")]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}
