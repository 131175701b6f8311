//! How large the safety margins of many runs were.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A histogram: each bucket holds the runs whose least margin is at least so many microseconds, and less
/// than the next power of two. There are 65 of them at most, however many runs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Margins {
    /// By the least of the bucket, in microseconds.
    buckets: BTreeMap<u64, u64>,
}

impl Margins {
    /// Counts one run.
    pub(super) fn add(&mut self, margin: Duration) {
        *self.buckets.entry(bucket(margin)).or_default() += 1;
    }

    /// Takes in what another one has counted.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (least, runs) in &other.buckets {
            *self.buckets.entry(*least).or_default() += runs;
        }
    }

    /// How many runs were counted.
    pub fn runs(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// The buckets that hold any runs: from which margin on, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.buckets.iter().map(|(least, runs)| (Duration::from_micros(*least), *runs))
    }
}

/// Zero, or the largest power of two that is no more, in microseconds.
fn bucket(margin: Duration) -> u64 {
    let micros = u64::try_from(margin.as_micros()).unwrap_or(u64::MAX);
    micros.checked_ilog2().map_or(0, |power| 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_no_less_than_its_name() {
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
