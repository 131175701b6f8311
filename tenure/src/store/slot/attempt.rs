//! An attempt to open the connection: the pause before it, its time, and its outcome for all that
//! wait.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::{Connection, Phase, State, Unclaimed, lock};
use crate::runtime::Runtime;
use crate::store::{StoreError, StoreErrorKind};

/// An attempt that is under way. If its task is dropped, the requests that wait for it fail.
pub(super) struct Attempt<T: Connection>(Weak<Mutex<State<T>>>);

impl<T: Connection> Attempt<T> {
    pub(super) fn of(place: &Arc<Mutex<State<T>>>) -> Self {
        Self(Arc::downgrade(place))
    }

    /// The pause is over. The attempt begins, unless no request waits for it any more.
    pub(super) fn after_pause(mut self) -> Option<Self> {
        let place = self.0.upgrade()?;
        let mut state = lock(&place);
        let Phase::Pausing(waiting) = &mut state.phase else { return None };
        waiting.retain(|one| !one.is_closed());
        let waiting = std::mem::take(waiting);
        if waiting.is_empty() {
            // Taken, so that dropping this does not end an attempt that comes after it.
            self.0 = Weak::new();
            state.phase = Phase::Closed;
            return None;
        }
        state.phase = Phase::Opening(waiting);
        drop(state);
        Some(self)
    }

    /// Its outcome, for all that wait.
    pub(super) fn ended(mut self, outcome: Result<T, StoreError>, runtime: &dyn Runtime) {
        let outcome = outcome.map(Arc::new);
        // Taken, for the same reason.
        let Some(place) = std::mem::take(&mut self.0).upgrade() else {
            // The store is gone, and nothing else would end the connection.
            if let Ok(new) = outcome {
                new.dead().cancel();
            }
            return;
        };
        // Without randomness, the longest pause.
        let random = runtime.entropy().unwrap_or(u128::MAX);
        let waiting = {
            let mut state = lock(&place);
            state.backoff.attempted(runtime.now(), random);
            state.trouble = outcome.as_ref().err().cloned();
            let waiting = match std::mem::replace(&mut state.phase, Phase::Closed) {
                Phase::Opening(waiting) => waiting,
                Phase::Pausing(_) | Phase::Open(_) | Phase::Closed => Vec::new(),
            };
            if let Ok(new) = &outcome {
                let is_claimed = waiting.iter().any(|one| !one.is_closed());
                if is_claimed || state.unclaimed == Unclaimed::Kept {
                    state.phase = Phase::Open(Arc::clone(new));
                } else {
                    new.dead().cancel();
                }
            }
            waiting
        };
        for one in waiting {
            // It may have given up.
            let _ = one.send(outcome.clone());
        }
    }
}

impl<T: Connection> Drop for Attempt<T> {
    fn drop(&mut self) {
        if let Some(place) = self.0.upgrade() {
            let mut state = lock(&place);
            if let Phase::Opening(_) | Phase::Pausing(_) = &state.phase {
                state.phase = Phase::Closed;
            }
        }
    }
}

/// An attempt to open a connection, within that time.
pub(super) async fn bounded<T>(
    runtime: &dyn Runtime,
    within: Duration,
    connect: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late = runtime.sleep_until(runtime.now() + within);
    tokio::select! {
        biased;
        connected = connect => connected,
        () = late => {
            let detail = format!(
                "no connection within {within:?}: raise connect_timeout if that is less than the round \
                 trips that connecting takes"
            );
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        }
    }
}
