//! A histogram of durations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A histogram. A bucket is an eighth of a power of two in microseconds wide, so a quantile is too
/// low by at most an eighth; the longest duration is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    /// The number of durations by the lower end of the bucket, in microseconds.
    buckets: BTreeMap<u64, u64>,
    longest_us: u64,
    total_us: u64,
}

impl Durations {
    /// Counts one.
    pub(crate) fn add(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        *self.buckets.entry(bucket(micros)).or_default() += 1;
        self.longest_us = self.longest_us.max(micros);
        self.total_us = self.total_us.saturating_add(micros);
    }

    /// Adds the counts of another histogram.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (least, count) in &other.buckets {
            *self.buckets.entry(*least).or_default() += count;
        }
        self.longest_us = self.longest_us.max(other.longest_us);
        self.total_us = self.total_us.saturating_add(other.total_us);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// The duration that so many of a thousand do not exceed, rounded down to the beginning of its
    /// bucket.
    pub fn quantile(&self, permille: u64) -> Option<Duration> {
        let wanted = (self.count() * permille).div_ceil(1_000).max(1);
        let mut counted = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            counted += **count;
            counted >= wanted
        });
        found.map(|(least, _)| Duration::from_micros(*least))
    }

    /// The longest one.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.longest_us)
    }

    /// All of them together.
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.total_us)
    }

    /// All numbers in it, for bounds.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.values().copied().chain([self.longest_us, self.total_us])
    }
}

/// The lower end of the bucket of so many microseconds.
fn bucket(micros: u64) -> u64 {
    let shift = micros.checked_ilog2().unwrap_or(0).saturating_sub(3);
    micros >> shift << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_an_eighth_too_low() {
        let mut durations = Durations::default();
        assert_eq!((durations.count(), durations.quantile(500)), (0, None));
        for micros in 1..=1_000 {
            durations.add(Duration::from_micros(micros));
        }
        let mut sum = durations.clone();
        sum.absorb(&durations);
        assert_eq!(sum.count(), 2_000);
        for permille in [1, 10, 500, 900, 999, 1_000] {
            let found = sum.quantile(permille).map(|found| found.as_micros());
            let exact = u128::from(permille);
            let lowest = exact - exact / 8;
            assert!(
                found.is_some_and(|found| (lowest..=exact).contains(&found)),
                "{permille}: {found:?}"
            );
        }
        assert_eq!(sum.longest(), Duration::from_millis(1));
        assert_eq!(sum.total(), Duration::from_millis(1_001));
    }
}
