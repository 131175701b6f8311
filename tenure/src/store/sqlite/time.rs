//! The file's time: microseconds since 1970, counted by a clock that can't be set.
//!
//! The wall clock may be set forward, which would end leases early, and back, which would prolong them. So the
//! first process of a boot that changes something reads the wall clock once, and the file keeps how far that was
//! ahead of `CLOCK_BOOTTIME`; from then on, all processes count by that. Candidates bound their claims by the
//! same clock.
//!
//! Another boot, or another time namespace, has another `CLOCK_BOOTTIME`; the offset in the file does not apply
//! there, and is set anew. The file's time may jump then. So a jump always counts as a loss of history, also when
//! a renewal sets the offset: a candidate that is granted a lease afterwards waits until no older claim can be
//! left.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::error::SqliteError;
use super::record::Past;
use crate::Instant;

/// Readings of the host's clocks, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// `CLOCK_BOOTTIME`, of this process's time namespace.
    pub(super) boot: i64,
    /// Since 1970.
    pub(super) wall: i64,
}

impl Clocks {
    pub(super) fn read() -> Self {
        let boot = clock_gettime(ClockId::Boottime);
        // A clock before 1970 is as wrong as one at 1970.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            boot: boot.tv_sec.saturating_mul(1_000_000).saturating_add(boot.tv_nsec / 1_000),
            wall: i64::try_from(wall.as_micros()).unwrap_or(i64::MAX),
        }
    }
}

/// The file's time at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileTime {
    pub(super) now: Instant,
    /// How far it is ahead of `CLOCK_BOOTTIME`, in microseconds.
    pub(super) ahead: i64,
}

impl FileTime {
    /// The time by the offset in the history, if one of us wrote it; by a new offset otherwise. A new offset never
    /// leads to a time before the latest one in the file: otherwise an old lease might last for as long as a clock
    /// was set back.
    pub(super) fn of(
        past: Option<&Past>,
        clocks: Clocks,
        last_known: impl FnOnce() -> Result<i64, SqliteError>,
    ) -> Result<Self, SqliteError> {
        let ahead = match past {
            Some(past) if past.is_ours => past.ahead,
            Some(_) | None => clocks.wall.max(last_known()?).saturating_sub(clocks.boot),
        };
        let now = u64::try_from(clocks.boot.saturating_add(ahead)).unwrap_or_default();
        Ok(Self { now: Instant::from_nanos(now.saturating_mul(1_000)), ahead })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: i64 = 1_000_000;
    const AT: Clocks = Clocks { boot: 60 * SECOND, wall: 1_700_000_000 * SECOND };

    fn past(is_ours: bool, ahead: i64) -> Past {
        let (known_since, longest_ttl) = (Instant::ORIGIN, Duration::ZERO);
        Past { is_ours, known_since, longest_ttl, ahead, purged: None }
    }

    fn of(past: Option<&Past>, clocks: Clocks, last_known: i64) -> FileTime {
        FileTime::of(past, clocks, || Ok(last_known)).unwrap()
    }

    #[test]
    fn the_wall_clock_is_read_once() {
        let first = of(None, AT, 0);
        assert_eq!(first.now, Instant::ORIGIN + Duration::from_secs(1_700_000_000));
        for wall in [0, AT.wall - 3_600 * SECOND, AT.wall + 3_600 * SECOND, i64::MAX] {
            let later = Clocks { boot: AT.boot + SECOND, wall };
            let then = of(Some(&past(true, first.ahead)), later, i64::MAX);
            assert_eq!(then, FileTime { now: first.now + Duration::from_secs(1), ..first });
        }
    }

    #[test]
    fn a_new_offset_never_goes_back() {
        for last_known in [AT.wall - SECOND, AT.wall + SECOND] {
            let anew = of(Some(&past(false, 5)), AT, last_known);
            let micros = u64::try_from(AT.wall.max(last_known)).unwrap();
            assert_eq!(anew.now, Instant::ORIGIN + Duration::from_micros(micros));
            // A process that uses this offset sees the same time.
            assert_eq!(of(Some(&past(true, anew.ahead)), AT, 0), anew);
        }
    }

    #[test]
    fn a_wall_clock_before_the_boot_is_accepted() {
        let clocks = Clocks { boot: 60 * SECOND, wall: 0 };
        assert_eq!(of(None, clocks, 0).now, Instant::ORIGIN);
        assert_eq!(of(Some(&past(true, i64::MIN)), clocks, 0).now, Instant::ORIGIN);
    }
}
