//! A request on its way, and what becomes of the connection and its distance if it is given up.
//!
//! A caller may give up for reasons of its own: it was cancelled, or its timeout was short. Other requests use the
//! connection too, and where leases are granted under advisory locks, its end frees the locks.
//! So an empty query is sent, whose answer comes after all others; see [`progress`](crate::store::progress). Without an
//! answer the connection is given up.

use std::sync::Arc;

use super::live::Live;
use crate::Instant;
use crate::runtime::Runtime;
use crate::store::progress::Unanswered;

/// A request on its way.
pub(super) struct Pending<'a> {
    live: &'a Arc<Live>,
    runtime: &'a Arc<dyn Runtime>,
    sent_at: Instant,
    /// Until it is answered.
    unanswered: Option<Unanswered<'a>>,
}

impl<'a> Pending<'a> {
    pub(super) fn on(live: &'a Arc<Live>, runtime: &'a Arc<dyn Runtime>) -> Self {
        let unanswered = Some(live.session.progress.expects());
        Self { live, runtime, sent_at: runtime.now(), unanswered }
    }

    /// The answer has come; `is_fatal` says that the connection is unusable.
    pub(super) fn answered(mut self, is_fatal: bool) {
        self.live.distance.measured(self.runtime.now().since(self.sent_at));
        match self.unanswered.take() {
            Some(unanswered) if is_fatal => unanswered.failed(),
            Some(unanswered) => unanswered.answered(),
            None => {}
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.unanswered.is_some() {
            self.live.distance.given_up();
        }
    }
}
