//! The application's callbacks.

use std::fmt;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::store::StoreError;
use crate::{StepDownReason, Tenure};

type Elected = dyn Fn(Tenure) -> BoxFuture<'static, ()> + Send + Sync;
type SteppedDown = dyn Fn(Tenure, StepDownReason) -> BoxFuture<'static, ()> + Send + Sync;
type Failed = dyn Fn(&StoreError) + Send + Sync;

/// In the order in which they were registered.
#[derive(Default)]
pub(crate) struct Callbacks(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    elected: Vec<Box<Elected>>,
    stepped_down: Vec<Box<SteppedDown>>,
    store_error: Vec<Box<Failed>>,
}

impl Callbacks {
    fn with<T>(&self, f: impl FnOnce(&mut Lists) -> T) -> T {
        // A callback that panicked has left the lists as they were.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn on_elected<F>(&self, callback: impl Fn(Tenure) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.with(|lists| lists.elected.push(Box::new(move |tenure| callback(tenure).boxed())));
    }

    pub(super) fn on_stepped_down<F>(
        &self,
        callback: impl Fn(Tenure, StepDownReason) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.with(|lists| {
            lists.stepped_down.push(Box::new(move |tenure, why| callback(tenure, why).boxed()));
        });
    }

    pub(super) fn on_store_error(&self, callback: impl Fn(&StoreError) + Send + Sync + 'static) {
        self.with(|lists| lists.store_error.push(Box::new(callback)));
    }

    /// The futures of all callbacks, not begun yet.
    pub(crate) fn elected(&self, tenure: &Tenure) -> Vec<BoxFuture<'static, ()>> {
        self.with(|lists| {
            lists.elected.iter().filter_map(|f| guarded(|| f(tenure.clone()))).collect()
        })
    }

    pub(crate) fn stepped_down(
        &self,
        tenure: &Tenure,
        reason: StepDownReason,
    ) -> Vec<BoxFuture<'static, ()>> {
        self.with(|lists| {
            lists
                .stepped_down
                .iter()
                .filter_map(|f| guarded(|| f(tenure.clone(), reason)))
                .collect()
        })
    }

    pub(crate) fn store_error(&self, error: &StoreError) {
        self.with(|lists| {
            for callback in &lists.store_error {
                guarded(|| callback(error));
            }
        });
    }
}

/// A panic in a callback is the application's bug, and must not become the election's.
fn guarded<T>(callback: impl FnOnce() -> T) -> Option<T> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback));
    if result.is_err() {
        panicked();
    }
    result.ok()
}

/// The same for a callback's future.
pub(crate) async fn guarded_future(future: BoxFuture<'static, ()>) {
    if std::panic::AssertUnwindSafe(future).catch_unwind().await.is_err() {
        panicked();
    }
}

fn panicked() {
    tracing::error!("a callback panicked");
    metrics::counter!("leader_callback_panics_total").increment(1);
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callbacks(..)")
    }
}
