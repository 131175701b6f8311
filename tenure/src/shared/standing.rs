//! What the driver says of a candidate, and those who wait for it to change.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::tenure::Tenure;

/// The candidate's state as the driver last saw it. Whether a tenure still holds, only the clock decides.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Waiting,
    Leading(Tenure),
    Stopped,
    /// The driver is gone and has not handed the lease back.
    Abandoned,
}

/// The present standing. (A `watch` channel would do the same; it takes seven times the memory, which every election
/// of a process would pay for, and wakes those who wait in a random order.)
pub(crate) struct Announced {
    standing: Mutex<Standing>,
    changed: Notify,
}

impl Announced {
    pub(crate) fn new(standing: Standing) -> Self {
        Self { standing: Mutex::new(standing), changed: Notify::new() }
    }

    pub(crate) fn get(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, standing: Standing) {
        let before = {
            let mut present = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *present, standing)
        };
        // Not under the lock: it may be the last handle on a tenure.
        drop(before);
        self.changed.notify_waiters();
    }

    /// The first that is chosen, now or later.
    pub(crate) async fn wait_for<T>(&self, choose: impl Fn(Standing) -> Option<T>) -> T {
        loop {
            // Before the look: it notices every change from here on.
            let changed = self.changed.notified();
            if let Some(chosen) = choose(self.get()) {
                return chosen;
            }
            changed.await;
        }
    }
}
