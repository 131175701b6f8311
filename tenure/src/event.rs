//! The events that an application receives.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_core::stream::FusedStream;
use futures_util::StreamExt;
use tokio::sync::broadcast;

use crate::store::StoreError;
use crate::tenure::Tenure;
use crate::{StepDownReason, Token};

/// The most unread events of a subscriber before it loses the oldest.
const BUFFER: usize = 64;

/// An event of a candidate. Each [`Event::Elected`] is followed by exactly one
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
        /// The reason.
        reason: StepDownReason,
    },
    /// Another candidate's tenure holds the lease.
    IncumbentChanged {
        /// Its token.
        token: Token,
    },
    /// The store may have lost an older leader's lease, so the candidate watches it before it may
    /// be granted anything.
    Watching {
        /// The time to wait.
        remaining: Duration,
    },
    /// The candidate's settings contradict those of the candidate that was last granted the lease:
    /// after a loss of data, one of the two would not wait for the other's leases. Each takes over
    /// from the other only after the longer of the recorded TTL and quarantine. Raise
    /// [`quarantine`](crate::ConfigBuilder::quarantine) to the longest TTL in use, for every
    /// candidate of the election, before any TTL is changed.
    SettingsContradict {
        /// The TTL of the other candidate, which the quarantine must not be below.
        ttl: Duration,
        /// The quarantine of the other candidate, which the TTL must not be above.
        quarantine: Duration,
    },
    /// A request failed, for the first time since the store last answered.
    StoreUnavailable {
        /// The reason.
        error: StoreError,
    },
    /// The store answers again.
    StoreRecovered,
    /// The candidate has left the election for good. The stream ends after this event.
    Stopped,
    /// This subscriber was too slow, and that many events are lost.
    Lagged(u64),
}

/// The events of one candidate, for all its subscribers. Without subscribers, events are not even
/// built.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Channel>);

#[derive(Debug, Default)]
enum Channel {
    /// There was no subscriber yet.
    #[default]
    Idle,
    Open(broadcast::Sender<Event>),
    /// No event follows.
    Closed,
}

impl Events {
    fn channel(&self) -> std::sync::MutexGuard<'_, Channel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, event: impl FnOnce() -> Event) {
        match &*self.channel() {
            Channel::Open(subscribers) => {
                // It fails only if every subscriber is gone.
                let _ = subscribers.send(event());
            }
            Channel::Idle | Channel::Closed => {}
        }
    }

    /// Ends the streams of all subscribers, once they have read what was published.
    pub(crate) fn close(&self) {
        *self.channel() = Channel::Closed;
    }

    pub(crate) fn subscribe(
        &self,
    ) -> impl FusedStream<Item = Event> + Send + Unpin + 'static + use<> {
        let receiver = match &mut *self.channel() {
            Channel::Open(subscribers) => Some(subscribers.subscribe()),
            Channel::Closed => None,
            idle @ Channel::Idle => {
                let (subscribers, receiver) = broadcast::channel(BUFFER);
                *idle = Channel::Open(subscribers);
                Some(receiver)
            }
        };
        let events = futures_util::stream::unfold(receiver, |receiver| async move {
            let mut receiver = receiver?;
            let event = match receiver.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(lost)) => Event::Lagged(lost),
                Err(broadcast::error::RecvError::Closed) => return None,
            };
            Some((event, Some(receiver)))
        });
        // Fused: a `select!` in a loop polls the stream again after its end.
        Box::pin(events.fuse())
    }
}
