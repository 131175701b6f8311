//! A place for one connection, which is opened anew once the previous one is known or suspected to
//! be unusable.
//!
//! Connecting is a task of its own with a bound of its own. It takes several round trips, and a
//! request's timeout may allow for one alone: if it ended with the request that asked for it, then
//! on a slow network no connection would ever be opened. All requests that need the connection wait
//! for the same attempt, and a request that gives up does not end the attempt.
//!
//! After an attempt comes a pause, which grows with each failure. An attempt counts as failed until
//! a request on its connection has succeeded: a server that accepts connections and then ends or
//! refuses everything is attempted no more often than one that is away. No attempt begins that no
//! request waits for.

mod attempt;
mod backoff;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::attempt::{Attempt, bounded};
#[cfg(feature = "postgres")]
use self::backoff::PAUSE_ALONE_MOST;
use self::backoff::{Backoff, PAUSE_MOST};
use super::{Key, Request, StoreError, StoreErrorKind};
use crate::Instant;
use crate::runtime::Runtime;

/// A connection that was working when last seen.
pub(super) trait Connection: Send + Sync + 'static {
    /// Cancelled once the connection is known or suspected to be unusable.
    fn dead(&self) -> &CancellationToken;

    /// True if a request on it has succeeded.
    fn has_served(&self) -> bool;

    /// The server at the other end is not the primary: connections to that host begin with its
    /// other addresses.
    fn is_wrong(&self) {}
}

/// The time to open a connection unless it is set: some sixteen round trips of 300 ms.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The behaviour if the next attempt to connect has to wait for the end of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Wait for that attempt. For candidates and subscriptions, which would only ask again: so a
    /// store that is away costs nothing for each of them but one answer for each attempt.
    Waits,
    /// Fail at once, with the error of the last attempt, unless that attempt was a success: then
    /// the pause is short, and why the connection ended may be another request's affair. For the
    /// application's own questions: why there is no answer says more than a timeout.
    Fails,
}

#[cfg_attr(
    not(any(
        feature = "redis-without-tls",
        feature = "fred",
        feature = "postgres",
        feature = "etcd"
    )),
    allow(dead_code, reason = "a backend of values is not told what is asked for")
)]
impl Patience {
    /// The first request's patience: a call has requests of one kind.
    pub(super) fn of_all(requests: &[(Key, Request)]) -> Self {
        requests.first().map_or(Self::Waits, |(_, request)| Self::of(request))
    }

    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Acquire { .. }
            | Request::Look { .. }
            | Request::Ask { .. }
            | Request::Renew { .. }
            | Request::Release { .. }
            | Request::Describe { .. } => Self::Waits,
            Request::Want { .. } | Request::Observe | Request::Notify { .. } => Self::Fails,
        }
    }
}

/// A place for one connection, which ends with it.
pub(super) struct Slot<T: Connection> {
    runtime: Arc<dyn Runtime>,
    /// The time for an attempt.
    within: Duration,
    state: Arc<Mutex<State<T>>>,
}

/// The treatment of a new connection when all that waited for it have given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unclaimed {
    /// It is there for the next request: those that gave up may only have had less time than a slow
    /// network needs.
    Kept,
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "only its wake-ups have their own connection")
    )]
    Ended,
}

struct State<T> {
    unclaimed: Unclaimed,
    phase: Phase<T>,
    backoff: Backoff,
    /// The error of the last attempt, or of the connection's end.
    trouble: Option<StoreError>,
}

/// The requests that wait for an attempt, in the order in which they came. (A `watch` channel would
/// wake them in a random order, and no simulation could be repeated.)
type Waiting<T> = Vec<oneshot::Sender<Outcome<T>>>;

type Outcome<T> = Result<Arc<T>, StoreError>;

enum Phase<T> {
    Closed,
    /// The next attempt begins after the pause.
    Pausing(Waiting<T>),
    /// An attempt is under way.
    Opening(Waiting<T>),
    Open(Arc<T>),
}

impl<T: Connection> Slot<T> {
    /// No connection yet. Opening one takes at most `within`, and the pause after a failure is at
    /// most half as long: an attempt at a server that does not answer takes longer than that.
    pub(super) fn new(runtime: &Arc<dyn Runtime>, within: Duration) -> Self {
        Self::with_pause(runtime, within, within / 2)
    }

    /// The same for one caller, which gives up only when it needs no connection any more, and
    /// without which elections go on: a server that has no room for it is asked ever more rarely.
    #[cfg(feature = "postgres")]
    pub(super) fn for_one(runtime: &Arc<dyn Runtime>, within: Duration) -> Self {
        let slot = Self::new(runtime, within);
        {
            let mut state = lock(&slot.state);
            state.unclaimed = Unclaimed::Ended;
            state.backoff = Backoff::new(PAUSE_ALONE_MOST);
        }
        slot
    }

    /// The same with another bound of the pause, which is never longer than 5 s.
    pub(super) fn with_pause(runtime: &Arc<dyn Runtime>, within: Duration, most: Duration) -> Self {
        let state = State {
            unclaimed: Unclaimed::Kept,
            phase: Phase::Closed,
            backoff: Backoff::new(most.min(PAUSE_MOST)),
            trouble: None,
        };
        Self { runtime: Arc::clone(runtime), within, state: Arc::new(Mutex::new(state)) }
    }

    /// The connection. If there is none, `connect` opens one in the background; it is not called
    /// while another attempt is under way.
    pub(super) async fn get(
        &self,
        patience: Patience,
        connect: impl FnOnce() -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
    ) -> Outcome<T> {
        let (outcome, begins) = match self.join(patience) {
            Joined::Done(outcome) => return outcome,
            Joined::Waits(outcome) => (outcome, None),
            Joined::Begins(outcome, at) => (outcome, Some(at)),
        };
        // Not under the lock: a runtime that is ending drops the task at once.
        if let Some(at) = begins {
            let attempt = self.attempt(at, connect);
            self.runtime
                .available()
                .map_err(|none| StoreError::new(StoreErrorKind::Unreachable, none.to_string()))?;
            self.runtime.spawn(attempt.boxed());
        }
        outcome.await.unwrap_or_else(|_| {
            let detail = "the runtime that was connecting has ended";
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        })
    }

    fn join(&self, patience: Patience) -> Joined<T> {
        let mut state = lock(&self.state);
        state.bury();
        let pause = match &state.phase {
            Phase::Open(there) => return Joined::Done(Ok(Arc::clone(there))),
            Phase::Closed => {
                let now = self.runtime.now();
                state.backoff.not_before().filter(|at| now < *at)
            }
            Phase::Pausing(_) | Phase::Opening(_) => None,
        };
        let is_pausing = pause.is_some() || matches!(state.phase, Phase::Pausing(_));
        if is_pausing && patience == Patience::Fails && state.backoff.has_failed() {
            return Joined::Done(Err(state.trouble()));
        }
        let (waiting, outcome) = oneshot::channel();
        match &mut state.phase {
            Phase::Pausing(all) | Phase::Opening(all) => {
                all.push(waiting);
                Joined::Waits(outcome)
            }
            closed @ (Phase::Closed | Phase::Open(_)) => {
                let phase = if pause.is_some() { Phase::Pausing } else { Phase::Opening };
                *closed = phase(vec![waiting]);
                Joined::Begins(outcome, pause)
            }
        }
    }

    /// One attempt, after the pause if there is one.
    fn attempt(
        &self,
        pause: Option<Instant>,
        connect: impl FnOnce() -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let mut attempt = Attempt::of(&self.state);
        let (runtime, within) = (Arc::clone(&self.runtime), self.within);
        async move {
            if let Some(at) = pause {
                runtime.sleep_until(at).await;
                let Some(wanted) = attempt.after_pause() else { return };
                attempt = wanted;
            }
            let outcome = bounded(&*runtime, within, connect()).await;
            attempt.ended(outcome, &*runtime);
        }
    }

    /// A request on that connection has failed. If the connection ended with it, that is why there
    /// is none.
    pub(super) fn failed(&self, on: &T, error: &StoreError) {
        if error.kind() == StoreErrorKind::NotPrimary {
            on.is_wrong();
        }
        if on.dead().is_cancelled() {
            lock(&self.state).trouble = Some(error.clone());
        }
    }

    /// The cause of a missing connection, as far as is known.
    pub(super) fn connect_error(&self) -> Option<StoreError> {
        let state = lock(&self.state);
        match &state.phase {
            Phase::Open(there) if !there.dead().is_cancelled() => None,
            Phase::Open(_) | Phase::Closed | Phase::Pausing(_) => state.trouble.clone(),
            Phase::Opening(_) => {
                let waits = || {
                    let detail =
                        format!("no connection yet; opening one may take {:?}", self.within);
                    StoreError::new(StoreErrorKind::Unreachable, detail)
                };
                Some(state.trouble.clone().unwrap_or_else(waits))
            }
        }
    }

    /// The connection, if there is one that works.
    pub(super) fn current(&self) -> Option<Arc<T>> {
        match &lock(&self.state).phase {
            Phase::Open(there) if !there.dead().is_cancelled() => Some(Arc::clone(there)),
            Phase::Open(_) | Phase::Pausing(_) | Phase::Opening(_) | Phase::Closed => None,
        }
    }
}

/// A request among those that need the connection.
enum Joined<T> {
    Done(Outcome<T>),
    Waits(oneshot::Receiver<Outcome<T>>),
    /// It is the first one, and begins the attempt, after that time if there is a pause.
    Begins(oneshot::Receiver<Outcome<T>>, Option<Instant>),
}

impl<T: Connection> State<T> {
    /// Closes a connection that has ended.
    fn bury(&mut self) {
        if let Phase::Open(there) = &self.phase
            && there.dead().is_cancelled()
        {
            if there.has_served() {
                self.backoff.succeeded();
            }
            self.phase = Phase::Closed;
        }
    }

    fn trouble(&self) -> StoreError {
        self.trouble.clone().unwrap_or_else(|| {
            let detail =
                "the last connection has ended, and the next attempt follows after a pause";
            StoreError::new(StoreErrorKind::Disconnected, detail)
        })
    }
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Connection> Drop for Slot<T> {
    fn drop(&mut self) {
        if let Some(there) = self.current() {
            there.dead().cancel();
        }
    }
}
