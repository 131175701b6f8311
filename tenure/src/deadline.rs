//! One number that says until when something may be believed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Instant;

/// A deadline that its owner publishes and anybody reads: one atomic, never read together with
/// another.
///
/// Whoever first finds it passed, or wants it over, closes it; from then on it can't be extended. So
/// the driver and a leader's work can't disagree about whether a tenure has ended.
#[derive(Debug)]
pub(crate) struct Deadline(AtomicU64);

/// Neither is ever a reading of the clock that lies in the future.
const NEVER: u64 = 0;
const CLOSED: u64 = 1;

impl Deadline {
    /// One that has not begun.
    pub(crate) const fn never() -> Self {
        Self(AtomicU64::new(NEVER))
    }

    pub(crate) fn until(instant: Instant) -> Self {
        Self(AtomicU64::new(instant.as_nanos()))
    }

    pub(crate) fn get(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Acquire))
    }

    /// Loads first, then reads the clock: a pause in between makes the answer older, never bolder.
    pub(crate) fn holds(&self, now: impl FnOnce() -> Instant) -> bool {
        let until = self.get();
        now() < until
    }

    /// Moves an open deadline; false if it was closed meanwhile.
    pub(crate) fn extend(&self, until: Instant) -> bool {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now != CLOSED).then_some(until.as_nanos())
            })
            .is_ok()
    }

    /// Ends it for good, or until it is reopened.
    pub(crate) fn close(&self) {
        self.0.store(CLOSED, Ordering::Release);
    }

    /// Closes it if it is still `passed`, which the caller has found to be over; otherwise it has been
    /// extended in the meantime. True if it is closed now.
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

    /// Back to the beginning.
    pub(crate) fn reopen(&self) {
        self.0.store(NEVER, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_deadline_is_not_extended() {
        let deadline = Deadline::until(Instant::from_nanos(100));
        assert!(deadline.holds(|| Instant::from_nanos(99)));
        assert!(!deadline.holds(|| Instant::from_nanos(100)));
        assert!(deadline.extend(Instant::from_nanos(200)));
        assert!(!deadline.close_passed(Instant::from_nanos(100)), "it was extended meanwhile");
        assert!(deadline.close_passed(Instant::from_nanos(200)));
        assert!(!deadline.extend(Instant::from_nanos(300)));
        assert!(!deadline.holds(|| Instant::from_nanos(2)));
    }
}
