//! The pace of overdue renewals.
//!
//! After an outage the renewals of all leaders are overdue at once, and the server, which has just
//! come back, would get them all in its first second. They are let go at not quite twice the rate
//! at which the leaders renew when nothing is wrong; those whose claims end soon do not wait for
//! that.

use std::time::Duration;

use tenure_core::Instant;

/// The paced rate in tenths of the usual rate: with what may leave at once, less than twice the
/// rate in any second.
const TENTHS: i128 = 18;
/// A rate for any server: few elections are not paced.
const LEAST_A_SECOND: i128 = 50;
/// The most renewals that leave at once, beside those of [`AT_ONCE`].
const BURST: i128 = 32;
/// Renewals of so much time may leave at once. The driver may have had no processor for a while.
const AT_ONCE: Duration = Duration::from_millis(50);
/// For so long, at most, nothing leaves after others that were in a hurry.
const DEBT: Duration = Duration::from_secs(1);
/// The pause of the rest once there is no allowance left: some leave together then.
const PAUSE: Duration = Duration::from_millis(10);

/// One renewal, as allowances and rates are counted.
const ONE: i128 = 1_000_000_000;
/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The rate of all leaders, a second.
    usual: i128,
    /// Negative after renewals in a hurry.
    allowance: i128,
    /// The last addition to the allowance.
    at: Instant,
    /// Until then, no paced renewal leaves.
    resumes_at: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { usual: 0, allowance: BURST * ONE, at: Instant::ORIGIN, resumes_at: None }
    }
}

impl Pace {
    /// Another election renews once in that interval.
    pub(super) fn begins(&mut self, interval: Duration) {
        self.usual += a_second(interval);
    }

    /// An election no longer does.
    pub(super) fn ends(&mut self, interval: Duration) {
        self.usual = (self.usual - a_second(interval)).max(0);
    }

    /// True if another renewal may leave.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        if self.resumes_at.is_some_and(|at| now < at) {
            return false;
        }
        let most = BURST * ONE + per(self.usual(), AT_ONCE);
        let more = per(self.usual() * TENTHS / 10, now.since(self.at));
        self.allowance = self.allowance.saturating_add(more).min(most);
        self.at = now;
        let is_allowed = self.allowance >= ONE;
        self.resumes_at = (!is_allowed).then(|| now + PAUSE);
        is_allowed
    }

    /// A renewal has left; one that was in a hurry may have had no allowance.
    pub(super) fn left(&mut self) {
        let least = -per(self.usual() * TENTHS / 10, DEBT);
        self.allowance = (self.allowance - ONE).max(least);
    }

    fn usual(&self) -> i128 {
        self.usual.max(LEAST_A_SECOND * ONE)
    }

    pub(super) fn resumes_at(&self) -> Option<Instant> {
        self.resumes_at
    }
}

fn a_second(interval: Duration) -> i128 {
    ONE * SECOND / nanos(interval).max(1)
}

/// The amount of a rate in a time.
fn per(a_second: i128, time: Duration) -> i128 {
    a_second.saturating_mul(nanos(time)) / SECOND
}

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(5);
    const TICK: Duration = Duration::from_millis(1);

    fn pace_of(elections: u32) -> Pace {
        let mut pace = Pace::default();
        for _ in 0..elections {
            pace.begins(INTERVAL);
        }
        pace
    }

    /// The number that leave in each of the next seconds, if so many wait and more come at the
    /// usual rate.
    fn seconds(pace: &mut Pace, from: u32, mut waiting: u32, a_tick: u32) -> Vec<u32> {
        let second = |second: u32| {
            let mut left = 0;
            for tick in 0..1_000 {
                let now = Instant::ORIGIN + TICK * (1_000 * (from + second) + tick);
                waiting += a_tick;
                while waiting > 0 && pace.allows(now) {
                    pace.left();
                    waiting -= 1;
                    left += 1;
                }
            }
            left
        };
        (0..5).map(second).collect()
    }

    #[test]
    fn overdue_renewals_take_less_than_twice_the_usual_rate() {
        let mut pace = pace_of(10_000);
        assert_eq!(seconds(&mut pace, 1, 0, 2), [2_000; 5], "nothing waits when nothing is wrong");
        // After an outage of three seconds.
        let after = seconds(&mut pace, 9, 6_000, 2);
        assert!(after.iter().all(|left| *left < 4_000), "{after:?}");
        assert!(after[..3].iter().all(|left| *left > 3_500), "{after:?}");
        assert_eq!(after.iter().sum::<u32>(), 16_000, "{after:?}");
    }

    #[test]
    fn few_elections_are_not_paced() {
        for elections in [0, 1, 100] {
            let after = seconds(&mut pace_of(elections), 1, 100, 0);
            assert!(after[0] >= 50, "{elections}: {after:?}");
            assert_eq!(after[0] + after[1], 100, "{elections}: {after:?}");
        }
    }

    #[test]
    fn elections_that_end_no_longer_count() {
        let mut pace = pace_of(100_000);
        for _ in 0..90_000 {
            pace.ends(INTERVAL);
        }
        let after = seconds(&mut pace, 1, 60_000, 0);
        assert!(after[1] < 4_000, "{after:?}");
    }

    #[test]
    fn renewals_in_a_hurry_use_the_allowance_of_others() {
        let after = |hurried: u32| {
            let mut pace = pace_of(10_000);
            assert!(pace.allows(Instant::ORIGIN + Duration::from_secs(1)));
            for _ in 0..hurried {
                pace.left();
            }
            seconds(&mut pace, 1, 10_000, 0)[0]
        };
        assert!((3_600..4_000).contains(&after(0)), "{}", after(0));
        assert!((2_500..3_000).contains(&after(1_000)), "{}", after(1_000));
        // After very many, for a second at most.
        assert!(after(3_500) > 0);
        assert_eq!(after(10_000), 0);
        assert!((3_000..4_000).contains(&{
            let mut pace = pace_of(10_000);
            (0..1_000_000).for_each(|_| pace.left());
            seconds(&mut pace, 1, 10_000, 0)[1]
        }));
    }

    #[test]
    fn the_rest_leaves_together_after_a_pause() {
        let mut pace = pace_of(10_000);
        let now = Instant::ORIGIN + Duration::from_secs(1);
        while pace.allows(now) {
            pace.left();
        }
        assert_eq!(pace.resumes_at(), Some(now + PAUSE));
        assert!(!pace.allows(now + PAUSE / 2));
        assert!(pace.allows(now + PAUSE));
        assert_eq!(pace.resumes_at(), None);
    }
}
