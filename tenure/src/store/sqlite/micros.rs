//! Times as the file keeps them: whole microseconds. What must be waited for is rounded up, what
//! was waited is rounded down.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{Acquire, Asked, Request, Reservation, WatchedStamp};

use crate::Instant;

/// The most that a column may hold: as many microseconds as an instant can count.
pub(super) const MOST: u64 = u64::MAX / 1_000;

/// The wall clock. New tokens are at least its microseconds; no decision depends on it.
pub(super) fn now() -> Instant {
    // A clock before 1970 is as wrong as one at 1970.
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::ORIGIN + down(wall)
}

/// The same request in whole microseconds.
pub(super) fn whole(request: Request) -> Request {
    let stamp = |watch: WatchedStamp| WatchedStamp { time: down(watch.time), ..watch };
    match request {
        Request::Acquire(asks) => Request::Acquire(Acquire {
            stamp: asks.stamp.map(stamp),
            ttl: up(asks.ttl),
            quarantine: up(asks.quarantine),
            ..asks
        }),
        Request::Look { seen, quarantine } => Request::Look { seen, quarantine: up(quarantine) },
        Request::Renew { holder, token, number, stamp: watch } => {
            Request::Renew { holder, token, number, stamp: watch.map(stamp) }
        }
        Request::Release { holder, token, reservation } => {
            let up = |kept: Reservation| Reservation { reserve: up(kept.reserve), ..kept };
            Request::Release { holder, token, reservation: reservation.map(up) }
        }
        Request::Ask { token, asked, seen, quarantine } => {
            let asked = Asked { defer: up(asked.defer), ..asked };
            Request::Ask { token, asked, seen, quarantine: up(quarantine) }
        }
        Request::Want { .. } | Request::Purge { .. } => request,
    }
}

fn up(duration: Duration) -> Duration {
    micros(duration.as_nanos().div_ceil(1_000))
}

fn down(duration: Duration) -> Duration {
    micros(duration.as_micros())
}

fn micros(number: u128) -> Duration {
    Duration::from_micros(u64::try_from(number).unwrap_or(u64::MAX).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_round_up_and_watches_down() {
        let nanos = Duration::from_nanos;
        assert_eq!((up(nanos(1_001)), down(nanos(1_999))), (nanos(2_000), nanos(1_000)));
        assert_eq!(up(Duration::MAX), Duration::from_micros(MOST));
    }
}
