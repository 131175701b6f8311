//! The driver's view of a candidate, and those who wait for it to change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_core::Mark;
use tokio::sync::Notify;

use crate::store::{Incumbent, StoreError};
use crate::tenure::Tenure;
use crate::{Instant, Token};

/// The candidate's state as the driver last saw it. Whether a tenure still holds, only the clock
/// decides.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    /// Asks for the lease. `None` unless the store's last answer was that another candidate holds
    /// it.
    Campaigning(Option<Arc<Sighting>>),
    /// Watches the store's past until that instant, and knows no incumbent.
    Watching(Instant),
    Leading(Tenure),
    /// Gives back what it holds.
    Ending,
    /// Between two campaigns: holds off, or waits for work.
    HoldingOff,
    Stopped,
    /// The driver is gone and has not handed the lease back.
    Abandoned,
}

/// An incumbent as the store has shown it.
#[derive(Debug)]
pub(crate) struct Sighting {
    pub(crate) incumbent: Incumbent,
    pub(crate) renewal: (Mark, Instant),
    /// The first answer with this renewal, which the leader's next one changes.
    pub(crate) unchanged_since: Instant,
    /// The first answer with this tenure.
    pub(crate) first_seen_at: Instant,
}

/// The known state of the store.
#[derive(Clone, Debug)]
pub(crate) enum StoreState {
    NotAnswered,
    Answering,
    Unavailable(Box<Outage>),
}

/// The requests since `since` have failed, the last one with that error.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    pub(crate) since: Instant,
    pub(crate) error: StoreError,
    /// True if the store had answered before.
    pub(crate) has_answered: bool,
}

/// A look at all of it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) standing: Standing,
    /// The beginning of that standing.
    pub(crate) since: Instant,
    pub(crate) store: StoreState,
    /// The last tenure whose release the store has confirmed.
    pub(crate) given_back: Option<Token>,
    /// A handle has asked the candidate to stop.
    pub(crate) is_stopping: bool,
}

/// The present state. (A `watch` channel would do the same; it takes seven times the memory, which
/// every election of a process would pay for, and wakes those who wait in a random order.)
pub(crate) struct Announced {
    state: Mutex<State>,
    changed: Notify,
}

impl Standing {
    /// True if both are the same state for those who wait; the details may differ.
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Campaigning(Some(one)), Self::Campaigning(Some(two))) => {
                one.incumbent.token == two.incumbent.token
            }
            (Self::Campaigning(one), Self::Campaigning(two)) => one.is_none() && two.is_none(),
            (Self::Leading(one), Self::Leading(two)) => one.token() == two.token(),
            (one, two) => std::mem::discriminant(one) == std::mem::discriminant(two),
        }
    }
}

impl Announced {
    /// A candidate that campaigns from `now` on.
    pub(crate) fn new(now: Instant) -> Self {
        let state = State {
            standing: Standing::Campaigning(None),
            since: now,
            store: StoreState::NotAnswered,
            given_back: None,
            is_stopping: false,
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> Standing {
        self.lock().standing.clone()
    }

    pub(crate) fn look(&self) -> State {
        self.lock().clone()
    }

    /// The candidate stands there from `now` on, unless it did before.
    pub(crate) fn set(&self, standing: Standing, now: Instant) {
        let (before, has_changed) = {
            let mut state = self.lock();
            let has_changed = !state.standing.is_alike(&standing);
            if has_changed {
                state.since = now;
            }
            (std::mem::replace(&mut state.standing, standing), has_changed)
        };
        // Not under the lock: it may be the last handle on a tenure.
        drop(before);
        if has_changed {
            self.changed.notify_waiters();
        }
    }

    /// The next standing tells those who wait.
    pub(crate) fn given_back(&self, tenure: Token) {
        self.lock().given_back = Some(tenure);
    }

    pub(crate) fn stopping(&self) {
        self.lock().is_stopping = true;
    }

    pub(crate) fn store_answers(&self) {
        self.lock().store = StoreState::Answering;
    }

    pub(crate) fn store_is_unavailable(&self, since: Instant, error: StoreError) {
        let mut state = self.lock();
        let has_answered = match &state.store {
            StoreState::NotAnswered => false,
            StoreState::Answering => true,
            StoreState::Unavailable(outage) => outage.has_answered,
        };
        let outage = StoreState::Unavailable(Box::new(Outage { since, error, has_answered }));
        let before = std::mem::replace(&mut state.store, outage);
        drop(state);
        drop(before);
        // Those who wait for the first attempt learn its outcome.
        self.changed.notify_waiters();
    }

    /// Another request has failed.
    pub(crate) fn store_failed_again(&self, error: StoreError) {
        let mut state = self.lock();
        if let StoreState::Unavailable(outage) = &mut state.store {
            let before = std::mem::replace(&mut outage.error, error);
            // Not under the lock: its source is the store's.
            drop(state);
            drop(before);
        }
    }

    /// The first standing that is chosen, now or later.
    pub(crate) async fn wait_for<T>(&self, choose: impl Fn(Standing) -> Option<T>) -> T {
        self.wait_for_state(|state| choose(state.standing)).await
    }

    /// The first state that is chosen, now or later.
    pub(crate) async fn wait_for_state<T>(&self, choose: impl Fn(State) -> Option<T>) -> T {
        loop {
            // Before the look: it notices every change from here on.
            let changed = self.changed.notified();
            if let Some(chosen) = choose(self.look()) {
                return chosen;
            }
            changed.await;
        }
    }
}
