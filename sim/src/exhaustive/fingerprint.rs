//! 64 bits that stand for a state.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_64;

/// The fingerprint of a value. Equal values have equal ones; of `n` different ones, two share theirs with
/// a probability of about `n^2 / 2^65`.
pub(super) fn fingerprint(value: &impl Hash) -> u64 {
    let mut bytes = Bytes(Vec::with_capacity(1_024));
    value.hash(&mut bytes);
    bytes.finish()
}

/// Collects first and hashes once: a value is hundreds of short writes.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        xxh3_64(&self.0)
    }
}
