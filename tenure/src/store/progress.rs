//! Whether a connection makes progress.
//!
//! A caller that gives up drops its request half way. A connection on which nothing was answered meanwhile may be stuck
//! for good, and is given up with it. One that answers other requests is slow, not stuck: to replace it would cost all
//! of them their answers.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

/// Counts the answers on one connection.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU64);

impl Progress {
    /// A request leaves on the connection; `dead` ends the connection.
    pub(super) fn expects<'a>(&'a self, dead: &'a CancellationToken) -> Unanswered<'a> {
        Unanswered { progress: self, dead, answers: self.0.load(Ordering::Relaxed), is_over: false }
    }
}

/// A request on its way. Dropping it, unless it was answered, condemns a connection without progress.
#[must_use]
pub(super) struct Unanswered<'a> {
    progress: &'a Progress,
    dead: &'a CancellationToken,
    answers: u64,
    is_over: bool,
}

impl Unanswered<'_> {
    pub(super) fn answered(mut self) {
        self.progress.0.fetch_add(1, Ordering::Relaxed);
        self.is_over = true;
    }

    /// The connection has failed.
    pub(super) fn failed(mut self) {
        self.dead.cancel();
        self.is_over = true;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_over && self.progress.0.load(Ordering::Relaxed) == self.answers {
            self.dead.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_connection_is_condemned() {
        let (progress, dead) = (Progress::default(), CancellationToken::new());
        progress.expects(&dead).answered();
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled());
    }

    #[test]
    fn a_slow_connection_is_kept() {
        let (progress, dead) = (Progress::default(), CancellationToken::new());
        let [late, in_time] = [(); 2].map(|()| progress.expects(&dead));
        in_time.answered();
        drop(late);
        assert!(!dead.is_cancelled());
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled(), "nothing was answered since");
    }

    #[test]
    fn a_failed_connection_is_condemned_despite_progress() {
        let (progress, dead) = (Progress::default(), CancellationToken::new());
        let failing = progress.expects(&dead);
        progress.expects(&dead).answered();
        failing.failed();
        assert!(dead.is_cancelled());
    }
}
