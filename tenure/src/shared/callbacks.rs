//! The application's callbacks. Their code runs in tasks of their own: never in the driver's task
//! and never under a lock, so that a callback that blocks, or registers another one, delays no
//! other election.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::logging::{self, LIFE};
use crate::store::StoreError;
use crate::tenure::Tenure;
use crate::{StepDownReason, metrics};

type Elected = dyn Fn(Tenure) -> BoxFuture<'static, ()> + Send + Sync;
type SteppedDown = dyn Fn(Tenure, StepDownReason) -> BoxFuture<'static, ()> + Send + Sync;
type Failed = dyn Fn(&StoreError) + Send + Sync;

/// In the order in which they were registered. Clones are the same once there is one; the lists are
/// made with it, since most candidates have none.
#[derive(Clone, Default)]
pub(crate) struct Callbacks(OnceLock<Arc<Mutex<Lists>>>);

#[derive(Clone, Default)]
pub(crate) struct Lists {
    elected: Vec<Arc<Elected>>,
    stepped_down: Vec<Arc<SteppedDown>>,
    store_error: Vec<Arc<Failed>>,
}

impl Callbacks {
    fn with<T: Default>(&self, f: impl FnOnce(&mut Lists) -> T) -> T {
        let lists = self.0.get();
        lists.map_or_else(T::default, |lists| {
            f(&mut lists.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn register(&self, f: impl FnOnce(&mut Lists)) {
        self.0.get_or_init(Arc::default);
        self.with(f);
    }

    pub(crate) fn on_elected<F>(&self, callback: impl Fn(Tenure) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let callback: Arc<Elected> = Arc::new(move |tenure| callback(tenure).boxed());
        self.register(|lists| lists.elected.push(callback));
    }

    pub(crate) fn on_stepped_down<F>(
        &self,
        callback: impl Fn(Tenure, StepDownReason) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let callback: Arc<SteppedDown> =
            Arc::new(move |tenure, reason| callback(tenure, reason).boxed());
        self.register(|lists| lists.stepped_down.push(callback));
    }

    pub(crate) fn on_store_error(&self, callback: impl Fn(&StoreError) + Send + Sync + 'static) {
        let callback: Arc<Failed> = Arc::new(callback);
        self.register(|lists| lists.store_error.push(callback));
    }

    /// One future for each callback. The callback's own code begins when its future is polled.
    pub(crate) fn elected(&self, tenure: &Tenure) -> Vec<BoxFuture<'static, ()>> {
        let call = |callback: &Arc<Elected>| {
            let (callback, tenure) = (Arc::clone(callback), tenure.clone());
            guarded(async move { callback(tenure).await }).boxed()
        };
        self.with(|lists| lists.elected.iter().map(call).collect())
    }

    /// The same for the callbacks after the end of a tenure.
    pub(crate) fn stepped_down(
        &self,
        tenure: &Tenure,
        reason: StepDownReason,
    ) -> Vec<BoxFuture<'static, ()>> {
        let call = |callback: &Arc<SteppedDown>| {
            let (callback, tenure) = (Arc::clone(callback), tenure.clone());
            guarded(async move { callback(tenure, reason).await }).boxed()
        };
        self.with(|lists| lists.stepped_down.iter().map(call).collect())
    }

    /// True if there are callbacks for errors.
    pub(crate) fn has_error_callbacks(&self) -> bool {
        self.with(|lists| !lists.store_error.is_empty())
    }

    /// Hands an error to all callbacks for errors, one after the other.
    pub(crate) async fn store_error(&self, error: &StoreError) {
        for callback in self.with(|lists| lists.store_error.clone()) {
            guarded(async { callback(error) }).await;
        }
    }

    /// Takes all callbacks out, for the caller to drop them: that runs the application's code too.
    pub(crate) fn take(&self) -> Option<Lists> {
        let lists = self.with(std::mem::take);
        let Lists { elected, stepped_down, store_error } = &lists;
        let are_none = elected.is_empty() && stepped_down.is_empty() && store_error.is_empty();
        (!are_none).then_some(lists)
    }
}

/// A panic in a callback is the application's bug, and must not become the election's.
async fn guarded(callback: impl Future<Output = ()>) {
    if AssertUnwindSafe(callback).catch_unwind().await.is_err() {
        logging::error!(target: LIFE, "a callback panicked");
        metrics::callback_panicked();
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callbacks(..)")
    }
}
