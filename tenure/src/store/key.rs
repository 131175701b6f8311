//! Keys, names and metadata, with their limits.

use std::fmt;
use std::sync::Arc;

use arcstr::ArcStr;
use bytes::Bytes;
use tenure_core::NameId;

/// The name of one election. Cheap to clone.
///
/// Two keys name the same election only if their bytes are equal: texts that look alike (an accent
/// in one character or in two, a zero-width space) are two elections, each with a leader.
// One pointer, where `Arc<str>` takes two: each election keeps half a dozen, and a process may have
// a hundred thousand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(ArcStr);

impl Key {
    /// The longest key, in bytes.
    pub const MOST: usize = 512;

    /// Checks a key.
    ///
    /// # Errors
    /// If it is empty or longer than [`Key::MOST`] bytes.
    pub fn new(key: impl AsRef<str>) -> Result<Self, LimitError> {
        let key = key.as_ref();
        check("key", key.len(), 1, Self::MOST)?;
        Ok(Self(key.into()))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The label of the key's [metrics](crate::metrics) unless another is chosen: the part before
    /// the first colon, so that a thousand elections do not make a thousand time series.
    pub(crate) fn class(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A candidate's name and metadata. No decision depends on them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    name: Arc<str>,
    metadata: Bytes,
}

impl Profile {
    /// The longest name, in bytes.
    pub const NAME_MOST: usize = 128;
    /// The longest metadata, in bytes.
    pub const METADATA_MOST: usize = 4096;

    /// Checks a candidate's name (for people) and metadata (such as the address where it can be
    /// reached while it leads; may be empty).
    ///
    /// # Errors
    /// If the name is empty or longer than [`Profile::NAME_MOST`] bytes, or the metadata longer
    /// than [`Profile::METADATA_MOST`] bytes.
    pub fn new(name: impl AsRef<str>, metadata: impl Into<Bytes>) -> Result<Self, LimitError> {
        Self::of(name.as_ref().into(), &metadata.into())
    }

    /// The same with a name that others share.
    pub(crate) fn of(name: Arc<str>, metadata: &Bytes) -> Result<Self, LimitError> {
        check("candidate name", name.len(), 1, Self::NAME_MOST)?;
        check("metadata", metadata.len(), 0, Self::METADATA_MOST)?;
        // A copy: the bytes that were handed in may run code of their owner's when they are
        // dropped.
        Ok(Self { name, metadata: Bytes::copy_from_slice(metadata) })
    }

    /// The same name with other metadata.
    pub(crate) fn with_metadata(&self, metadata: &Bytes) -> Result<Self, LimitError> {
        Self::of(Arc::clone(&self.name), metadata)
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name as decisions know it: as the 128 bits of FNV-1a.
    pub fn name_id(&self) -> NameId {
        NameId::from_bits(fnv(self.name.as_bytes()))
    }

    /// The candidate's metadata.
    pub fn metadata(&self) -> &Bytes {
        &self.metadata
    }
}

/// A name is too short or too long. The text says which, its length and the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {length} bytes; it must have {least} to {most}")]
pub struct LimitError {
    what: &'static str,
    length: usize,
    least: usize,
    most: usize,
}

/// The 128 bits of FNV-1a.
///
/// Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash Algorithm"
/// (IETF draft).
pub(super) fn fnv(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

pub(super) fn check(
    what: &'static str,
    length: usize,
    least: usize,
    most: usize,
) -> Result<(), LimitError> {
    if (least..=most).contains(&length) {
        Ok(())
    } else {
        Err(LimitError { what, length, least, most })
    }
}
