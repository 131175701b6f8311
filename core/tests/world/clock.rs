//! Clocks that drift, in exact arithmetic: a rounding error of the test must not hide one of the
//! core.

use tenure_core::Instant;

const MILLION: u128 = 1_000_000;

/// A clock whose rate may change. A store's may be set; a candidate's steps forward while its
/// machine is suspended.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// True time of the last change of rate.
    since: u64,
    /// Its reading then, in millionths of a nanosecond.
    shown: u128,
    /// Millionths of a nanosecond that it counts for each nanosecond of true time.
    rate: u128,
}

impl Clock {
    pub(crate) fn new(shown: u64, off_ppm: i64) -> Self {
        Self { since: 0, shown: u128::from(shown) * MILLION, rate: rate(off_ppm) }
    }

    pub(crate) fn set_rate(&mut self, now: u64, off_ppm: i64) {
        self.shown = self.fine(now);
        self.since = now;
        self.rate = rate(off_ppm);
    }

    pub(crate) fn set(&mut self, now: u64, shown: u64) {
        (self.since, self.shown) = (now, u128::from(shown) * MILLION);
    }

    /// The exact reading, in millionths of a nanosecond.
    pub(crate) fn fine(&self, now: u64) -> u128 {
        self.shown + u128::from(now - self.since) * self.rate
    }

    pub(crate) fn read(&self, now: u64) -> Instant {
        Instant::from_nanos(narrow(self.fine(now) / MILLION))
    }

    /// The first nanosecond of true time, not before `now`, at which this clock shows `reading`.
    pub(crate) fn when(&self, now: u64, reading: Instant) -> u64 {
        let wanted = u128::from(reading.as_nanos()) * MILLION;
        now + narrow(wanted.saturating_sub(self.fine(now)).div_ceil(self.rate))
    }
}

fn rate(off_ppm: i64) -> u128 {
    u128::try_from(1_000_000 + off_ppm).expect("a rate is positive")
}

pub(crate) fn narrow(value: u128) -> u64 {
    u64::try_from(value).expect("centuries fit")
}
