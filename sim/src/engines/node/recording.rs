//! The store as the driver sees it. Each request is recorded: when it leaves, and its answer.
//!
//! A dropped call has no answer: whether it was carried out stays unknown.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{Stream, StreamExt};
use tenure::store::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};

use super::{NodeProcess, election_of};
use crate::engines::calls::of_driver::{answered, asked};
use crate::plan::{Point, RequestKind};
use crate::trace::{Event, Who};

pub(crate) struct Recording<S, P> {
    store: S,
    process: Arc<P>,
    calls: AtomicU64,
}

/// A request that was recorded as sent.
#[derive(Clone, Copy)]
struct Sent {
    election: usize,
    who: Who,
    id: u64,
}

impl<S, P: NodeProcess> Recording<S, P> {
    /// A recording store for one life of a process.
    pub(crate) fn new(store: S, process: Arc<P>) -> Self {
        Self { store, process, calls: AtomicU64::new(0) }
    }

    /// Records that a request leaves; `None` if it is one that changes no lease.
    fn leaves(&self, key: &Key, request: &Request) -> Option<Sent> {
        let (holder, asked) = asked(request)?;
        if let Request::Acquire { .. } = request {
            self.process.campaigns_as(holder);
        }
        let election = election_of(key.as_str());
        let (who, id) = (self.process.who(), self.calls.fetch_add(1, Ordering::Relaxed) + 1);
        self.process.record(election, Event::Sent { who, id, request: asked });
        Some(Sent { election, who, id })
    }

    fn ended(&self, sent: Option<Sent>, result: &Result<Reply, StoreError>) {
        if let Some(Sent { election, who, id }) = sent {
            let answer = result.as_ref().ok().map(answered);
            self.process.record(election, Event::Answered { who, id, answer });
        }
    }

    /// Waits for the answers to requests, of which `begin` records that they leave, and makes the
    /// call.
    ///
    /// The requests are recorded in the poll in which the client takes them, so the order of the
    /// records is that in which they leave.
    async fn call_at_points<C: Future, T>(
        &self,
        of: Option<RequestKind>,
        begin: impl FnOnce() -> (T, C),
    ) -> (T, C::Output) {
        self.process.stops_at(Point::Send, of);
        let (sent, call) = begin();
        let (mut call, mut has_left) = (pin!(call), false);
        let answered = poll_fn(|context| {
            let polled = call.as_mut().poll(context);
            if !std::mem::replace(&mut has_left, true) {
                self.process.stops_at(Point::Sent, of);
            }
            polled
        });
        let answers = answered.await;
        self.process.stops_at(Point::Reply, of);
        (sent, answers)
    }
}

impl<S: Store, P: NodeProcess> Store for Recording<S, P> {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let of = asked(&request).map(|(_, asked)| asked.kind());
        let begin = || (self.leaves(key, &request), self.store.call(key, request));
        let (sent, result) = self.call_at_points(of, begin).await;
        self.ended(sent, &result);
        result
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let of = requests.first().and_then(|(_, request)| Some(asked(request)?.1.kind()));
        let begin = || {
            let sent = requests.iter().map(|(key, request)| self.leaves(key, request));
            (sent.collect::<Vec<_>>(), self.store.call_all(requests))
        };
        let (sent, results) = self.call_at_points(of, begin).await;
        sent.into_iter().zip(&results).for_each(|(sent, result)| self.ended(sent, result));
        results
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let process = Arc::clone(&self.process);
        self.store.hints(watched).inspect(move |key| {
            process.record(election_of(key.as_str()), Event::Hinted { who: process.who() });
        })
    }
}
