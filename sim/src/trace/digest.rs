//! Hashes of runs that are the same on every machine.

use std::fmt;
use std::hash::Hasher as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A hash of a trace, or of many: equal hashes mean equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest(pub u64);

impl Digest {
    /// Adds one run of a campaign. The sum does not depend on the order of the runs, so threads and
    /// machines need not agree on one.
    pub fn add_run(&mut self, seed: u64, run: Self) {
        self.add(Self(xxh3_64_with_seed(&run.0.to_le_bytes(), seed)));
    }

    /// Adds the runs of another digest.
    pub const fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// In hexadecimal: many readers of JSON convert numbers to floating point, and lose digits.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        u64::from_str_radix(&text, 16)
            .map(Self)
            .map_err(|_| D::Error::custom(format_args!("{text:?} is not a hash in hexadecimal")))
    }
}

/// The largest block that XXH3 hashes without any setup.
const BLOCK: usize = 240;

/// Collects the many small writes of derived `Hash` implementations, and hashes them in blocks,
/// each with the hash of the earlier ones as its seed. Numbers are little-endian and `usize` is 64
/// bits long, on every machine.
#[derive(Clone)]
pub(crate) struct Hasher {
    block: [u8; BLOCK],
    filled: usize,
    hash: u64,
}

impl Hasher {
    pub(crate) fn digest(&self) -> Digest {
        Digest(xxh3_64_with_seed(&self.block[..self.filled], self.hash))
    }

    /// Like `write`, but a single store if there is room for the known length.
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(room) = self.block.get_mut(self.filled..self.filled + N) {
            room.copy_from_slice(&bytes);
            self.filled += N;
        } else {
            self.write(&bytes);
        }
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self { block: [0; BLOCK], filled: 0, hash: 0 }
    }
}

impl std::hash::Hasher for Hasher {
    fn finish(&self) -> u64 {
        self.digest().0
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == BLOCK {
                self.hash = self.digest().0;
                self.filled = 0;
            }
            let fits = bytes.len().min(BLOCK - self.filled);
            self.block[self.filled..self.filled + fits].copy_from_slice(&bytes[..fits]);
            self.filled += fits;
            bytes = &bytes[fits..];
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.put([number]);
    }

    fn write_u16(&mut self, number: u16) {
        self.put(number.to_le_bytes());
    }

    fn write_u32(&mut self, number: u32) {
        self.put(number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.put(number.to_le_bytes());
    }

    fn write_u128(&mut self, number: u128) {
        self.put(number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    // Signed numbers use the functions above, except for `isize`, which discriminants are written
    // with.
    fn write_isize(&mut self, number: isize) {
        self.write_u64((number as i64).cast_unsigned());
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hash;

    use super::*;

    fn hash(of: &impl Hash) -> u64 {
        let mut hasher = Hasher::default();
        of.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn the_hash_is_the_same_on_every_machine() {
        // The same bytes as a big-endian machine of 32 bits would write.
        let mut bytes = Hasher::default();
        bytes.write(&[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(hash(&(2_usize, 1_u32)), bytes.finish());
        assert_eq!(hash(&-1_isize), hash(&u64::MAX));
    }

    #[test]
    fn numbers_hash_like_their_bytes() {
        for before in 0..2 * BLOCK {
            let (mut numbers, mut bytes) = (Hasher::default(), Hasher::default());
            numbers.write(&vec![7; before]);
            bytes.write(&vec![7; before]);
            numbers.write_u128(1);
            numbers.write_u8(2);
            bytes.write(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
            assert_eq!(numbers.finish(), bytes.finish(), "{before} bytes before");
        }
    }

    #[test]
    fn every_bit_counts_wherever_a_block_ends() {
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..3 * BLOCK {
            let mut bytes = vec![0_u8; length];
            let mut hasher = Hasher::default();
            hasher.write(&bytes);
            assert!(seen.insert(hasher.finish()), "{length} zeros");
            if let Some(last) = bytes.last_mut() {
                *last = 1;
                let mut hasher = Hasher::default();
                hasher.write(&bytes);
                assert!(seen.insert(hasher.finish()), "{length} bytes, the last one is 1");
            }
        }
    }

    #[test]
    fn seeds_matter_and_the_order_does_not() {
        let (one, other) = (Digest(7), Digest(8));
        let sum = |runs: &[(u64, Digest)]| {
            let mut sum = Digest::default();
            for (seed, run) in runs {
                sum.add_run(*seed, *run);
            }
            sum
        };
        assert_eq!(sum(&[(1, one), (2, other)]), sum(&[(2, other), (1, one)]));
        assert_ne!(sum(&[(1, one), (2, other)]), sum(&[(1, other), (2, one)]));
    }
}
