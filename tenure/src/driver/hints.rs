//! The wake-ups of all elections of a driver, as one stream.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use crate::shared::ElectionId;
use crate::store::{AnyStore, Interest, Key, Store};

pub(super) struct Hints {
    interest: Interest,
    elections: BTreeSet<(Key, ElectionId)>,
    stream: BoxStream<'static, Key>,
}

impl Hints {
    pub(super) fn new(store: &AnyStore) -> Self {
        let (interest, watched) = Interest::new();
        let store = store.clone();
        // The store is asked within the runtime. A stream that has ended is not polled again.
        let stream = stream::once(async move { store.hints(watched).boxed() }).flatten();
        let stream = stream.chain(stream::pending()).boxed();
        Self { interest, elections: BTreeSet::new(), stream }
    }

    pub(super) fn join(&mut self, key: &Key, id: ElectionId) {
        self.elections.insert((key.clone(), id));
        self.interest.add(key);
    }

    pub(super) fn leave(&mut self, key: &Key, id: ElectionId) {
        self.elections.remove(&(key.clone(), id));
        if self.of(key).is_empty() {
            self.interest.remove(key);
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
