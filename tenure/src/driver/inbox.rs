//! The inboxes of tenures.

use futures_util::{FutureExt, StreamExt};

use super::Driver;
use crate::store::Store;
use crate::tenure::Inbox;

impl Driver {
    /// Subscribes at once, before the driver handles its next command.
    pub(super) fn open(&self, inbox: Inbox) {
        let Inbox { key, token, messages: reader, over } = inbox;
        let mut messages = self.store.messages(&key, token).boxed();
        let first = messages.next().now_or_never();
        let forward = async move {
            let mut next = first;
            loop {
                let message = if let Some(message) = next.take() {
                    message
                } else {
                    tokio::select! {
                        biased;
                        () = over.cancelled() => return,
                        () = reader.closed() => return,
                        message = messages.next() => message,
                    }
                };
                let Some(message) = message else { return };
                if reader.send(message).is_err() {
                    return;
                }
            }
        };
        self.runtime.spawn(forward.boxed());
    }
}
