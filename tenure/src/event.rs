//! What an application is told.

use std::sync::OnceLock;
use std::time::Duration;

use futures_core::Stream;
use tokio::sync::broadcast;

use crate::store::StoreError;
use crate::{StepDownReason, Tenure, Token};

/// How many events a subscriber may fall behind before it loses the oldest.
const BUFFER: usize = 64;

/// What happened to a candidate. Each [`Event::Elected`] is followed by exactly one
/// [`Event::SteppedDown`] before the next one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The candidate leads.
    Elected(Tenure),
    /// The leader's lease has been renewed.
    Renewed(Tenure),
    /// The candidate no longer leads.
    SteppedDown {
        /// The tenure that ended.
        tenure: Tenure,
        /// Why.
        reason: StepDownReason,
    },
    /// Another candidate's tenure holds the lease.
    IncumbentChanged {
        /// Its token.
        token: Token,
    },
    /// The lease was granted by a store whose history is too short: the candidate leads after that
    /// time.
    Quarantined {
        /// How long.
        remaining: Duration,
    },
    /// A request failed, for the first time since the store last answered.
    StoreUnavailable {
        /// Why.
        error: StoreError,
    },
    /// The store answers again.
    StoreRecovered,
    /// This subscriber was too slow: so many events are lost.
    Lagged(u64),
}

/// The events of one candidate, to as many subscribers as there are. Costs nothing without any.
#[derive(Debug, Default)]
pub(crate) struct Events(OnceLock<broadcast::Sender<Event>>);

impl Events {
    pub(crate) fn publish(&self, event: impl FnOnce() -> Event) {
        if let Some(subscribers) = self.0.get() {
            // Fails only if every subscriber is gone.
            let _ = subscribers.send(event());
        }
    }

    pub(crate) fn subscribe(&self) -> impl Stream<Item = Event> + Send + Unpin + 'static + use<> {
        let receiver = self.0.get_or_init(|| broadcast::Sender::new(BUFFER)).subscribe();
        Box::pin(futures_util::stream::unfold(receiver, |mut receiver| async move {
            let event = match receiver.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(lost)) => Event::Lagged(lost),
                Err(broadcast::error::RecvError::Closed) => return None,
            };
            Some((event, receiver))
        }))
    }
}
