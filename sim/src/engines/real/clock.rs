//! The time of a run: true time is the boot clock of the machine, which all of its processes share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::plan::{NANOSECOND, SimTime};

/// The number of comparisons of two clocks, of which the quickest counts.
const READINGS: u32 = 64;

/// The clock of the machine, since the run began.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrueTime {
    began: u64,
}

impl TrueTime {
    /// True time of a run that begins now.
    pub(super) fn begin() -> Self {
        Self { began: boot_clock() }
    }

    /// True time of a run that began at that reading of the boot clock.
    pub(super) const fn since(began: u64) -> Self {
        Self { began }
    }

    /// The reading of the boot clock when the run began.
    pub(super) const fn began(self) -> u64 {
        self.began
    }

    pub(super) fn now(self) -> SimTime {
        self.of(boot_clock())
    }

    /// True time of a reading of the boot clock.
    pub(super) const fn of(self, boot: u64) -> SimTime {
        SimTime::from_nanos(boot.saturating_sub(self.began))
    }
}

/// A reading of the boot clock, in nanoseconds.
pub(super) fn boot_clock() -> u64 {
    nanos(ClockId::Boottime)
}

/// A reading of the wall clock, in microseconds since 1970.
pub(super) fn wall_clock() -> u64 {
    nanos(ClockId::Realtime) / 1_000
}

/// The wall clock of the machine, by which its servers tell the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClock {
    /// Its reading when the run began, in nanoseconds since 1970.
    at_start: u64,
}

impl WallClock {
    /// Compares the wall clock with true time.
    pub(super) fn compare(time: TrueTime) -> Self {
        let compare = |_| {
            let before = boot_clock();
            let wall = nanos(ClockId::Realtime);
            let gap = boot_clock().saturating_sub(before);
            (gap, wall.saturating_sub(before.saturating_sub(time.began)))
        };
        let at_start = (0..READINGS).map(compare).min().map_or(0, |(_, at_start)| at_start);
        Self { at_start }
    }

    /// True time of one of its readings, in microseconds since 1970.
    pub(super) fn true_time(self, unix_micros: u64) -> SimTime {
        SimTime::from_nanos(unix_micros.saturating_mul(1_000).saturating_sub(self.at_start))
    }

    /// Its reading at a moment of the run, in microseconds since 1970.
    pub(super) const fn reading_at(self, at: SimTime) -> u64 {
        (self.at_start + at.as_nanos()) / 1_000
    }

    /// By how much it has been set since then, beyond what a comparison can be wrong by.
    pub(super) fn moved(self, time: TrueTime) -> Option<Duration> {
        let moved = Duration::from_nanos(Self::compare(time).at_start.abs_diff(self.at_start));
        (moved > 1_000_000 * NANOSECOND).then_some(moved)
    }
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock shows a time before its beginning.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
