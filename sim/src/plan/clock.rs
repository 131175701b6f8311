//! Clocks with errors: an offset, a rate, steps, and times at which they are stopped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::Instant;

use super::{SimTime, scaled};

/// Parts per million, in which the rates of clocks are measured.
pub(crate) const PPM: u64 = 1_000_000;

/// The count of a clock that is off by that rate in a million of true time.
pub(crate) fn pace(rate_ppm: i64) -> u64 {
    PPM.saturating_add_signed(rate_ppm).max(1)
}

/// The true time in which a clock that is off by `rate_ppm` counts that duration, rounded down.
pub(crate) fn true_time(counted: Duration, rate_ppm: i64) -> Duration {
    scaled(counted, PPM, pace(rate_ppm))
}

/// The clock of one node, or of the store. Integer arithmetic: the same on every machine.
///
/// A clock of rate `r` ppm counts `(1_000_000 + r)` for each million of true time.
#[derive(Debug)]
pub struct Clock {
    base_true: AtomicU64,
    base_local: AtomicU64,
    /// The time counted beyond that, in millionths of a nanosecond. Without it, a clock that is
    /// stopped or stepped would count less than its pace.
    base_rest: AtomicU64,
    /// Millionths counted in a true second: a million for a rate of zero, and zero while the clock
    /// is stopped.
    pace: AtomicU64,
    /// The pace of the clock when it is not stopped.
    running_pace: u64,
}

impl Clock {
    /// A clock that shows `offset` at the beginning and runs fast by `rate_ppm` (slow if negative).
    pub fn new(offset: Duration, rate_ppm: i64) -> Self {
        let running_pace = pace(rate_ppm);
        Self {
            base_true: AtomicU64::new(SimTime::START.as_nanos()),
            base_local: AtomicU64::new((Instant::ORIGIN + offset).as_nanos()),
            base_rest: AtomicU64::new(0),
            pace: AtomicU64::new(running_pace),
            running_pace,
        }
    }

    /// The clock's reading, rounded down.
    pub fn read(&self, at: SimTime) -> Instant {
        self.counts(at).0
    }

    /// The clock's reading, and what it has counted beyond that.
    fn counts(&self, at: SimTime) -> (Instant, u64) {
        let elapsed = at.as_nanos().saturating_sub(get(&self.base_true));
        // `elapsed * pace / PPM`, in two parts that do not overflow.
        let pace = get(&self.pace);
        let parts = elapsed % PPM * pace + get(&self.base_rest);
        let counted = elapsed / PPM * pace + parts / PPM;
        let reading = Instant::from_nanos(get(&self.base_local).saturating_add(counted));
        (reading, parts % PPM)
    }

    /// The first moment at which the clock reads at least `shows`, unless the clock is stepped or
    /// stopped before. [`SimTime::NEVER`] for a stopped clock.
    pub fn when(&self, shows: Instant) -> SimTime {
        let ahead = shows.as_nanos().saturating_sub(get(&self.base_local));
        let pace = get(&self.pace);
        if ahead == 0 {
            return SimTime::from_nanos(get(&self.base_true));
        }
        if pace == 0 {
            return SimTime::NEVER;
        }
        // `(ahead * PPM - counted) / pace`, rounded up, in two parts.
        let whole = (ahead / pace).saturating_mul(PPM);
        let (parts, counted) = (ahead % pace * PPM, get(&self.base_rest));
        let begins = get(&self.base_true).saturating_add(whole);
        SimTime::from_nanos(match parts.checked_sub(counted) {
            Some(parts) => begins.saturating_add(parts.div_ceil(pace)),
            None => begins - (counted - parts) / pace,
        })
    }

    /// Moves the clock forward by that many milliseconds of its own, or back if negative.
    pub fn step(&self, at: SimTime, by_ms: i64) {
        let ((shows, rest), by) = (self.counts(at), Duration::from_millis(by_ms.unsigned_abs()));
        self.begins(at, if by_ms < 0 { shows - by } else { shows + by }, rest);
    }

    /// Sets the clock: it counts from that reading on.
    pub fn set(&self, at: SimTime, shows: Instant) {
        self.begins(at, shows, 0);
    }

    fn begins(&self, at: SimTime, shows: Instant, rest: u64) {
        self.base_true.store(at.as_nanos(), Ordering::Relaxed);
        self.base_local.store(shows.as_nanos(), Ordering::Relaxed);
        self.base_rest.store(rest, Ordering::Relaxed);
    }

    /// Counts at that pace from now on.
    fn goes_on(&self, at: SimTime, pace: u64) {
        let (shows, rest) = self.counts(at);
        self.begins(at, shows, rest);
        self.pace.store(pace, Ordering::Relaxed);
    }

    /// True if the clock is running, and not stopped.
    pub fn is_running(&self) -> bool {
        get(&self.pace) > 0
    }

    /// True if it has counted more or less than true time since it was last set.
    pub fn has_drifted(&self, at: SimTime) -> bool {
        let counted = self.read(at).as_nanos().saturating_sub(get(&self.base_local));
        counted != at.as_nanos().saturating_sub(get(&self.base_true))
    }

    /// Stops the clock.
    pub fn stop(&self, at: SimTime) {
        self.goes_on(at, 0);
    }

    /// Starts the clock again at its pace.
    pub fn resume(&self, at: SimTime) {
        self.goes_on(at, self.running_pace);
    }
}

impl Clone for Clock {
    fn clone(&self) -> Self {
        let copy = |of: &AtomicU64| AtomicU64::new(get(of));
        Self {
            base_true: copy(&self.base_true),
            base_local: copy(&self.base_local),
            base_rest: copy(&self.base_rest),
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

    fn clock(offset: u64, rate_ppm: i64) -> Clock {
        Clock::new(Duration::from_nanos(offset), rate_ppm)
    }

    fn at(nanos: u64) -> SimTime {
        SimTime::from_nanos(nanos)
    }

    fn shows(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn reading_and_asking_when_agree() {
        for rate in [-100_000, -1, 0, 1, 7_777, 100_000] {
            let clock = clock(5_000, rate);
            for at in [0, 1, 999, 1_000_000, 123_456_789_012].map(at) {
                let shows = clock.read(at);
                let when = clock.when(shows);
                assert!(when <= at && clock.read(when) >= shows, "rate {rate} at {at}");
            }
        }
    }

    #[test]
    fn a_wrong_rate_is_drift() {
        for (rate, drifts) in [(0, false), (100, true), (-100, true)] {
            let clock = clock(5_000, rate);
            assert!(!clock.has_drifted(SimTime::START));
            clock.step(at(1_000_000), 300);
            assert_eq!(clock.has_drifted(at(3_000_000)), drifts, "rate {rate}");
        }
    }

    #[test]
    fn a_step_keeps_the_pace() {
        let clock = clock(0, 100_000);
        clock.step(at(1_000_000), 5);
        assert_eq!(clock.read(at(1_000_000)), shows(6_100_000));
        assert_eq!(clock.read(at(2_000_000)), shows(7_200_000));
    }

    /// (Model seed 462644: after each stop the clock was up to a nanosecond slower than its pace, so
    /// that a leader led for a nanosecond too long.)
    #[test]
    fn stops_and_steps_lose_nothing() {
        let (clock, steady) = (clock(0, -10_000), clock(0, -10_000));
        for nanos in (0..1_000).map(|step| 333 * step + 7) {
            clock.stop(at(nanos));
            clock.resume(at(nanos));
            clock.step(at(nanos), 0);
            assert_eq!(clock.read(at(nanos)), steady.read(at(nanos)), "{nanos}");
            let next = clock.read(at(nanos)) + Duration::from_nanos(1);
            let when = clock.when(next);
            assert_eq!((clock.read(when), when), (next, steady.when(next)), "{nanos}");
        }
    }

    #[test]
    fn a_step_back_ends_at_the_origin() {
        let clock = clock(7_000_000, 0);
        clock.step(SimTime::START, -3);
        assert_eq!(clock.read(SimTime::START), shows(4_000_000));
        clock.step(SimTime::START, -5);
        assert_eq!(clock.read(SimTime::START), Instant::ORIGIN);
    }

    #[test]
    fn a_clock_that_is_put_back_or_stopped() {
        let clock = clock(1_000, 0);
        clock.set(at(500), shows(800));
        assert_eq!(clock.read(at(500)), shows(800));
        clock.stop(at(600));
        assert_eq!(clock.read(at(9_000)), shows(900));
        assert_eq!(clock.when(shows(901)), SimTime::NEVER);
        clock.resume(at(10_000));
        assert_eq!(clock.read(at(10_001)), shows(901));
    }

    #[test]
    fn both_directions_are_exact_at_any_size() {
        for (rate, ahead) in
            [(-900_000, 1), (-1, u64::MAX / 3), (100_000, 7), (1, 86_400_000_000_000)]
        {
            let clock = clock(0, rate);
            let pace = 1_000_000_u128.saturating_add_signed(rate.into());
            let exact = (u128::from(ahead) * 1_000_000).div_ceil(pace);
            let when = clock.when(shows(ahead)).as_nanos();
            assert_eq!(u128::from(when), exact.min(u64::MAX.into()), "rate {rate}");
        }
    }
}
