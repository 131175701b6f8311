//! A candidate in one election, as the application holds it.

mod builder;
mod default_name;
mod elections;
mod env;
mod first_attempt;
#[cfg(test)]
mod forgets;
mod hand_over;
mod messages;
mod metadata;
mod observer;
#[cfg(test)]
mod printed;
mod weak;
mod work;

use std::fmt;
use std::sync::Arc;

use futures_core::stream::FusedStream;
use futures_util::FutureExt;

pub use builder::{CandidateBuilder, StartError};
pub use elections::Elections;
#[doc(hidden)]
pub use env::known_variables;
#[cfg(test)]
pub(crate) use env::rows;
pub use first_attempt::FirstAttempt;
pub use hand_over::HandOverError;
pub use messages::NotifyError;
pub use observer::Observer;
pub use weak::WeakCandidate;

use observer::{NewWatch, Watch};

use crate::StepDownReason;
use crate::event::Event;
use crate::shared::{Settings, Shared, Standing, StopError};
use crate::store::{
    AnyStore, Incumbent, Key, Reply, Request, Shown, Store, StoreError, StoreErrorKind,
};
use crate::tenure::Tenure;

/// A candidate in one election. Clones are the same candidate; dropping the last one hands over and
/// leaves the election.
///
/// All functions of a candidate and of its [`Tenure`]s may be called on any thread, also outside of
/// tokio: only [`start`](CandidateBuilder::start) and the driver need a runtime.
///
/// **Not guaranteed**: that a candidate still leads at any moment after it was asked. See
/// [`Tenure::token`] for what closes that gap.
#[derive(Clone)]
pub struct Candidate(Arc<Owner>);

/// Leaves the election when the last handle is gone.
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The candidate has left the election, or its driver is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the candidate has stopped")]
pub struct Stopped;

impl Candidate {
    /// Starts from the defaults: a candidate for the election `key` at `store`.
    pub fn builder(store: impl Store, key: impl AsRef<str>) -> CandidateBuilder {
        CandidateBuilder::alone(AnyStore::new(store), key.as_ref())
    }

    fn new(shared: Arc<Shared>) -> Self {
        Self(Arc::new(Owner(shared)))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.0
    }

    /// The election.
    pub fn key(&self) -> &Key {
        &self.shared().key
    }

    /// The name for people: the one that was [set](CandidateBuilder::name), or `host-pid-boot`.
    pub fn name(&self) -> &str {
        self.shared().name()
    }

    /// True if this candidate leads now: at an instant within this call. An atomic load on each
    /// side of one reading of the clock: no lock, no allocation, and no reply, timer or thread is
    /// needed for it to become false.
    pub fn is_leader(&self) -> bool {
        let shared = self.shared();
        shared.leads_until.holds(|| shared.runtime.now())
    }

    /// The tenure, if this candidate leads now.
    pub fn tenure(&self) -> Option<Tenure> {
        self.shared().tenure().filter(Tenure::is_current)
    }

    /// Waits until this candidate leads: the present tenure, or the next one.
    ///
    /// # Errors
    /// If the candidate has stopped.
    pub async fn elected(&self) -> Result<Tenure, Stopped> {
        work::next_tenure(self.shared(), None).await
    }

    /// Calls back after each election from now on, in a task of its own that counts as the leader's
    /// work. Panics are logged and counted. Several callbacks add up, and stay as long as the
    /// candidate. An election may come before this call: one that must miss none belongs to the
    /// [builder](CandidateBuilder::on_elected).
    ///
    /// A callback that holds its own candidate keeps it in the election after all other handles are
    /// gone: use the tenure that it receives, or a [`WeakCandidate`].
    pub fn on_elected<F>(&self, callback: impl Fn(Tenure) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.shared().callbacks.on_elected(callback);
    }

    /// Calls back after each end of a tenure, in a task of its own. The lease is handed back, and
    /// the next campaign begins, only when the callback has ended, or the drain bound is over.
    pub fn on_stepped_down<F>(
        &self,
        callback: impl Fn(Tenure, StepDownReason) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.shared().callbacks.on_stepped_down(callback);
    }

    /// Calls back after each request to the store that failed, one after the other in a task of its
    /// own. A callback that is slow misses errors.
    pub fn on_store_error(&self, callback: impl Fn(&StoreError) + Send + Sync + 'static) {
        self.shared().callbacks.on_store_error(callback);
    }

    /// The events from now on. Each subscriber has a buffer of 64 events; one that is too slow
    /// receives [`Event::Lagged`]. The stream ends after [`Event::Stopped`], or without it when the
    /// driver is gone, and may be polled after its end.
    ///
    /// A candidate that was started may already have emitted events. To miss none, subscribe to a
    /// candidate that was [built](CandidateBuilder::build), then run its driver.
    pub fn events(&self) -> impl FusedStream<Item = Event> + Send + Unpin + 'static + use<> {
        self.shared().events.subscribe()
    }

    /// Asks the store who holds the lease, within the request timeout; `None` if it was given back,
    /// or was never granted. The holder leads as far as the record tells: it may have crashed since
    /// its last renewal.
    ///
    /// # Errors
    /// If the store did not answer. That does not mean that no candidate leads.
    pub async fn incumbent(&self) -> Result<Option<Incumbent>, StoreError> {
        Ok(shown_by(self.shared().ask(Request::Observe).await?)?.incumbent())
    }

    /// The leaders of this election as a stream, this candidate among them; see [`Observer`]. It
    /// asks the store through this candidate's connection, at its poll bound at the latest. It does
    /// not keep the candidate in the election, and ends when the candidate has stopped.
    pub fn observe(&self) -> Observer {
        let shared = Arc::clone(&self.0.0);
        let Settings { commands, chosen, .. } = &*shared.settings;
        let watch = Watch::new(NewWatch {
            key: shared.key.clone(),
            commands: commands.clone(),
            runtime: Arc::clone(&shared.runtime),
            poll_bound: chosen.config.poll_bound(),
            request_timeout: chosen.config.request_timeout(),
        });
        let over = async move {
            let is_over = |standing| match standing {
                Standing::Stopped | Standing::Abandoned => Some(()),
                Standing::Campaigning(_)
                | Standing::Watching(_)
                | Standing::Leading(_)
                | Standing::Ending
                | Standing::HoldingOff => None,
            };
            shared.standing.wait_for(is_over).await;
        };
        Observer::begin(watch, over.boxed())
    }

    /// Hands over: this candidate stops leading at once, gives the lease back once its work has
    /// ended, and campaigns again after the hold-off. Completes when the lease was given back, or
    /// could not be given back in time: within
    /// [`Explanation::longest_stop`](crate::Explanation::longest_stop).
    ///
    /// A candidate that does not lead gives its campaign up, and asks again after the hold-off.
    /// Work must not wait for its own candidate's resignation, which waits for the work.
    ///
    /// # Errors
    /// If leader-only work outlives its bound, or the driver is gone.
    pub async fn resign(&self) -> Result<(), StopError> {
        self.shared().resigned().await
    }

    /// Leaves the election for good: stops leading at once, gives the lease back once its work has
    /// ended. Ends within [`Explanation::longest_stop`](crate::Explanation::longest_stop), whatever
    /// the network does. May be called again.
    ///
    /// **Work that is not polled can't end**: beside a pinned
    /// [`run_while_leader`](Self::run_while_leader) in a `select!` this waits for the whole bound.
    /// Continue to poll the work, or use [`run_until`](Self::run_until), which does both.
    ///
    /// # Errors
    /// If leader-only work outlives its bound, or the driver is gone.
    pub async fn stop(&self) -> Result<(), StopError> {
        self.shared().stopped().await
    }
}

/// The state in the reply to an observe.
///
/// # Errors
/// If it is the reply to another request.
fn shown_by(reply: Reply) -> Result<Shown, StoreError> {
    match reply {
        Reply::At(shown) => Ok(shown),
        other => Err(StoreError::new(StoreErrorKind::UnexpectedReply, format!("{other:?}"))),
    }
}

/// Accepts the reply that no candidate holds the lease.
///
/// # Errors
/// If it is any other reply.
fn is_vacant(reply: &Reply) -> Result<(), StoreError> {
    match reply {
        Reply::Vacant => Ok(()),
        other => Err(StoreError::new(StoreErrorKind::UnexpectedReply, format!("{other:?}"))),
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("key", self.key())
            .field("is_leader", &self.is_leader())
            .finish_non_exhaustive()
    }
}
