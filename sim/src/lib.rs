//! The simulator that tries to break tenure's promises.

#[cfg(feature = "turmoil")]
pub mod redis;
