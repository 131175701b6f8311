//! Clocks that are wrong: an offset, a rate, and steps.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::Instant;

/// True time, in nanoseconds since the run began. Nobody in the simulation can read it.
pub type True = u64;

const MILLION: u128 = 1_000_000;

/// The clock of one node, or of the store. Integer arithmetic: the same on every machine.
///
/// A clock of rate `r` ppm counts `(1_000_000 + r)` for each million of true time.
#[derive(Debug)]
pub struct Clock {
    base_true: AtomicU64,
    base_local: AtomicU64,
    /// Millionths counted in a true second, so a rate of zero is a million.
    pace: AtomicU64,
}

impl Clock {
    /// A clock that shows `offset` at the beginning and runs fast by `rate_ppm` (slow if negative).
    pub fn new(offset: u64, rate_ppm: i64) -> Self {
        Self {
            base_true: AtomicU64::new(0),
            base_local: AtomicU64::new(offset),
            pace: AtomicU64::new(1_000_000_u64.saturating_add_signed(rate_ppm)),
        }
    }

    /// What the clock shows, rounded down.
    pub fn read(&self, at: True) -> Instant {
        let counted = u128::from(at.saturating_sub(self.base_true())) * self.pace() / MILLION;
        Instant::from_nanos(self.base_local().saturating_add(narrow(counted)))
    }

    /// The first moment at which the clock shows at least that, if nobody steps it.
    pub fn when(&self, shows: Instant) -> True {
        let ahead = u128::from(shows.as_nanos().saturating_sub(self.base_local()));
        self.base_true().saturating_add(narrow((ahead * MILLION).div_ceil(self.pace())))
    }

    /// Puts the clock forward by that many nanoseconds of its own.
    pub fn step(&self, at: True, forward: u64) {
        let shows = self.read(at).as_nanos().saturating_add(forward);
        self.base_true.store(at, Ordering::Relaxed);
        self.base_local.store(shows, Ordering::Relaxed);
    }

    fn base_true(&self) -> u64 {
        self.base_true.load(Ordering::Relaxed)
    }

    fn base_local(&self) -> u64 {
        self.base_local.load(Ordering::Relaxed)
    }

    fn pace(&self) -> u128 {
        u128::from(self.pace.load(Ordering::Relaxed))
    }
}

fn narrow(nanos: u128) -> u64 {
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_asking_when_agree() {
        for rate in [-100_000, -1, 0, 1, 7_777, 100_000] {
            let clock = Clock::new(5_000, rate);
            for at in [0, 1, 999, 1_000_000, 123_456_789_012] {
                let shows = clock.read(at);
                let when = clock.when(shows);
                assert!(when <= at && clock.read(when) >= shows, "rate {rate} at {at}");
            }
        }
    }

    #[test]
    fn a_step_keeps_the_pace() {
        let clock = Clock::new(0, 100_000);
        clock.step(1_000_000, 500);
        assert_eq!(clock.read(1_000_000), Instant::from_nanos(1_100_500));
        assert_eq!(clock.read(2_000_000), Instant::from_nanos(2_200_500));
    }
}
