//! Single measured times, from the shortest to the longest.

use std::time::Duration;

/// Times of the same thing, measured one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Percentiles(Vec<Duration>);

impl Percentiles {
    /// The percentiles of these times; `None` if there are none.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self(times))
    }

    /// The number of times: at least one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that so many percent of the others do not exceed: 0 is the shortest, 100 the
    /// longest. More than 100 count as 100.
    pub fn at(&self, percent: usize) -> Duration {
        self.0[(self.count() - 1) * percent.min(100) / 100]
    }

    /// For a chart: each time in milliseconds, beside *k* where one in *k* of the times is at least
    /// as long. The longest of 1,000 times has the *k* of 1,000, and the median that of 2.
    pub fn one_in(&self) -> Vec<(f64, f64)> {
        let count = self.count();
        let point = |(shorter, time): (usize, &Duration)| {
            (float(count) / float(count - shorter), time.as_secs_f64() * 1e3)
        };
        self.0.iter().enumerate().map(point).collect()
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are few of them")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(times: impl IntoIterator<Item = u64>) -> Percentiles {
        Percentiles::of(times.into_iter().map(Duration::from_millis).collect()).unwrap()
    }

    #[test]
    fn of_nothing_there_are_none() {
        assert_eq!(Percentiles::of(Vec::new()), None);
    }

    #[test]
    fn percentiles_do_not_depend_on_order() {
        let times = millis([4, 0, 3, 1, 2]);
        let at = [0, 50, 90, 100, 101].map(|percent| times.at(percent).as_millis());
        assert_eq!(at, [0, 2, 3, 4, 4]);
    }

    #[test]
    fn longest_of_a_thousand_is_one_in_a_thousand() {
        let points = millis(1..=1_000).one_in();
        assert_eq!(points.first(), Some(&(1.0, 1.0)));
        assert_eq!(points[500], (2.0, 501.0));
        assert_eq!(points.last(), Some(&(1_000.0, 1_000.0)));
    }
}
