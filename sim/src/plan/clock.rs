//! Clocks that are wrong: an offset, a rate, steps, and times at which they are stopped.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::Instant;

/// True time, in nanoseconds since the run began. Nobody in the simulation can read it.
pub type SimTime = u64;

const MILLION: u64 = 1_000_000;

/// The clock of one node, or of the store. Integer arithmetic: the same on every machine.
///
/// A clock of rate `r` ppm counts `(1_000_000 + r)` for each million of true time.
#[derive(Debug)]
pub struct Clock {
    base_true: AtomicU64,
    base_local: AtomicU64,
    /// Millionths counted in a true second, so a rate of zero is a million; zero while it is stopped.
    pace: AtomicU64,
    /// The pace while it is running.
    running_pace: u64,
}

impl Clock {
    /// A clock that shows `offset` at the beginning and runs fast by `rate_ppm` (slow if negative).
    pub fn new(offset: u64, rate_ppm: i64) -> Self {
        let running_pace = MILLION.saturating_add_signed(rate_ppm).max(1);
        Self {
            base_true: AtomicU64::new(0),
            base_local: AtomicU64::new(offset),
            pace: AtomicU64::new(running_pace),
            running_pace,
        }
    }

    /// What the clock shows, rounded down.
    pub fn read(&self, at: SimTime) -> Instant {
        let gone_by = at.saturating_sub(get(&self.base_true));
        // `gone_by * pace / MILLION`, in two parts that do not overflow.
        let pace = get(&self.pace);
        let counted = gone_by / MILLION * pace + gone_by % MILLION * pace / MILLION;
        Instant::from_nanos(get(&self.base_local).saturating_add(counted))
    }

    /// The first moment at which the clock shows at least that, if nobody steps or stops it; never, if it
    /// is stopped before.
    pub fn when(&self, shows: Instant) -> SimTime {
        let ahead = shows.as_nanos().saturating_sub(get(&self.base_local));
        let pace = get(&self.pace);
        if ahead == 0 {
            return get(&self.base_true);
        }
        if pace == 0 {
            return SimTime::MAX;
        }
        // `ahead * MILLION / pace`, rounded up, in two parts.
        let whole = (ahead / pace).saturating_mul(MILLION);
        let rest = (ahead % pace * MILLION).div_ceil(pace);
        get(&self.base_true).saturating_add(whole).saturating_add(rest)
    }

    /// Puts the clock forward by that many nanoseconds of its own, or back if negative.
    pub fn step(&self, at: SimTime, by: i64) {
        let shows = self.read(at).as_nanos().saturating_add_signed(by);
        self.base_true.store(at, Ordering::Relaxed);
        self.base_local.store(shows, Ordering::Relaxed);
    }

    /// Whether it is running, and not stopped.
    pub fn is_running(&self) -> bool {
        get(&self.pace) > 0
    }

    /// Whether it has counted more or less than true time since it was last set.
    pub fn has_drifted(&self, at: SimTime) -> bool {
        let counted = self.read(at).as_nanos().saturating_sub(get(&self.base_local));
        counted != at.saturating_sub(get(&self.base_true))
    }

    /// Stops it.
    pub fn stop(&self, at: SimTime) {
        self.step(at, 0);
        self.pace.store(0, Ordering::Relaxed);
    }

    /// Lets it run again at its pace.
    pub fn resume(&self, at: SimTime) {
        self.step(at, 0);
        self.pace.store(self.running_pace, Ordering::Relaxed);
    }
}

impl Clone for Clock {
    fn clone(&self) -> Self {
        let copy = |of: &AtomicU64| AtomicU64::new(get(of));
        Self {
            base_true: copy(&self.base_true),
            base_local: copy(&self.base_local),
            pace: copy(&self.pace),
            running_pace: self.running_pace,
        }
    }
}

fn get(of: &AtomicU64) -> u64 {
    of.load(Ordering::Relaxed)
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
    fn a_clock_has_drifted_if_its_rate_is_off() {
        for (rate, drifts) in [(0, false), (100, true), (-100, true)] {
            let clock = Clock::new(5_000, rate);
            assert!(!clock.has_drifted(0));
            clock.step(1_000_000, 300);
            assert_eq!(clock.has_drifted(3_000_000), drifts, "rate {rate}");
        }
    }

    #[test]
    fn a_step_keeps_the_pace() {
        let clock = Clock::new(0, 100_000);
        clock.step(1_000_000, 500);
        assert_eq!(clock.read(1_000_000), Instant::from_nanos(1_100_500));
        assert_eq!(clock.read(2_000_000), Instant::from_nanos(2_200_500));
    }

    #[test]
    fn a_clock_that_is_put_back_or_stopped() {
        let clock = Clock::new(1_000, 0);
        clock.step(500, -700);
        assert_eq!(clock.read(500), Instant::from_nanos(800));
        clock.stop(600);
        assert_eq!(clock.read(9_000), Instant::from_nanos(900));
        assert_eq!(clock.when(Instant::from_nanos(901)), SimTime::MAX);
        clock.resume(10_000);
        assert_eq!(clock.read(10_001), Instant::from_nanos(901));
    }

    #[test]
    fn both_directions_are_exact_at_any_size() {
        for (rate, ahead) in
            [(-900_000, 1), (-1, u64::MAX / 3), (100_000, 7), (1, 86_400_000_000_000)]
        {
            let clock = Clock::new(0, rate);
            let pace = 1_000_000_u128.saturating_add_signed(rate.into());
            let exact = (u128::from(ahead) * 1_000_000).div_ceil(pace);
            let when = clock.when(Instant::from_nanos(ahead));
            assert_eq!(u128::from(when), exact.min(u64::MAX.into()), "rate {rate}");
        }
    }
}
