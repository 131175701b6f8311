//! Messages to the leader.

use bytes::Bytes;

use super::{Candidate, is_vacant};
use crate::runtime::NoRuntime;
use crate::store::{AnyStore, LimitError, Message, Reply, Request, Store, StoreError};

/// A message to the leader that was not sent, or may not have been.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The key, the channel or the payload is too long or too short. Nothing was sent.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// No async runtime runs here, or one that lacks timers or I/O. Nothing was sent.
    #[error(transparent)]
    NoRuntime(#[from] NoRuntime),
    /// The store has no messages: reach the leader in another way, for instance at the address in
    /// its metadata. Nothing was sent.
    #[error("the store {store:?} has no messages")]
    Unsupported {
        /// The store's kind.
        store: &'static str,
    },
    /// No candidate holds the lease. Nothing was sent.
    #[error("no candidate leads")]
    NobodyLeads,
    /// It is not known whether the store has sent the message.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Candidate {
    /// Sends a message to the leader, which may be this candidate: to the
    /// [inbox](crate::Tenure::inbox) of the tenure that holds the lease when the store carries this
    /// out. It reaches no other tenure, even if it is late.
    ///
    /// **Not guaranteed**: that it arrives. It arrives at most once; it is lost if that tenure ends
    /// first, has not begun yet, has no inbox, or loses its connection. Work that must be done
    /// belongs in a place where each leader looks when it begins; let the message only say that
    /// there is work.
    ///
    /// # Errors
    /// See [`NotifyError`]. After [`NotifyError::Store`] the message may have been sent.
    pub async fn notify_leader(
        &self,
        channel: impl AsRef<str>,
        payload: impl Into<Bytes>,
    ) -> Result<(), NotifyError> {
        let (shared, message) = (self.shared(), Message::new(channel, payload)?);
        let request = request(&shared.settings.store, message)?;
        outcome(&shared.ask(request).await?)
    }
}

/// The request that sends a message, if that store has messages.
pub(super) fn request(store: &AnyStore, message: Message) -> Result<Request, NotifyError> {
    let traits = store.traits();
    if traits.messages {
        Ok(Request::Notify { message })
    } else {
        Err(NotifyError::Unsupported { store: traits.name })
    }
}

pub(super) fn outcome(reply: &Reply) -> Result<(), NotifyError> {
    match reply {
        Reply::Notified { .. } => Ok(()),
        other => {
            is_vacant(other)?;
            Err(NotifyError::NobodyLeads)
        }
    }
}
