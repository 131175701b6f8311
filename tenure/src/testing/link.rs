//! The connection of one process to the store.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{Notify, oneshot};

use crate::Token;
use crate::runtime::Runtime;
use crate::store::{
    HistoryKind, Interest, Key, Memory, Message, Reply, Request, Store, StoreError, StoreErrorKind,
    StoreTraits, Watched,
};

pub(super) struct Link {
    store: Memory,
    runtime: Arc<dyn Runtime>,
    state: Mutex<State>,
    healed: Notify,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    /// The number of cuts.
    cuts: u64,
    round_trip: Duration,
    planned: VecDeque<Mishap>,
}

/// A failure of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    Fails(StoreErrorKind),
    LosesReply,
}

/// A request on its way.
#[derive(Clone, Copy)]
struct Trip {
    /// The number of cuts before the request was sent.
    cuts: u64,
    half: Duration,
    loses_reply: bool,
}

impl Link {
    pub(super) fn new(store: Memory, runtime: Arc<dyn Runtime>) -> Self {
        Self { store, runtime, state: Mutex::default(), healed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No step panics half way, so a poisoned state is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.is_cut = true;
        state.cuts += 1;
    }

    pub(super) fn heal(&self) {
        let was_cut = std::mem::take(&mut self.state().is_cut);
        if was_cut {
            self.healed.notify_one();
        }
    }

    pub(super) fn delay(&self, round_trip: Duration) {
        self.state().round_trip = round_trip;
    }

    pub(super) fn plan(&self, mishap: Mishap) {
        self.state().planned.push_back(mishap);
    }

    /// Sends a request, unless it is to fail.
    fn send(&self) -> Result<Trip, StoreError> {
        let mut state = self.state();
        let loses_reply = match state.planned.pop_front() {
            Some(Mishap::Fails(kind)) => {
                return Err(StoreError::new(kind, "the test lets this request fail"));
            }
            Some(Mishap::LosesReply) => true,
            None => false,
        };
        Ok(Trip { cuts: state.cuts, half: state.round_trip / 2, loses_reply })
    }

    /// Carries a request to the store and the reply back; `None` if either is lost.
    async fn carry(&self, trip: Trip, key: &Key, request: Request) -> Option<Reply> {
        self.travel(trip).await?;
        let reply = self.store.call(key, request).await.ok()?;
        self.travel(trip).await?;
        (!trip.loses_reply).then_some(reply)
    }

    /// Half of a round trip; `None` if the connection is cut before its end.
    async fn travel(&self, trip: Trip) -> Option<()> {
        if !trip.half.is_zero() {
            self.runtime.sleep_until(self.runtime.now() + trip.half).await;
        }
        let state = self.state();
        (!state.is_cut && state.cuts == trip.cuts).then_some(())
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&*self.state()).finish()
    }
}

/// The store as a process sees it.
pub(super) struct Remote(pub(super) Arc<Link>);

impl Store for Remote {
    fn traits(&self) -> StoreTraits {
        StoreTraits { name: "testing", history: HistoryKind::Quarantine, ..self.0.store.traits() }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let trip = self.0.send()?;
        let (link, key) = (Arc::clone(&self.0), key.clone());
        let (replies, reply) = oneshot::channel();
        // In a task of its own: a request that is given up still arrives.
        let carry = async move {
            if let Some(reply) = link.carry(trip, &key, request).await {
                // Its caller may have given it up.
                let _ = replies.send(reply);
            }
        };
        self.0.runtime.spawn(carry.boxed());
        match reply.await {
            Ok(reply) => Ok(reply),
            Err(_lost) => std::future::pending().await,
        }
    }

    /// At once, and not as a request that a test has planned something for.
    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        if self.0.state().is_cut {
            return Err(StoreError::new(
                StoreErrorKind::Unreachable,
                "the test has cut the connection",
            ));
        }
        self.0.store.purge(age).await
    }

    /// Those of the store while there is a connection; one for each election after that was cut.
    fn hints(&self, mut watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let link = Arc::clone(&self.0);
        let (interest, subscribed) = Interest::new();
        let hints = self.0.store.hints(subscribed);
        async_stream::stream! {
            let mut hints = pin!(hints);
            loop {
                tokio::select! {
                    biased;
                    changes = watched.changed() => {
                        let Some(changes) = changes else { return };
                        changes.added.iter().for_each(|key| interest.add(key));
                        changes.removed.iter().for_each(|key| interest.remove(key));
                    }
                    () = link.healed.notified() => {
                        for key in watched.keys() {
                            yield key;
                        }
                    }
                    Some(key) = hints.next() => {
                        let is_cut = link.state().is_cut;
                        if !is_cut {
                            yield key;
                        }
                    }
                }
            }
        }
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let link = Arc::clone(&self.0);
        let messages = self.0.store.messages(key, token);
        messages.filter(move |_| std::future::ready(!link.state().is_cut))
    }
}
