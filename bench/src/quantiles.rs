//! The middle of some measurements, and how sure it is.

/// The quartiles of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// A quarter of the values lies below.
    pub lower: f64,
    /// Half of the values lie below.
    pub median: f64,
    /// A quarter of the values lies above.
    pub upper: f64,
    /// The range of the true median, with a probability of at least 95 % if the values are
    /// independent of each other.
    pub median_between: (f64, f64),
}

impl Quantiles {
    /// The quartiles of these values; `None` if there are none.
    ///
    /// The interval of the median is that of order statistics: the number of values below the true
    /// median is binomial, with a standard deviation of half the root of their number. Two of those
    /// to either side cover 95.4 %.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        let last = values.len().checked_sub(1)?;
        values.sort_by(f64::total_cmp);
        let (middle, off) = (values.len() / 2, values.len().isqrt() + 1);
        Some(Self {
            lower: quartile(&values, 1),
            median: quartile(&values, 2),
            upper: quartile(&values, 3),
            median_between: (values[middle.saturating_sub(off)], values[last.min(middle + off)]),
        })
    }
}

/// The value that many quarters of the way from the least to the greatest, interpolated.
fn quartile(sorted: &[f64], quarters: usize) -> f64 {
    let position = quarters * (sorted.len() - 1);
    let (below, above) = (sorted[position / 4], sorted[position.div_ceil(4)]);
    below + (above - below) * [0.0, 0.25, 0.5, 0.75][position % 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Quantiles {
        Quantiles::of(values.to_vec()).unwrap()
    }

    #[track_caller]
    fn same(found: Quantiles, expected: [f64; 3]) {
        for (found, expected) in [found.lower, found.median, found.upper].into_iter().zip(expected)
        {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn of_nothing_there_are_none() {
        assert_eq!(Quantiles::of(Vec::new()), None);
    }

    #[test]
    fn quartiles_do_not_depend_on_order() {
        same(of(&[7.0]), [7.0, 7.0, 7.0]);
        same(of(&[5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
    }

    #[test]
    fn between_two_values_is_interpolated() {
        same(of(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
        same(of(&[1.0, 2.0, 3.0, 4.0]), [1.75, 2.5, 3.25]);
    }

    #[test]
    fn outliers_do_not_move_the_median() {
        same(of(&[1.0, 1.0, 1.0, 1.0, 1_000.0]), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn more_values_make_the_median_surer() {
        let few = of(&(0..9).map(f64::from).collect::<Vec<_>>()).median_between;
        let many = of(&(0..10_001).map(f64::from).collect::<Vec<_>>()).median_between;
        assert_eq!(few, (0.0, 8.0));
        assert_eq!(many, (4_899.0, 5_101.0));
    }
}
