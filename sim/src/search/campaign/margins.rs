//! A histogram of the safety margins of many runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A histogram. Each bucket counts the runs whose least margin is at least the key in microseconds,
/// and less than the next power of two. There are at most 65 buckets, however many runs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Margins {
    /// The number of runs by the lower end of the bucket, in microseconds.
    buckets: BTreeMap<u64, u64>,
}

impl Margins {
    /// Counts one run.
    pub(super) fn add(&mut self, margin: Duration) {
        *self.buckets.entry(bucket(margin)).or_default() += 1;
    }

    /// Adds the counts of another histogram.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (least, runs) in &other.buckets {
            *self.buckets.entry(*least).or_default() += runs;
        }
    }

    /// The number of counted runs.
    pub fn runs(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// The buckets that hold any runs: the lower end, and the number of runs.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.buckets.iter().map(|(least, runs)| (Duration::from_micros(*least), *runs))
    }
}

/// The largest power of two that is not above the margin in microseconds, or zero.
fn bucket(margin: Duration) -> u64 {
    let micros = u64::try_from(margin.as_micros()).unwrap_or(u64::MAX);
    micros.checked_ilog2().map_or(0, |power| 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_at_its_key() {
        let mut margins = Margins::default();
        for nanos in [0, 999, 1_000, 1_999, 2_000, 1_023_999, 1_024_000] {
            margins.add(Duration::from_nanos(nanos));
        }
        let mut sum = margins.clone();
        sum.absorb(&margins);
        let micros = Duration::from_micros;
        let buckets: Vec<_> = sum.buckets().collect();
        let expected = [(0, 4), (1, 4), (2, 2), (512, 2), (1_024, 2)];
        assert_eq!(buckets, expected.map(|(least, runs)| (micros(least), runs)));
        assert_eq!(sum.runs(), 14);
    }
}
