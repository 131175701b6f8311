//! A store whose code panics now and then, as where it logs to a subscriber that does, in virtual
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{Stream, poll_fn};
use tenure::store::{
    Key, Memory, Message, Reply, Request, Store, StoreError, StoreTraits, Watched,
};
use tenure::{Elections, Token};
use tokio::time;

use super::stuck::Paused;
use super::support::quick;

#[derive(Clone)]
struct Panicking {
    store: Memory,
    calls: Arc<AtomicUsize>,
}

impl Store for Panicking {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    /// Two of four calls panic: one before the request is carried out, and one afterwards.
    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        assert_ne!(number % 4, 1, "on purpose");
        let reply = self.store.call(key, request).await;
        assert_ne!(number % 4, 3, "on purpose");
        reply
    }

    fn hints(&self, _: Watched) -> impl Stream<Item = Key> + Send + 'static {
        poll_fn(|_| -> Poll<Option<Key>> { panic!("on purpose") })
    }

    fn messages(&self, _: &Key, _: Token) -> impl Stream<Item = Message> + Send + 'static {
        poll_fn(|_| -> Poll<Option<Message>> { panic!("on purpose") })
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_costs_single_requests() {
    let runtime = Paused::new();
    let store = Memory::with_runtime(Arc::<Paused>::clone(&runtime));
    let calls = Arc::<AtomicUsize>::default();
    let store = Panicking { store, calls: Arc::clone(&calls) };
    let elections = Elections::with_runtime(store, runtime);
    let candidate = elections.candidate("job").config(quick()).start().unwrap();
    let minute = Duration::from_secs(60);
    let tenure = time::timeout(minute, candidate.elected()).await.expect("in time").unwrap();
    let mut inbox = tenure.inbox();
    let message = time::timeout(minute, inbox.next()).await.expect("in time");
    assert!(message.is_none(), "its stream has ended");
    time::sleep(minute).await;
    assert!(tenure.is_current(), "half of the renewals are answered");
    assert!(calls.load(Ordering::SeqCst) > 40);
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(candidate.incumbent().await);
    }
    assert!(answers.iter().any(Result::is_ok), "{answers:?}");
}
