//! Watches the progress of a connection.
//!
//! A caller that gives up drops its request half way. Then the connection may be stuck for good,
//! and has to be replaced soon: all requests that follow would wait on it in vain. Or the server is
//! slow, or only the caller was impatient: to replace a connection that works would cost all other
//! requests their answers.
//!
//! What tells them apart is how long the server usually takes, not how long this caller was ready
//! to wait. A request that was given up is evidence in one of three ways:
//!
//! - The server has answered something in the second half of the time that the request has waited:
//!   it answers.
//! - It was silent for at least [twice](FACTOR) as long as it usually takes: the connection is
//!   given up at once. That is how one ends on which answers usually come within milliseconds,
//!   whatever the request's timeout.
//! - It was silent for less. Any number of such requests proves nothing: at round trips of 2 s, no
//!   answer can come within 1.5 s. So the server is asked a question of our own, with more
//!   patience: twice the usual time and at least [`SILENCE`]. Without any answer until then, the
//!   connection is given up. One such question is under way at a time.
//!
//! So a stuck connection is given up at the latest `max(2 * usual, 1 s)` after the first request on
//! it was given up.
//!
//! The usual time is the median of the [latest](LATEST) answers: a few slow ones, after a pause of
//! either side, neither delay the end of a connection that gets stuck later, nor do a few quick
//! ones end one that is slow. As long as there was no answer, it is the time that opening the
//! connection took, which is at least one round trip.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::Instant;
use crate::logging;
use crate::runtime::Runtime;

/// The longest answer, in usual times.
const FACTOR: u32 = 2;

/// Whatever is usual, a silence of less is no evidence: a caller that was cancelled gives up at
/// once.
const SILENT_LEAST: Duration = Duration::from_millis(50);

/// The least time for the answer to a question of our own.
const SILENCE: Duration = Duration::from_secs(1);

/// The longest time that opening a connection counts for: a server or a name that was slow once
/// does not delay every recovery.
const OPENING_MOST: Duration = Duration::from_secs(1);

/// The number of answers that tell what is usual.
const LATEST: usize = 7;

/// Asks the server for any answer. False if the connection has failed.
pub(super) type Ask = Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// The record of the answers on one connection.
pub(super) struct Progress {
    heard: Arc<Heard>,
    dead: CancellationToken,
    ask: Ask,
    /// True if the connection is given up only after a question.
    asks_always: bool,
}

struct Heard {
    runtime: Arc<dyn Runtime>,
    answers: Mutex<Answers>,
    /// True if a question of our own is under way.
    is_asking: AtomicBool,
}

struct Answers {
    /// The time of the latest one, or of the opening.
    at: Instant,
    opening: Duration,
    /// The number of answers.
    count: usize,
    /// The times of the latest ones.
    took: [Duration; LATEST],
}

impl Progress {
    /// For a connection that is open now; opening it began at that time. `dead` ends it.
    pub(super) fn since(
        opening: Instant,
        runtime: &Arc<dyn Runtime>,
        dead: &CancellationToken,
        ask: Ask,
    ) -> Self {
        let now = runtime.now();
        let opening = now.since(opening).min(OPENING_MOST);
        let answers = Answers { at: now, opening, count: 0, took: [Duration::ZERO; LATEST] };
        let (runtime, answers) = (Arc::clone(runtime), Mutex::new(answers));
        let heard = Arc::new(Heard { runtime, answers, is_asking: AtomicBool::new(false) });
        Self { heard, dead: dead.clone(), ask, asks_always: false }
    }

    /// The same, but the connection is never given up without a question: its end costs more than a
    /// few requests.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn asks_always(self) -> Self {
        Self { asks_always: true, ..self }
    }

    /// A request leaves on the connection.
    pub(super) fn expects(&self) -> Unanswered<'_> {
        Unanswered { progress: self, sent: self.heard.runtime.now(), is_over: false }
    }

    /// The request of that time was answered.
    pub(super) fn answered(&self, sent: Instant) {
        self.heard.answered(sent);
    }

    /// True if there was any answer.
    #[cfg(any(feature = "etcd", feature = "kubernetes"))]
    pub(super) fn has_answered(&self) -> bool {
        self.heard.answers().count > 0
    }

    fn given_up(&self, sent: Instant) {
        let now = self.heard.runtime.now();
        let (silence, usual) = {
            let answers = self.heard.answers();
            (now.since(answers.at.max(sent)), answers.usual())
        };
        if self.dead.is_cancelled() || 2 * silence < now.since(sent) {
            return;
        }
        let is_long = silence >= (usual * FACTOR).max(SILENT_LEAST);
        // A runtime that ends can't carry a question.
        if (is_long && !self.asks_always) || self.heard.runtime.available().is_err() {
            self.dead.cancel();
        } else {
            self.asks(SILENCE);
        }
    }

    /// Asks the server whether it is still there, unless that is being asked already. It has that
    /// time to answer, and more if it usually takes long.
    pub(super) fn asks(&self, least: Duration) {
        if let Some(asking) = Asking::begin(&self.heard) {
            let usual = self.heard.answers().usual();
            let patience = (usual * FACTOR).max(least);
            let asks = asking.ask((self.ask)(), patience, self.dead.clone());
            self.heard.runtime.spawn(asks.boxed());
        }
    }
}

impl Heard {
    fn answered(&self, sent: Instant) {
        let now = self.runtime.now();
        let mut answers = self.answers();
        let place = answers.count % LATEST;
        answers.took[place] = now.since(sent);
        answers.count += 1;
        answers.at = now;
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        // No step panics half way.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    /// The usual time of an answer.
    fn usual(&self) -> Duration {
        let mut took = self.took;
        let took = &mut took[..self.count.min(LATEST)];
        took.sort_unstable();
        took.get(took.len().saturating_sub(1) / 2).copied().unwrap_or(self.opening)
    }
}

/// The question of our own that is under way.
struct Asking(Arc<Heard>);

impl Asking {
    fn begin(heard: &Arc<Heard>) -> Option<Self> {
        let was_asking = heard.is_asking.swap(true, Ordering::Relaxed);
        (!was_asking).then(|| Self(Arc::clone(heard)))
    }

    async fn ask(
        self,
        answer: BoxFuture<'static, bool>,
        within: Duration,
        dead: CancellationToken,
    ) {
        let heard = &self.0;
        let asked = heard.runtime.now();
        tokio::select! {
            biased;
            () = dead.cancelled() => {}
            is_answer = answer => if is_answer { heard.answered(asked) } else { dead.cancel() },
            () = heard.runtime.sleep_until(asked + within) => {
                if heard.answers().at <= asked {
                    logging::debug!(?within, "a connection is given up: no answer");
                    dead.cancel();
                }
            }
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Relaxed);
    }
}

/// A request on its way. Dropping it half way shows whether the connection is stuck.
#[must_use]
pub(super) struct Unanswered<'a> {
    progress: &'a Progress,
    sent: Instant,
    is_over: bool,
}

impl Unanswered<'_> {
    #[cfg(any(
        test,
        feature = "redis-without-tls",
        feature = "fred",
        feature = "postgres",
        feature = "kubernetes",
        feature = "mysql"
    ))]
    pub(super) fn answered(mut self) {
        self.progress.answered(self.sent);
        self.is_over = true;
    }

    /// It has ended. It consisted of steps that were answered each.
    #[cfg(feature = "etcd")]
    pub(super) fn over(mut self) {
        self.is_over = true;
    }

    /// The connection has failed.
    #[cfg_attr(
        not(any(feature = "redis-without-tls", feature = "fred", feature = "postgres")),
        allow(dead_code, reason = "etcd has no need of it")
    )]
    pub(super) fn failed(mut self) {
        self.progress.dead.cancel();
        self.is_over = true;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if thread::panicking() {
            // Half way through the code of the connection, perhaps: nothing vouches for its state.
            self.progress.dead.cancel();
        } else {
            self.progress.given_up(self.sent);
        }
    }
}

#[cfg(test)]
mod tests;
