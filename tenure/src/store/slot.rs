//! A place for one connection, which is opened anew once the one before is known or suspected to be of no
//! more use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{StoreError, StoreErrorKind};
use crate::runtime::Runtime;

/// A connection that was working when last seen.
pub(super) trait Connection {
    /// Cancelled once it is known or suspected to be of no more use.
    fn dead(&self) -> &CancellationToken;
}

/// A place for one connection.
pub(super) struct Slot<T> {
    current: Mutex<Option<Arc<T>>>,
    /// Held while connecting, so that a crowd of callers opens one connection.
    connecting: tokio::sync::Mutex<()>,
}

impl<T: Connection> Slot<T> {
    /// The connection, opened within that time if there is none.
    pub(super) async fn get<C: Future<Output = Result<T, StoreError>>>(
        &self,
        runtime: &dyn Runtime,
        within: Duration,
        connect: impl FnOnce() -> C,
    ) -> Result<Arc<T>, StoreError> {
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let _turn = self.connecting.lock().await;
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let new = Arc::new(in_time(runtime, within, Box::pin(connect())).await?);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&new));
        Ok(new)
    }

    pub(super) fn current(&self) -> Option<Arc<T>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|there| !there.dead().is_cancelled()).cloned()
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { current: Mutex::default(), connecting: tokio::sync::Mutex::default() }
    }
}

/// What is done to open a connection, bounded.
pub(super) async fn in_time<T>(
    runtime: &dyn Runtime,
    within: Duration,
    connect: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        connected = connect => connected,
        () = runtime.sleep_until(runtime.now() + within) => {
            let detail = format!("no connection within {within:?}");
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        }
    }
}

/// Condemns the connection unless the request on it came to an end that says nothing against it: a caller
/// that gave up has dropped the request half way, and the connection may be stuck for good.
#[cfg(any(feature = "redis", feature = "postgres", feature = "etcd"))]
pub(super) struct Answered<'a>(Option<&'a CancellationToken>);

#[cfg(any(feature = "redis", feature = "postgres", feature = "etcd"))]
impl<'a> Answered<'a> {
    pub(super) fn pending(on: &'a impl Connection) -> Self {
        Self(Some(on.dead()))
    }

    pub(super) fn yes(mut self) {
        self.0 = None;
    }
}

#[cfg(any(feature = "redis", feature = "postgres", feature = "etcd"))]
impl Drop for Answered<'_> {
    fn drop(&mut self) {
        if let Some(dead) = self.0.take() {
            dead.cancel();
        }
    }
}
