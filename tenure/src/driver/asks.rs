//! Requests of handles to the store: observations, messages to the leader, inboxes.
//!
//! They run in the driver's tasks. A caller that gives up drops only its end of a channel, not the
//! request: a request that is dropped condemns its connection, which all elections share.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};

use super::World;
use super::admission::Lane;
use crate::shared::Ask;
use crate::store::{Store, StoreError, StoreErrorKind};
use crate::tenure::Inbox;

impl World {
    pub(super) fn ask(&mut self, ask: Ask) {
        let Ask { key, request, within, answer, place } = ask;
        drop(place);
        let (runtime, began) = (Arc::clone(&self.runtime), self.runtime.now());
        let late = runtime.sleep_until(began + within);
        let left = self.admission.leaves(Lane::Questions, request.name(), began);
        let call = self.store.call_owned(key, request);
        let asked = async move {
            let result = tokio::select! {
                biased;
                result = call => result,
                () = late => Err(StoreError::new(StoreErrorKind::Timeout, format!("{within:?}"))),
            };
            let answered = super::is_answer(&result);
            // The caller may have given up.
            let _ = answer.send(result);
            (left, answered.then(|| runtime.now().since(began)))
        };
        self.asks.push(asked.boxed());
    }

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
