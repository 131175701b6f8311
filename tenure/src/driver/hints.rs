//! The wake-ups of all elections of a driver, as one stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Notify;

use crate::shared::{ElectionId, ObserverId};
use crate::store::{AnyStore, Interest, Key, Store};

pub(super) struct Hints {
    interest: Interest,
    elections: BTreeSet<(Key, ElectionId)>,
    observers: BTreeMap<Key, BTreeMap<ObserverId, Arc<Notify>>>,
    stream: BoxStream<'static, Key>,
}

impl Hints {
    pub(super) fn new(store: &AnyStore) -> Self {
        let (interest, watched) = Interest::new();
        let store = store.clone();
        // The store is asked within the runtime. A stream that has ended is not polled again.
        let stream = stream::once(async move { store.hints(watched).boxed() }).flatten();
        let stream = stream.chain(stream::pending()).boxed();
        Self { interest, elections: BTreeSet::new(), observers: BTreeMap::new(), stream }
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.elections.len() + self.observers.len() + self.interest.remembers()
    }

    pub(super) fn join(&mut self, key: &Key, id: ElectionId) {
        self.elections.insert((key.clone(), id));
        self.interest.add(key);
    }

    pub(super) fn leave(&mut self, key: &Key, id: ElectionId) {
        self.elections.remove(&(key.clone(), id));
        self.lose_interest(key);
    }

    pub(super) fn watch(&mut self, key: &Key, observer: ObserverId, hinted: Arc<Notify>) {
        self.observers.entry(key.clone()).or_default().insert(observer, hinted);
        self.interest.add(key);
    }

    pub(super) fn unwatch(&mut self, key: &Key, observer: ObserverId) {
        if let Some(observers) = self.observers.get_mut(key) {
            observers.remove(&observer);
            if observers.is_empty() {
                self.observers.remove(key);
            }
        }
        self.lose_interest(key);
    }

    fn lose_interest(&self, key: &Key) {
        if self.of(key).is_empty() && !self.observers.contains_key(key) {
            self.interest.remove(key);
        }
    }

    /// Wakes the observers of that key.
    pub(super) fn wake_observers(&self, key: &Key) {
        for observer in self.observers.get(key).into_iter().flat_map(BTreeMap::values) {
            observer.notify_one();
        }
    }

    /// The key of elections whose lease may have become vacant.
    pub(super) async fn next(&mut self) -> Option<Key> {
        self.stream.next().await
    }

    /// The elections of that key: candidates may be rivals in one process.
    pub(super) fn of(&self, key: &Key) -> Vec<ElectionId> {
        let all = (key.clone(), ElectionId::MIN)..=(key.clone(), ElectionId::MAX);
        self.elections.range(all).map(|(_, id)| *id).collect()
    }
}

/// Observers learn at once that no hint follows.
impl Drop for Hints {
    fn drop(&mut self) {
        for observer in self.observers.values().flat_map(BTreeMap::values) {
            observer.notify_one();
        }
    }
}
