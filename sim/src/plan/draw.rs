//! Random numbers, keyed by their purpose.
//!
//! Every draw is a function of (seed, stream, id) and nothing else. So a removed fault, or one more
//! draw, changes no other draw of the run.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::nanos;

/// A stream of numbers for one purpose: a `SplitMix64` sequence.
///
/// Its finalizer is that of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
/// (OOPSLA 2014). Names are hashed by FNV-1a, because it is cheap: a run makes thousands of
/// streams.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draw {
    /// The stream of that name and id in the run of that seed.
    pub fn new(seed: u64, stream: &str, id: u64) -> Self {
        let name = stream.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let run = finalized(seed.wrapping_add(GAMMA) ^ finalized(name));
        Self { state: finalized(run.wrapping_add(id.wrapping_mul(GAMMA))) }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        finalized(self.state)
    }

    /// Uniform over a range.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the high half of the product fits the span"
    )]
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (least, most) = range.into_inner();
        let span = u128::from(most.saturating_sub(least)) + 1;
        least + ((u128::from(self.bits()) * span) >> 64) as u64
    }

    /// A duration in whole nanoseconds, uniform over a range.
    pub fn duration(&mut self, range: RangeInclusive<Duration>) -> Duration {
        Duration::from_nanos(self.within(nanos(*range.start())..=nanos(*range.end())))
    }

    /// True in `numerator` of `denominator` cases.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.within(1..=denominator) <= numerator
    }

    /// One of the choices; they must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = u64::try_from(choices.len()).unwrap_or(u64::MAX).saturating_sub(1);
        choices[usize::try_from(self.within(0..=last)).unwrap_or(0)]
    }
}

fn finalized(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_key_alone() {
        let first: Vec<u64> = (0..4).map(|id| Draw::new(7, "pause", id).bits()).collect();
        let mut other = Draw::new(7, "crash", 0);
        other.bits();
        let again: Vec<u64> = (0..4).map(|id| Draw::new(7, "pause", id).bits()).collect();
        assert_eq!(first, again);
        assert_ne!(Draw::new(8, "pause", 0).bits(), first[0]);
    }

    #[test]
    fn ranges_are_reached_and_kept() {
        let mut draw = Draw::new(1, "range", 0);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| draw.within(3..=6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }
}
