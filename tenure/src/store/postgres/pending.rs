//! Checks a connection after a request on it was given up.
//!
//! A caller may give up for reasons of its own: it was cancelled, or its timeout was short. Other requests use the
//! connection too, and where leases are granted under advisory locks, its end frees the locks.
//! So an empty query is sent, whose answer comes after all others. Without that answer the connection is given up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::live::Live;
use crate::Instant;
use crate::runtime::Runtime;

/// How long a connection may be silent after a request on it was given up.
const SILENCE: Duration = Duration::from_secs(1);

/// A request on its way.
pub(super) struct Pending<'a> {
    live: &'a Arc<Live>,
    runtime: &'a Arc<dyn Runtime>,
    sent_at: Instant,
    is_answered: bool,
}

impl<'a> Pending<'a> {
    pub(super) fn on(live: &'a Arc<Live>, runtime: &'a Arc<dyn Runtime>) -> Self {
        Self { live, runtime, sent_at: runtime.now(), is_answered: false }
    }

    /// The answer has come; `is_fatal` says that the connection is unusable.
    pub(super) fn answered(mut self, is_fatal: bool) {
        self.is_answered = true;
        self.live.distance.measured(self.runtime.now().since(self.sent_at));
        if is_fatal {
            self.live.session.dead.cancel();
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let dead = &self.live.session.dead;
        if self.is_answered || dead.is_cancelled() {
            return;
        }
        self.live.distance.given_up();
        if self.runtime.available().is_err() {
            dead.cancel();
            return;
        }
        let live = Arc::clone(self.live);
        let late = self.runtime.sleep_until(self.runtime.now() + SILENCE);
        let asks = async move {
            let dead = &live.session.dead;
            tokio::select! {
                biased;
                () = dead.cancelled() => {}
                answer = live.session.client.simple_query("") => {
                    if answer.is_err() {
                        dead.cancel();
                    }
                }
                () = late => dead.cancel(),
            }
        };
        self.runtime.spawn(asks.boxed());
    }
}
