//! The only source of randomness: a generator that draws the same numbers in every run with the
//! same seed.

use core::time::Duration;

use crate::id::{HolderId, Seed};
use crate::time::nanos;

/// Two independent `SplitMix64` streams, one for each half of the seed.
///
/// The output function is the finalizer of Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators" (OOPSLA 2014). It is a bijection of the counter, so a candidate never draws
/// the same holder id twice, and candidates of different seeds collide with probability 2^-128 a
/// pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Random {
    high: u64,
    low: u64,
}

impl Random {
    #[allow(clippy::cast_possible_truncation, reason = "splits the seed into its two halves")]
    pub(crate) const fn new(seed: Seed) -> Self {
        Self { high: (seed.0 >> 64) as u64, low: seed.0 as u64 }
    }

    pub(crate) const fn holder(&mut self) -> HolderId {
        HolderId::from_bits(((step(&mut self.high) as u128) << 64) | step(&mut self.low) as u128)
    }

    /// Uniform over zero to `most`, both included, in nanoseconds.
    #[allow(clippy::cast_possible_truncation, reason = "the product's high half is at most `most`")]
    pub(crate) const fn up_to(&mut self, most: Duration) -> Duration {
        // Lemire's multiply-shift; its bias, below 2^-20 for durations under a day, does not matter
        // for jitter.
        let span = nanos(most).saturating_add(1) as u128;
        Duration::from_nanos(((step(&mut self.low) as u128 * span) >> 64) as u64)
    }
}

const fn step(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
