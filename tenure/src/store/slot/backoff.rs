//! The pauses between failed attempts.

use std::time::Duration;

use crate::Instant;

/// The longest pause after a first failure: a store that was away for a moment is found again at
/// once.
pub(super) const PAUSE_LEAST: Duration = Duration::from_millis(100);
/// The longest pause before an attempt that elections wait for.
pub(super) const PAUSE_MOST: Duration = Duration::from_secs(5);
/// The longest pause before an attempt that costs no election anything but a poll.
#[cfg(feature = "postgres")]
pub(super) const PAUSE_ALONE_MOST: Duration = Duration::from_secs(30);

/// Pauses between attempts, each drawn evenly between nothing and a bound that doubles with each
/// failure (full jitter), so that the processes that lost the same server do not return to it
/// together.
#[derive(Debug)]
pub(super) struct Backoff {
    most: Duration,
    failures: u32,
    last: Option<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    ended: Instant,
    /// The part of the bound that the pause takes, in parts of 2^32.
    part: u32,
}

impl Backoff {
    /// No attempt yet. No pause is longer than `most`.
    pub(super) fn new(most: Duration) -> Self {
        Self { most, failures: 0, last: None }
    }

    /// An attempt has ended. It counts as failed until [`succeeded`](Self::succeeded). Only 32 bits
    /// of `random` are used.
    pub(super) fn attempted(&mut self, now: Instant, random: u128) {
        self.failures = self.failures.saturating_add(1);
        let part = u32::try_from(random & u128::from(u32::MAX)).unwrap_or(u32::MAX);
        self.last = Some(Attempt { ended: now, part });
    }

    /// The last attempt was a success, as has turned out. At most the shortest pause is left of its
    /// own.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// True if the last attempt was no success, as far as is known.
    pub(super) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Before that, no attempt may begin.
    pub(super) fn not_before(&self) -> Option<Instant> {
        let Attempt { ended, part } = self.last.as_ref()?;
        let doublings = self.failures.saturating_sub(1).min(16);
        let bound = PAUSE_LEAST.saturating_mul(1 << doublings).min(self.most);
        let nanos = (bound.as_nanos() * u128::from(*part)) >> 32;
        Some(*ended + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ORIGIN;
    const LONGEST: u128 = u32::MAX as u128;

    fn pause(backoff: &Backoff) -> Duration {
        // Rounded up: the longest pause is one part in 2^32 short.
        let nanos = backoff.not_before().unwrap().since(NOW).as_nanos();
        Duration::from_millis(u64::try_from(nanos.div_ceil(1_000_000)).unwrap())
    }

    #[test]
    fn the_bound_doubles_up_to_the_longest_pause() {
        let mut backoff = Backoff::new(Duration::from_millis(2_500));
        assert_eq!(backoff.not_before(), None);
        for expected in [100, 200, 400, 800, 1_600, 2_500, 2_500] {
            backoff.attempted(NOW, LONGEST);
            assert_eq!(pause(&backoff), Duration::from_millis(expected));
        }
        for _ in 0..100 {
            backoff.attempted(NOW, LONGEST);
        }
        assert_eq!(pause(&backoff), Duration::from_millis(2_500));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn an_attempt_that_costs_no_election_anything_may_wait_longer() {
        let mut patient = Backoff::new(PAUSE_ALONE_MOST);
        for _ in 0..100 {
            patient.attempted(NOW, LONGEST);
        }
        assert_eq!(pause(&patient), PAUSE_ALONE_MOST);
    }

    #[test]
    fn pauses_are_spread_evenly_from_nothing() {
        let mut backoff = Backoff::new(PAUSE_MOST);
        for (random, expected) in [(0, 0), (1 << 30, 25), (1 << 31, 50), (3 << 30, 75)] {
            backoff.attempted(NOW, random | (7 << 32));
            assert_eq!(pause(&backoff), Duration::from_millis(expected));
            backoff.succeeded();
        }
    }

    #[test]
    fn a_success_leaves_the_shortest_pause() {
        let mut backoff = Backoff::new(PAUSE_MOST);
        for _ in 0..10 {
            backoff.attempted(NOW, LONGEST);
        }
        backoff.succeeded();
        assert_eq!(pause(&backoff), PAUSE_LEAST);
        backoff.attempted(NOW, LONGEST);
        assert_eq!(pause(&backoff), PAUSE_LEAST, "the first failure after it");
    }
}
