//! Requests in flight to resources outside of the processes. They land, whatever becomes of their
//! sender.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use super::journal::Journal;
use super::lock;
use super::node::Node;
use crate::plan::SimTime;

pub(super) struct Landings {
    journal: Arc<Journal>,
    /// In the order of their landing: all requests of a run take the same time.
    in_flight: Mutex<VecDeque<Landing>>,
}

struct Landing {
    at: SimTime,
    effect: Box<dyn FnOnce() + Send>,
}

impl Landings {
    pub(super) fn new(journal: Arc<Journal>) -> Self {
        Self { journal, in_flight: Mutex::default() }
    }

    /// Sends a request of that node's process, whose effect happens so much later. Completes with
    /// what the effect returns.
    ///
    /// The request is [handed over](Node::sends) in the first poll. It lands, even if nothing polls
    /// again.
    pub(super) async fn send<T: Send + 'static>(
        self: &Arc<Self>,
        node: &Node,
        takes: Duration,
        effect: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let (landed, has_landed) = oneshot::channel();
        let effect = Box::new(move || {
            // The task that waits for it may have been dropped.
            let _ = landed.send(effect());
        });
        let landings = Arc::clone(self);
        node.sends(move || {
            let at = landings.journal.now() + takes;
            lock(&landings.in_flight).push_back(Landing { at, effect });
            landings.land();
        });
        match has_landed.await {
            Ok(result) => result,
            // The effect has panicked, which ends the run; or the process has died before it was
            // sent.
            Err(_) => std::future::pending().await,
        }
    }

    /// Carries out the effects of the requests that have arrived by now.
    pub(super) fn land(&self) {
        while let Some(landing) = self.next_due() {
            (landing.effect)();
        }
    }

    fn next_due(&self) -> Option<Landing> {
        let mut in_flight = lock(&self.in_flight);
        let is_due = in_flight.front().is_some_and(|first| first.at <= self.journal.now());
        if is_due { in_flight.pop_front() } else { None }
    }
}
