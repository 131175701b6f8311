//! Random numbers: the same for each seed.

use std::time::Duration;

/// `SplitMix64`.
#[derive(Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1))
    }

    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) const fn below(&mut self, most: u64) -> u64 {
        self.bits() % most
    }

    pub(crate) const fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// Between them, in microseconds.
    pub(crate) const fn duration(&mut self, least_ms: u64, most_ms: u64) -> Duration {
        Duration::from_micros(least_ms * 1_000 + self.below((most_ms - least_ms) * 1_000 + 1))
    }
}
