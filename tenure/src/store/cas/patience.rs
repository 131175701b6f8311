//! The wait for requests, by those that were given up.
//!
//! A request that reads and swaps takes two round trips. Where the caller gives up before the
//! second answer comes, each attempt would swap, and none would learn of it. So what was read is
//! kept then, and the next attempt begins with it, and takes one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as StdInstant};

use crate::store::{StoreError, StoreErrorKind};

/// A backend that answers sooner is not what requests are given up for.
const SLOW: Duration = Duration::from_millis(50);

/// The wait for the request that was given up last.
#[derive(Default)]
pub(super) struct Patience(Mutex<Option<Duration>>);

/// A request that is under way.
pub(super) struct Waiting<'a> {
    patience: &'a Patience,
    since: StdInstant,
    is_over: bool,
}

impl Patience {
    pub(super) fn begins(&self) -> Waiting<'_> {
        Waiting { patience: self, since: StdInstant::now(), is_over: false }
    }

    fn known(&self) -> MutexGuard<'_, Option<Duration>> {
        // No step panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting<'_> {
    /// Has an answer, or an error.
    pub(super) fn ends(mut self) {
        self.is_over = true;
    }

    /// An error if a swap that takes as long as the read would be given up.
    pub(super) fn has_time_after(&self, read: Duration) -> Result<(), StoreError> {
        let Some(patience) = *self.patience.known() else { return Ok(()) };
        if read < SLOW || self.since.elapsed() + read <= patience {
            return Ok(());
        }
        let detail = format!(
            "an answer took {read:?}, and the last request was given up after {patience:?}: the next attempt begins with \
             what was read"
        );
        Err(StoreError::new(StoreErrorKind::Timeout, detail))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waited = self.since.elapsed();
        let mut known = self.patience.known();
        if !self.is_over {
            *known = Some(waited);
        } else if known.is_some_and(|patience| patience < waited) {
            *known = None;
        }
    }
}
