//! Simpler numbers in place of others.

/// The most significant digits of a candidate number: zeros at the end don't count.
const MOST_DIGITS: u32 = 3;

/// The numbers to try in place of `value`, the simplest first: the plain one, then rounder ones,
/// then ones that are nearer to the plain one. All are simpler than `value`, so the search ends.
pub(super) fn simpler(value: u64, plain: u64) -> Vec<u64> {
    let half = plain.midpoint(value);
    let quarter = half.midpoint(value);
    let most = digits(value);
    let rounded = (1..most.min(MOST_DIGITS + 1)).flat_map(|digits| around(value, digits));
    let nearer = [half, quarter].into_iter().flat_map(|nearer| {
        (1..=most.min(MOST_DIGITS)).flat_map(move |digits| around(nearer, digits))
    });
    let is_simpler = |other: &u64| complexity(*other, plain) < complexity(value, plain);
    let mut simpler: Vec<u64> = [plain].into_iter().chain(rounded).chain(nearer).collect();
    simpler.retain(is_simpler);
    let mut seen = Vec::new();
    simpler.retain(|other| {
        !seen.contains(other) && {
            seen.push(*other);
            true
        }
    });
    simpler
}

/// Rounder numbers are simpler; of two equally round numbers, the one that is nearer to the plain
/// one.
fn complexity(value: u64, plain: u64) -> (u32, u64) {
    if value == plain { (0, 0) } else { (digits(value), value.abs_diff(plain)) }
}

/// The number of digits without the zeros at the end; one for zero.
pub(super) fn digits(mut value: u64) -> u32 {
    while value != 0 && value.is_multiple_of(10) {
        value /= 10;
    }
    value.checked_ilog10().unwrap_or(0) + 1
}

/// The two numbers with that many digits between which the value lies.
pub(super) fn around(value: u64, digits: u32) -> [u64; 2] {
    let length = value.checked_ilog10().unwrap_or(0) + 1;
    let unit = 10_u64.pow(length.saturating_sub(digits));
    [value / unit * unit, (value / unit).saturating_add(1).saturating_mul(unit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_no_digits() {
        let all = [0, 7, 10, 1_500, 1_501, u64::MAX].map(digits);
        assert_eq!(all, [1, 1, 1, 2, 4, 20]);
    }

    #[test]
    fn the_plain_number_comes_first_then_rounder_ones() {
        let simpler = simpler(7_321, 0);
        assert_eq!(simpler[..5], [0, 7_000, 8_000, 7_300, 7_400]);
        assert!(simpler.contains(&3_000), "{simpler:?}");
    }

    #[test]
    fn nothing_is_simpler_than_the_plain_number() {
        assert_eq!(simpler(15_000, 15_000), Vec::<u64>::new());
        assert_eq!(simpler(0, 0), Vec::<u64>::new());
    }

    #[test]
    fn a_round_number_stays_as_round() {
        assert!(simpler(7_000, 0).iter().all(|other| digits(*other) == 1));
        assert!(simpler(7_000, 0).contains(&3_000));
    }

    #[test]
    fn every_sequence_of_simpler_numbers_ends() {
        for start in [1, 2, 99, 7_321, 123_456_789, u64::MAX] {
            for plain in [0, 1, 1_000, 15_000] {
                let (mut value, mut steps) = (start, 0);
                while let Some(last) = simpler(value, plain).last() {
                    (value, steps) = (*last, steps + 1);
                    assert!(steps < 1_000, "from {start} to {plain}");
                }
                assert_eq!(value, plain, "from {start}");
            }
        }
    }
}
