//! A candidate's profile, which the application may replace.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::store::{LimitError, Profile};

/// The profile that has replaced the one that was chosen at first, if any. Small: a process may
/// have a hundred thousand.
#[derive(Default)]
pub(crate) struct Replaced(Mutex<Option<Box<Version>>>);

/// A profile, and its number among those of the candidate, which begins at 1 and never falls.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) profile: Profile,
    /// True if the driver has noticed it. If not, a command is on its way that makes it look.
    is_noticed: bool,
}

impl Replaced {
    /// Replaces the metadata; the name stays as it was `chosen`. Returns whether the driver has to
    /// be told so: not if it has yet to notice the version before.
    pub(super) fn set(&self, chosen: &Profile, metadata: &Bytes) -> Result<bool, LimitError> {
        let profile = chosen.with_metadata(metadata)?;
        let mut latest = self.latest();
        let number = latest.as_ref().map_or(1, |before| before.number + 1);
        let was_noticed = latest.as_ref().is_none_or(|before| before.is_noticed);
        *latest = Some(Box::new(Version { number, profile, is_noticed: false }));
        Ok(was_noticed)
    }

    /// The number of the latest version, which the driver has noticed from now on.
    pub(crate) fn notices(&self) -> Option<u64> {
        let mut latest = self.latest();
        let latest = latest.as_deref_mut()?;
        latest.is_noticed = true;
        Some(latest.number)
    }

    /// The latest version, if the profile was ever replaced.
    pub(crate) fn present(&self) -> Option<Version> {
        self.latest().as_deref().cloned()
    }

    fn latest(&self) -> MutexGuard<'_, Option<Box<Version>>> {
        // No step panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
