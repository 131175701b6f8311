//! The store as the driver sees it. Each request is recorded: when it leaves, and its answer.
//!
//! A dropped call has no answer: whether it was carried out stays unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{Stream, StreamExt};
use tenure::store::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};

use super::contender::election_of;
use super::node::Node;
use crate::engines::calls::{answered, asked};
use crate::trace::{Event, Who};

pub(super) struct Recording<S> {
    store: S,
    node: Arc<Node>,
    calls: AtomicU64,
}

/// A request that was recorded as sent.
#[derive(Clone, Copy)]
struct Recorded {
    election: usize,
    who: Who,
    id: u64,
}

impl<S> Recording<S> {
    /// A recording store for one life of a process.
    pub(super) fn new(store: S, node: Arc<Node>) -> Self {
        Self { store, node, calls: AtomicU64::new(0) }
    }

    /// Records that a request leaves; `None` if it is one that changes no lease.
    fn leaves(&self, key: &Key, request: &Request) -> Option<Recorded> {
        let asked = asked(request)?;
        if let Request::Acquire { holder, .. } = request {
            self.node.campaigns_as(holder.to_bits());
        }
        let election = election_of(key.as_str());
        let (who, id) = (self.node.who(), self.calls.fetch_add(1, Ordering::Relaxed) + 1);
        self.node.record(election, Event::Sent { who, id, request: asked });
        Some(Recorded { election, who, id })
    }

    fn ended(&self, request: Recorded, result: &Result<Reply, StoreError>) {
        let Recorded { election, who, id } = request;
        let answer = result.as_ref().ok().map(answered);
        self.node.record(election, Event::Answered { who, id, answer });
    }
}

impl<S: Store> Store for Recording<S> {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let recorded = self.leaves(key, &request);
        let result = self.store.call(key, request).await;
        if let Some(recorded) = recorded {
            self.ended(recorded, &result);
        }
        result
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let recorded: Vec<_> =
            requests.iter().map(|(key, request)| self.leaves(key, request)).collect();
        let results = self.store.call_all(requests).await;
        for (recorded, result) in recorded.into_iter().zip(&results) {
            if let Some(recorded) = recorded {
                self.ended(recorded, result);
            }
        }
        results
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let node = Arc::clone(&self.node);
        self.store.hints(watched).inspect(move |key| {
            node.record(election_of(key.as_str()), Event::Hinted { who: node.who() });
        })
    }
}
