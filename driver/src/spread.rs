//! Spreads the renewals of many elections over their interval.
//!
//! Elections that were granted together would otherwise renew together for ever. Each election has
//! a time of its own within the interval, and renews at the last such time before the renewal is
//! due. So the renewals are spread within one interval of whatever has bunched them: a start, an
//! outage, a slow store.
//!
//! The times of a process begin at a random one, its phase. Otherwise the first elections of all
//! processes that share a clock (those of a host), or that were started at the same moment, would
//! have the same time. A phase spreads them as well as a random time for each renewal would, and
//! the renewals stay one interval apart.

use std::time::Duration;

use tenure_core::Instant;

use crate::alphabet::ElectionId;

/// The fraction of a turn that separates one election from the next: multiples of the golden ratio
/// are spread evenly, however many there are (H. Weyl, "Ueber die Gleichverteilung von Zahlen mod.
/// Eins", 1916).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The origin of a process's times, as a part of the interval: 2^64 is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase(pub(crate) u64);

/// The time of the next renewal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// The machine's time.
    #[default]
    WhenDue,
    /// A little before that.
    At(Instant),
    /// The time of admission.
    Now,
}

impl Renewal {
    /// The renewal of an election that is due at that time at the latest. Elections whose times are
    /// less than `together` apart share one.
    pub(crate) fn before(
        due: Instant,
        phase: Phase,
        id: ElectionId,
        interval: Duration,
        together: Duration,
    ) -> Self {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        let own = scaled(id.wrapping_mul(GOLDEN), interval);
        let together = u64::try_from(together.as_nanos()).unwrap_or(interval).max(1);
        let own = (own - own % together + scaled(phase.0, interval)) % interval;
        let due = due.as_nanos();
        let since = due.wrapping_sub(own) % interval;
        if due < own { Self::WhenDue } else { Self::At(Instant::from_nanos(due - since)) }
    }

    pub(crate) fn at(&self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(*at),
            Self::WhenDue | Self::Now => None,
        }
    }

    pub(crate) fn time_is(&mut self, now: Instant) {
        if self.at().is_some_and(|at| now >= at) {
            *self = Self::Now;
        }
    }
}

/// A fraction of the interval, where 2^64 is the whole.
fn scaled(fraction: u64, interval: u64) -> u64 {
    let product = u128::from(fraction) * u128::from(interval);
    u64::try_from(product >> 64).unwrap_or(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(5);

    fn next_of(due: Instant, phase: Phase, id: ElectionId) -> Instant {
        Renewal::before(due, phase, id, INTERVAL, Duration::ZERO).at().unwrap()
    }

    fn next(due: Instant, id: ElectionId) -> Instant {
        next_of(due, Phase::default(), id)
    }

    #[test]
    fn renewals_come_at_most_an_interval_early() {
        let due = Instant::from_nanos(1_234_567_891_234);
        for id in 0..1_000_u64 {
            for phase in [0, 1, 1 << 63, u64::MAX, id.wrapping_mul(GOLDEN << 1)].map(Phase) {
                let at = next_of(due, phase, id);
                assert!(at <= due && due.since(at) < INTERVAL, "{at:?}");
                assert_eq!(next_of(at, phase, id), at);
                assert_eq!(next_of(at + INTERVAL, phase, id), at + INTERVAL);
            }
        }
    }

    /// The first elections of many processes, whose clocks show the same.
    #[test]
    fn processes_are_spread_by_their_phases() {
        let due = Instant::from_nanos(1_234_567_891_234);
        let before = |part: u64| due.since(next_of(due, Phase(part << 60), 0));
        let mut apart: Vec<_> = (0..16).map(before).collect();
        apart.sort();
        for pair in apart.windows(2) {
            let apart = pair[1].saturating_sub(pair[0]);
            assert!(apart.abs_diff(INTERVAL / 16) < Duration::from_micros(1), "{apart:?}");
        }
    }

    #[test]
    fn bunched_renewals_are_spread_within_an_interval() {
        let due = Instant::from_nanos(1_234_567_891_234);
        for elections in [10, 1_000, 10_000] {
            let mut tenths = [0_u64; 10];
            for id in 0..elections {
                let before = due.since(next(due, id));
                tenths[usize::try_from(before.as_millis() / 500).unwrap()] += 1;
            }
            let most = *tenths.iter().max().unwrap();
            assert!(most <= elections / 10 + 2, "{tenths:?}");
        }
    }

    #[test]
    fn elections_can_share_a_time() {
        let together = Duration::from_millis(10);
        let due = Instant::from_nanos(1_234_567_891_234);
        for phase in [0, GOLDEN].map(Phase) {
            let at = |id| Renewal::before(due, phase, id, INTERVAL, together).at().unwrap();
            let times: std::collections::BTreeSet<_> = (0..10_000).map(at).collect();
            assert_eq!(times.len(), 500);
            let again = Renewal::before(at(7) + INTERVAL, phase, 7, INTERVAL, together);
            assert_eq!(again.at(), Some(at(7) + INTERVAL), "not a moment after the last one");
        }
    }

    #[test]
    fn clocks_that_have_just_begun_are_no_trouble() {
        let due = Instant::from_nanos(1);
        let first = Renewal::before(due, Phase::default(), 1, INTERVAL, Duration::ZERO);
        assert_eq!(first, Renewal::WhenDue);
    }
}
