//! A place for one connection, which is opened anew once the one before is known or suspected to be of no
//! more use.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::session::Session;
use crate::store::StoreError;

/// A place for one connection.
pub(super) struct Slot<T> {
    current: Mutex<Option<Arc<T>>>,
    /// Held while connecting, so that a crowd of callers opens one connection.
    connecting: tokio::sync::Mutex<()>,
}

impl<T: AsRef<Session>> Slot<T> {
    pub(super) async fn get<C: Future<Output = Result<T, StoreError>>>(
        &self,
        connect: impl FnOnce() -> C,
    ) -> Result<Arc<T>, StoreError> {
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let _turn = self.connecting.lock().await;
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let new = Arc::new(Box::pin(connect()).await?);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&new));
        Ok(new)
    }

    pub(super) fn current(&self) -> Option<Arc<T>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|there| !(***there).as_ref().dead.is_cancelled()).cloned()
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { current: Mutex::default(), connecting: tokio::sync::Mutex::default() }
    }
}

/// Condemns the connection unless the request on it was answered: a caller that gave up has dropped the
/// request half way, and the connection may be stuck for good.
pub(super) struct Answered<'a>(Option<&'a CancellationToken>);

impl<'a> Answered<'a> {
    pub(super) fn pending(session: &'a Session) -> Self {
        Self(Some(&session.dead))
    }

    pub(super) fn yes(mut self) {
        self.0 = None;
    }
}

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        if let Some(dead) = self.0.take() {
            dead.cancel();
        }
    }
}
