//! The wake-ups of all elections of a driver, as one stream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Notify;

use crate::shared::ObserverId;
use crate::store::{AnyStore, Interest, Key, Store};

pub(super) struct Hints {
    interest: Interest,
    /// In order, as they wake if the driver is dropped.
    observers: BTreeMap<ObserverId, Arc<Notify>>,
    stream: BoxStream<'static, Key>,
}

impl Hints {
    pub(super) fn new(store: &AnyStore) -> Self {
        let (interest, watched) = Interest::new();
        let store = store.clone();
        // The store is asked within the runtime. A stream that has ended is not polled again.
        let stream = stream::once(async move { store.hints(watched).boxed() }).flatten();
        let stream = stream.chain(stream::pending()).boxed();
        Self { interest, observers: BTreeMap::new(), stream }
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.observers.len() + self.interest.remembers()
    }

    pub(super) fn subscribe(&self, key: &Key) {
        self.interest.add(key);
    }

    pub(super) fn unsubscribe(&self, key: &Key) {
        self.interest.remove(key);
    }

    pub(super) fn observe(&mut self, observer: ObserverId, hinted: Arc<Notify>) {
        self.observers.insert(observer, hinted);
    }

    pub(super) fn forget(&mut self, observer: ObserverId) {
        self.observers.remove(&observer);
    }

    pub(super) fn wake(&self, observer: ObserverId) {
        if let Some(hinted) = self.observers.get(&observer) {
            hinted.notify_one();
        }
    }

    /// The key of elections whose lease may have become vacant.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Key>> {
        self.stream.poll_next_unpin(context)
    }
}

/// Observers learn at once that no hint follows.
impl Drop for Hints {
    fn drop(&mut self) {
        for observer in self.observers.values() {
            observer.notify_one();
        }
    }
}
