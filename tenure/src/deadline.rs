//! The end of a claim or of draining, as one number that all threads read.

use super::Instant;
// The parent module's, so that `tests/deadline` can explore this file with other atomics.
use super::atomic::{AtomicU64, Ordering};

/// A deadline that its owner publishes and all threads read: one atomic, never read together with
/// another.
///
/// The first thread that finds it passed, or ends it early, closes it; from then on it can't be
/// extended. So the driver and a leader's work can't disagree about whether a tenure has ended.
#[derive(Debug)]
pub(crate) struct Deadline(AtomicU64);

/// Two values that every clock has passed: no deadline is ever set to them.
const NEVER: u64 = 0;
const CLOSED: u64 = 1;

impl Deadline {
    /// A deadline that has not begun.
    pub(crate) fn never() -> Self {
        Self(AtomicU64::new(NEVER))
    }

    pub(crate) fn until(instant: Instant) -> Self {
        Self(AtomicU64::new(instant.as_nanos()))
    }

    pub(crate) fn get(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Acquire))
    }

    /// True if the deadline had been published, was open and had not passed at one and the same
    /// instant: that of the clock's last reading.
    ///
    /// The thread may be paused between any two of these steps, for longer than a tenure, so that
    /// one load beside one reading can't say that. A load that follows the reading pairs it with a
    /// claim that may have begun after it, while another candidate led at the reading. A load that
    /// precedes it alone may be of a claim that was closed before the reading, so that another
    /// candidate may have led at the reading. Equal loads on both sides mean that the deadline did
    /// not change in between: a value that was replaced never comes back, as every claim ends later
    /// than those before it.
    pub(crate) fn holds(&self, now: impl Fn() -> Instant) -> bool {
        loop {
            let until = self.get();
            if now() >= until {
                return false;
            }
            // A change means that another thread made progress; renewals are seconds apart, so this
            // ends.
            if self.get() == until {
                return true;
            }
        }
    }

    /// The same, and closes a deadline that has passed, so that the answer is never true again: a
    /// renewal that was accepted in time may still be on its way to [`extend`](Self::extend).
    pub(crate) fn holds_or_closes(&self, now: impl Fn() -> Instant) -> bool {
        loop {
            if self.holds(&now) {
                return true;
            }
            let until = self.get();
            if now() >= until && self.close_passed(until) {
                return false;
            }
        }
    }

    /// Moves an open deadline; false if it was closed meanwhile.
    pub(crate) fn extend(&self, until: Instant) -> bool {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now != CLOSED).then_some(until.as_nanos())
            })
            .is_ok()
    }

    /// Ends it, until it is reopened.
    pub(crate) fn close(&self) {
        self.0.store(CLOSED, Ordering::Release);
    }

    /// Closes it if it is still `passed`, which the caller has found to be over, and not extended
    /// meanwhile. True if it is closed now.
    pub(crate) fn close_passed(&self, passed: Instant) -> bool {
        match self.0.compare_exchange(
            passed.as_nanos(),
            CLOSED,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => true,
            Err(now) => now == CLOSED,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.get().as_nanos() == CLOSED
    }

    /// Ends the present claim and leaves the deadline open for the next one. A closed deadline
    /// stays closed.
    pub(crate) fn clear(&self) {
        // Fails only if it is closed.
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            (now != CLOSED).then_some(NEVER)
        });
    }

    /// Opens the deadline for the next claim, also if it was closed.
    pub(crate) fn reopen(&self) {
        self.0.store(NEVER, Ordering::Release);
    }
}
