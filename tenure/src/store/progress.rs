//! Whether a connection makes progress.
//!
//! A caller that gives up drops its request half way. A connection on which nothing was answered meanwhile may be stuck
//! for good, and is given up with it. One that answers other requests is slow, not stuck: to replace it would cost all
//! of them their answers.
//!
//! The first requests on a connection have waited until it was open, and may give up before a reply can be back. So a
//! connection is not given up before its first answer until it has been open for as long as opening it took, which is
//! at least one round trip. Otherwise, where that takes longer than a request may, each connection would end with the
//! requests that wanted it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::Instant;
use crate::runtime::Runtime;

/// The most time for the first answer: a server or a name that was slow once does not delay every recovery.
const FIRST_ANSWER: Duration = Duration::from_secs(1);

/// Counts the answers on one connection.
pub(super) struct Progress {
    answers: AtomicU64,
    runtime: Arc<dyn Runtime>,
    /// No answer is expected before.
    first_answer: Instant,
}

impl Progress {
    /// For a connection that is open now; opening it began at that time.
    pub(super) fn since(opening: Instant, runtime: &Arc<dyn Runtime>) -> Self {
        let now = runtime.now();
        let first_answer = now + now.since(opening).min(FIRST_ANSWER);
        Self { answers: AtomicU64::new(0), runtime: Arc::clone(runtime), first_answer }
    }

    /// A request leaves on the connection; `dead` ends the connection.
    pub(super) fn expects<'a>(&'a self, dead: &'a CancellationToken) -> Unanswered<'a> {
        Unanswered { progress: self, dead, answers: self.answers(), is_over: false }
    }

    fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Whether nothing was answered since there were so many answers, although there was time for it.
    fn is_silent_since(&self, answers: u64) -> bool {
        self.answers() == answers && (answers > 0 || self.runtime.now() >= self.first_answer)
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
        self.progress.answers.fetch_add(1, Ordering::Relaxed);
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
        if !self.is_over && self.progress.is_silent_since(self.answers) {
            self.dead.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake::Clock;

    const OPENING: Duration = Duration::from_millis(900);

    /// A connection that was just opened, and its clock.
    fn opened() -> (Progress, Clock, CancellationToken) {
        let clock = Clock::default();
        let runtime: Arc<dyn Runtime> = Arc::new(clock.clone());
        let began = runtime.now();
        clock.advance(OPENING);
        (Progress::since(began, &runtime), clock, CancellationToken::new())
    }

    #[test]
    fn a_silent_connection_is_condemned() {
        let (progress, _, dead) = opened();
        progress.expects(&dead).answered();
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled());
    }

    #[test]
    fn a_slow_connection_is_kept() {
        let (progress, _, dead) = opened();
        let [late, in_time] = [(); 2].map(|()| progress.expects(&dead));
        in_time.answered();
        drop(late);
        assert!(!dead.is_cancelled());
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled(), "nothing was answered since");
    }

    #[test]
    fn the_first_answer_may_take_as_long_as_the_opening() {
        let (progress, clock, dead) = opened();
        let last_moment = Duration::from_nanos(1);
        clock.advance(OPENING.saturating_sub(last_moment));
        drop(progress.expects(&dead));
        assert!(!dead.is_cancelled());
        clock.advance(last_moment);
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled());
    }

    #[test]
    fn a_long_opening_does_not_count_in_full() {
        let (clock, dead) = (Clock::default(), CancellationToken::new());
        let runtime: Arc<dyn Runtime> = Arc::new(clock.clone());
        let began = runtime.now();
        clock.advance(FIRST_ANSWER * 3);
        let progress = Progress::since(began, &runtime);
        clock.advance(FIRST_ANSWER);
        drop(progress.expects(&dead));
        assert!(dead.is_cancelled());
    }

    #[test]
    fn a_failed_connection_is_condemned_despite_progress() {
        let (progress, _, dead) = opened();
        let failing = progress.expects(&dead);
        progress.expects(&dead).answered();
        failing.failed();
        assert!(dead.is_cancelled());
    }
}
