//! A watch over leader-only work that may hang.
//!
//! Work that hangs keeps its lead: the driver renews the lease, and no other candidate does the
//! work. So the work says from time to time that it is alive, and the driver gives the lead up when
//! it is silent. This is advice to the driver, and no promise: see
//! [`Tenure::watchdog`](crate::Tenure::watchdog).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::Instant;
use crate::runtime::Runtime;

/// Watches leader-only work until it is dropped; see [`Tenure::watchdog`](crate::Tenure::watchdog).
#[must_use = "a watchdog that is dropped watches nothing"]
pub struct Watchdog {
    runtime: Arc<dyn Runtime>,
    work: Arc<WatchedWork>,
}

/// The driver's view of the work.
pub(crate) struct WatchedWork {
    bound: Duration,
    /// The last sign of life, in nanoseconds of the candidate's clock; [`UNWATCHED`] when nothing
    /// more is expected.
    alive_at: AtomicU64,
}

/// Later than every sign of life.
const UNWATCHED: u64 = u64::MAX;

impl Watchdog {
    /// Watches from now on.
    pub(crate) fn new(runtime: Arc<dyn Runtime>, bound: Duration) -> (Self, Arc<WatchedWork>) {
        let alive_at = AtomicU64::new(runtime.now().as_nanos());
        let work = Arc::new(WatchedWork { bound, alive_at });
        (Self { runtime, work: Arc::clone(&work) }, work)
    }

    /// Says that the work is alive: the bound counts from now on. One reading of the clock and one
    /// atomic step, so it may be called in every step of the work.
    ///
    /// It does not say whether the tenure still holds: see
    /// [`Tenure::is_current`](crate::Tenure::is_current).
    pub fn alive(&self) {
        // The largest: another thread may have read the clock earlier, and come here later.
        self.work.alive_at.fetch_max(self.runtime.now().as_nanos(), Ordering::Release);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.work.alive_at.store(UNWATCHED, Ordering::Release);
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("bound", &self.work.bound).finish_non_exhaustive()
    }
}

impl WatchedWork {
    /// The due time of the next sign of life; `None` if none is expected.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        match self.alive_at.load(Ordering::Acquire) {
            UNWATCHED => None,
            alive_at => Some(Instant::from_nanos(alive_at) + self.bound),
        }
    }
}
