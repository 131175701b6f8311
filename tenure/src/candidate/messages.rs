//! Words to whoever leads.

use bytes::Bytes;

use super::{Candidate, is_vacant};
use crate::store::{LimitError, Message, Reply, Request, Store, StoreError};

/// Why a message to the leader was not sent, or may not have been.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The channel or the payload is too long or too short. Nothing was sent.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The store brings no messages: tell the leader in another way, for instance at the address that it
    /// gives in its metadata. Nothing was sent.
    #[error("the store {store:?} brings no messages")]
    Unsupported {
        /// The store's kind.
        store: &'static str,
    },
    /// Nobody holds the lease. Nothing was sent.
    #[error("nobody leads")]
    NobodyLeads,
    /// The store did not say whether it has sent the message.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Candidate {
    /// Sends a message to whoever leads, this candidate included: to the [inbox](crate::Tenure::inbox) of the
    /// tenure that holds the lease when the store carries this out. It reaches no other tenure, also if it
    /// comes late.
    ///
    /// **Not guaranteed**: that it arrives. It arrives at most once; it is lost if that tenure ends first, has
    /// not begun yet, does not listen, or loses its connection. For work that must be done, write it down where
    /// each leader looks when it begins, and let the message only say that there is some.
    ///
    /// # Errors
    /// See [`NotifyError`]. After [`NotifyError::Store`] the message may have been sent.
    pub async fn notify_leader(
        &self,
        channel: impl AsRef<str>,
        payload: impl Into<Bytes>,
    ) -> Result<(), NotifyError> {
        let message = Message::new(channel, payload)?;
        let shared = self.shared();
        let traits = shared.store.traits();
        if !traits.messages {
            return Err(NotifyError::Unsupported { store: traits.name });
        }
        match shared.ask(Request::Notify { message }).await? {
            Reply::Notified { .. } => Ok(()),
            other => {
                is_vacant(&other)?;
                Err(NotifyError::NobodyLeads)
            }
        }
    }
}
