//! What a candidate tells of itself, which the application may replace.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::store::{LimitError, Profile};

/// The profile that has replaced the one that was chosen at first, if any. Small: a process may have a hundred thousand.
#[derive(Default)]
pub(crate) struct Replaced(Mutex<Option<Box<Version>>>);

/// A profile, and its number among those of the candidate, which begins at 1 and never falls.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) profile: Profile,
}

impl Replaced {
    /// Replaces the metadata; the name stays as it was `chosen`.
    pub(super) fn set(&self, chosen: &Profile, metadata: &Bytes) -> Result<(), LimitError> {
        let profile = chosen.with_metadata(metadata)?;
        let mut latest = self.latest();
        let number = latest.as_ref().map_or(1, |before| before.number + 1);
        *latest = Some(Box::new(Version { number, profile }));
        Ok(())
    }

    /// The present profile, if it is newer than that version.
    pub(crate) fn newer_than(&self, number: u64) -> Option<Version> {
        let latest = self.latest();
        latest.as_deref().filter(|latest| latest.number > number).cloned()
    }

    fn latest(&self) -> MutexGuard<'_, Option<Box<Version>>> {
        // No step panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
