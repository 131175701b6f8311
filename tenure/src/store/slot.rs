//! A place for one connection, which is opened anew once the previous one is known or suspected to be
//! unusable.
//!
//! Connecting is a task of its own with a bound of its own. It takes several round trips, and a request's
//! timeout may allow for one alone: if it ended with the request that asked for it, then on a slow network
//! no connection would ever be opened. All requests that need the connection wait for the same attempt, and a
//! request that gives up does not end the attempt.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{StoreError, StoreErrorKind};
use crate::runtime::Runtime;

/// A connection that was working when last seen.
pub(super) trait Connection: Send + Sync + 'static {
    /// Cancelled once the connection is known or suspected to be unusable.
    fn dead(&self) -> &CancellationToken;
}

/// How long opening a connection may take unless it is set: some sixteen round trips of 300 ms.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A place for one connection, which ends with it.
pub(super) struct Slot<T: Connection>(Arc<Mutex<State<T>>>);

enum State<T> {
    Closed,
    /// The requests that wait for the attempt under way, in the order in which they came. (A `watch` channel
    /// would wake them in a random order, and no simulation could be repeated.)
    Opening(Vec<oneshot::Sender<Outcome<T>>>),
    Open(Arc<T>),
}

type Outcome<T> = Result<Arc<T>, StoreError>;

impl<T: Connection> Slot<T> {
    /// The connection. If there is none, `connect` opens one in the background, within that time; `connect`
    /// is not called while an attempt is under way.
    pub(super) async fn get(
        &self,
        runtime: &Arc<dyn Runtime>,
        within: Duration,
        connect: impl FnOnce() -> BoxFuture<'static, Result<T, StoreError>>,
    ) -> Outcome<T> {
        let (waiting, outcome) = oneshot::channel();
        let is_first = match &mut *lock(&self.0) {
            State::Open(there) if !there.dead().is_cancelled() => return Ok(Arc::clone(there)),
            State::Opening(all) => {
                all.push(waiting);
                false
            }
            closed @ (State::Closed | State::Open(_)) => {
                *closed = State::Opening(vec![waiting]);
                true
            }
        };
        // Not under the lock: a runtime that is ending drops the task at once.
        if is_first {
            let attempt = Attempt(Arc::downgrade(&self.0));
            let connect = bounded(Arc::clone(runtime), within, connect());
            runtime.spawn(async move { attempt.ended(connect.await) }.boxed());
        }
        outcome.await.unwrap_or_else(|_| {
            let detail = "the runtime that was connecting has ended";
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        })
    }

    /// The connection, if there is one that works.
    pub(super) fn current(&self) -> Option<Arc<T>> {
        match &*lock(&self.0) {
            State::Open(there) if !there.dead().is_cancelled() => Some(Arc::clone(there)),
            State::Open(_) | State::Opening(_) | State::Closed => None,
        }
    }
}

/// An attempt that is under way. If its task is dropped, the requests that wait for it fail.
struct Attempt<T>(Weak<Mutex<State<T>>>);

impl<T: Connection> Attempt<T> {
    fn ended(mut self, outcome: Result<T, StoreError>) {
        let outcome = outcome.map(Arc::new);
        // Taken, so that dropping this does not end an attempt that comes after it.
        let Some(place) = std::mem::take(&mut self.0).upgrade() else {
            // The store is gone, and nothing else would end the connection.
            if let Ok(new) = outcome {
                new.dead().cancel();
            }
            return;
        };
        let state = outcome.as_ref().map_or(State::Closed, |new| State::Open(Arc::clone(new)));
        let before = std::mem::replace(&mut *lock(&place), state);
        if let State::Opening(waiting) = before {
            for one in waiting {
                // It may have given up.
                let _ = one.send(outcome.clone());
            }
        }
    }
}

impl<T> Drop for Attempt<T> {
    fn drop(&mut self) {
        if let Some(place) = self.0.upgrade() {
            let mut state = lock(&place);
            if let State::Opening(_) = &*state {
                *state = State::Closed;
            }
        }
    }
}

fn lock<T>(state: &Mutex<State<T>>) -> std::sync::MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Connection> Default for Slot<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State::Closed)))
    }
}

impl<T: Connection> Drop for Slot<T> {
    fn drop(&mut self) {
        if let Some(there) = self.current() {
            there.dead().cancel();
        }
    }
}

/// Carries a connection until it ends or is condemned.
#[cfg(any(feature = "redis", feature = "fred"))]
pub(super) async fn carry(dead: CancellationToken, connection: impl Future) {
    tokio::select! {
        biased;
        () = dead.cancelled() => {}
        _ = connection => dead.cancel(),
    }
}

/// An attempt to open a connection, within that time.
async fn bounded<T>(
    runtime: Arc<dyn Runtime>,
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

/// Condemns the connection unless the request on it was answered: a caller that gives up drops the request
/// half way, and the connection may be stuck for good.
#[cfg(feature = "redis")]
pub(super) struct Answered<'a>(Option<&'a CancellationToken>);

#[cfg(feature = "redis")]
impl<'a> Answered<'a> {
    pub(super) fn pending(on: &'a impl Connection) -> Self {
        Self(Some(on.dead()))
    }

    pub(super) fn yes(mut self) {
        self.0 = None;
    }
}

#[cfg(feature = "redis")]
impl Drop for Answered<'_> {
    fn drop(&mut self) {
        if let Some(dead) = self.0.take() {
            dead.cancel();
        }
    }
}
