//! The store as the driver sees it. Each request is recorded, and the process may be paused before it is sent, after it
//! was sent, and before its answer is read.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use futures_util::{Stream, StreamExt};
use tenure::store::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};
use tokio::sync::Mutex;

use super::process::Process;
use crate::engines::calls::{answered, asked, kind};
use crate::plan::{Asking, Point};
use crate::trace::Event;

pub(super) struct Recording<S> {
    store: S,
    process: Arc<Process>,
    calls: AtomicU64,
    /// Held by the request that leaves: it is fair, so others follow in their order.
    sending: Mutex<()>,
}

impl<S> Recording<S> {
    pub(super) fn new(store: S, process: Arc<Process>) -> Self {
        Self { store, process, calls: AtomicU64::new(0), sending: Mutex::new(()) }
    }

    /// Records that a request leaves; `None` if it is one that changes no lease.
    fn leaves(&self, request: &Request) -> Option<u64> {
        let request = asked(request)?;
        let id = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.process.record(Event::Sent { who: self.process.who, id, request });
        Some(id)
    }

    fn ended(&self, id: Option<u64>, result: &Result<Reply, StoreError>) {
        if let Some(id) = id {
            let answer = result.as_ref().ok().map(answered);
            self.process.record(Event::Answered { who: self.process.who, id, answer });
        }
    }

    /// Sends requests and waits for their answers, with a stop at each point at which a fault may begin.
    ///
    /// Requests leave in the order in which the driver sends them, also if each stops at a point: that has to be the order
    /// in which they are recorded, too.
    async fn calls<T>(
        &self,
        of: Option<Asking>,
        requests: &[&Request],
        call: impl Future<Output = T>,
    ) -> (Vec<Option<u64>>, T) {
        let mut call = pin!(call);
        let sending = self.sending.lock().await;
        self.process.stops_at(Point::Send, of);
        let ids = requests.iter().map(|request| self.leaves(request)).collect();
        // Polled once, the client has taken the requests.
        let answered = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        drop(sending);
        self.process.stops_at(Point::Sent, of);
        let answers = match answered {
            Poll::Ready(answers) => answers,
            Poll::Pending => call.await,
        };
        self.process.stops_at(Point::Reply, of);
        (ids, answers)
    }
}

impl<S: Store> Store for Recording<S> {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let sent = request.clone();
        let call = self.store.call(key, request);
        let (ids, result) = self.calls(kind(&sent), &[&sent], call).await;
        for id in ids {
            self.ended(id, &result);
        }
        result
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let sent: Vec<Request> = requests.iter().map(|(_, request)| request.clone()).collect();
        let of = sent.first().and_then(kind);
        let call = self.store.call_all(requests);
        let (ids, results) = self.calls(of, &sent.iter().collect::<Vec<_>>(), call).await;
        ids.into_iter().zip(&results).for_each(|(id, result)| self.ended(id, result));
        results
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let process = Arc::clone(&self.process);
        let hinted = move |_: &Key| process.record(Event::Hinted { who: process.who });
        self.store.hints(watched).inspect(hinted)
    }
}
