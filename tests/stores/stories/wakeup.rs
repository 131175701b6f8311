//! Hints, which wake waiting candidates. Leases last a minute here: only a hint explains a takeover
//! within seconds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::Config;
use tenure::store::{AnyStore, Key, Reply, Request, Store, StoreError, StoreTraits, Watched};
use tenure_servers::Flow;

use super::TestServer;
use crate::stores::support::{acquire, call, granted, job, learns_of_leader, release, soon, start};

type Hints = Pin<Box<dyn Stream<Item = Key> + Send>>;

const QUIET: Duration = Duration::from_millis(300);

fn listen(store: &AnyStore) -> Hints {
    Box::pin(store.hints(Watched::only([job()])))
}

async fn is_quiet(hints: &mut Hints) -> bool {
    tokio::time::timeout(QUIET, hints.next()).await.is_err()
}

pub(super) fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

/// A store that counts the hints it passes on: the first one says that the candidate is subscribed.
#[derive(Clone)]
pub(super) struct Counted {
    store: AnyStore,
    hints: Arc<AtomicUsize>,
}

impl Counted {
    pub(super) fn new(store: AnyStore) -> Self {
        Self { store, hints: Arc::default() }
    }

    pub(super) fn hints(&self) -> usize {
        self.hints.load(Ordering::SeqCst)
    }

    /// Waits until there were more hints than that.
    pub(super) async fn hints_above(&self, count: usize) {
        soon(async {
            while self.hints() <= count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

impl Store for Counted {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.store.call(key, request).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let hints = Arc::clone(&self.hints);
        self.store.hints(watched).inspect(move |_| {
            hints.fetch_add(1, Ordering::SeqCst);
        })
    }
}

async fn subscriptions_and_releases_are_hints(server: TestServer) {
    let store = server.store();
    let mut hints = listen(&store);
    soon(hints.next()).await.expect("the subscription itself");
    let token = granted(&store, acquire(1, None)).await;
    assert!(is_quiet(&mut hints).await, "a grant is no hint");
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("the release");
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
    assert!(is_quiet(&mut hints).await, "nothing was released");
}
story!(subscriptions_and_releases_are_hints);

async fn each_election_has_hints_of_its_own(server: TestServer) {
    let (store, odd) = (server.store(), Key::new("a\0b/ä'\"$1").unwrap());
    let mut others: Hints = Box::pin(store.hints(Watched::only([odd.clone()])));
    // Over the same connection, and over another one.
    let (mut one, mut two, mut three) = (listen(&store), listen(&store), listen(&server.store()));
    for hints in [&mut others, &mut one, &mut two, &mut three] {
        soon(hints.next()).await.unwrap();
    }
    let token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    for hints in [&mut one, &mut two, &mut three] {
        soon(hints.next()).await.unwrap();
    }
    assert!(is_quiet(&mut others).await);
    let Reply::Granted { token } = store.call(&odd, acquire(1, None)).await.unwrap() else {
        panic!("granted")
    };
    store.call(&odd, release(1, token)).await.unwrap();
    soon(others.next()).await.unwrap();
    assert!(is_quiet(&mut one).await);
}
story!(each_election_has_hints_of_its_own);

async fn hints_resume_over_a_new_connection(server: TestServer) {
    let proxy = server.proxy().await;
    let mut hints = listen(&server.store_at(proxy.port()));
    soon(hints.next()).await.unwrap();
    proxy.cut();
    soon(hints.next()).await.expect("the new subscription");
    let store = server.store();
    let token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("the release, over the new connection");
}
story!(hints_resume_over_a_new_connection);

async fn hints_begin_when_the_server_appears(mut server: TestServer) {
    server.process().kill();
    let mut hints = listen(&server.store());
    assert!(is_quiet(&mut hints).await);
    server.process().restart();
    soon(hints.next()).await.unwrap();
}
story!(hints_begin_when_the_server_appears);

async fn a_standby_is_woken_over_a_new_connection(server: TestServer) {
    let proxy = server.proxy().await;
    let leader = server.candidate("leader", patient());
    let first = soon(leader.elected()).await.unwrap();
    let store = Counted::new(server.store_at(proxy.port()));
    let standby = start(store.clone(), "standby", patient()).0;
    store.hints_above(0).await;
    let before = store.hints();
    proxy.cut();
    store.hints_above(before).await;
    soon(leader.resign()).await.unwrap();
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
}
story!(a_standby_is_woken_over_a_new_connection);

async fn a_release_during_a_disconnection_is_found(server: TestServer) {
    let proxy = server.proxy().await;
    let leader = server.candidate("leader", patient());
    let first = soon(leader.elected()).await.unwrap();
    let store = Counted::new(server.store_at(proxy.port()));
    let standby = start(store.clone(), "standby", patient()).0;
    assert!(soon(standby.incumbent()).await.unwrap().is_some());
    store.hints_above(0).await;
    proxy.refuse(true);
    proxy.cut();
    // The proxy closes its connections a moment later.
    tokio::time::sleep(QUIET).await;
    soon(leader.stop()).await.unwrap();
    tokio::time::sleep(QUIET).await;
    assert!(!standby.is_leader());
    proxy.refuse(false);
    assert!(soon(standby.elected()).await.unwrap().token() > first.token());
}
story!(a_release_during_a_disconnection_is_found);

async fn a_lost_hint_costs_one_poll_bound(server: TestServer) {
    let proxy = server.proxy().await;
    let leader = server.candidate("leader", patient());
    soon(leader.elected()).await.unwrap();
    let often = Config::builder(Duration::from_secs(60))
        .poll_bound(Duration::from_secs(1))
        .request_timeout(Duration::from_millis(500))
        .build()
        .unwrap();
    let store = Counted::new(server.store_at(proxy.port()));
    let (standby, mut events) = start(store.clone(), "standby", often);
    // Connecting may take longer than a request may.
    learns_of_leader(&mut events).await;
    store.hints_above(0).await;
    // The release succeeds, and its hint is lost on the way.
    proxy.set_replies(Flow::BlackHole);
    soon(leader.stop()).await.unwrap();
    tokio::time::sleep(QUIET).await;
    assert!(!standby.is_leader());
    proxy.set_replies(Flow::Forward);
    soon(standby.elected()).await.unwrap();
}
story!(a_lost_hint_costs_one_poll_bound);

async fn an_unanswered_request_renews_the_subscription(server: TestServer) {
    let proxy = server.proxy().await;
    let store = server.store_at(proxy.port());
    let mut hints = listen(&store);
    soon(hints.next()).await.unwrap();
    proxy.set_replies(Flow::BlackHole);
    let late = tokio::time::timeout(QUIET, call(&store, Request::Observe));
    late.await.unwrap_err();
    proxy.set_replies(Flow::Forward);
    soon(hints.next()).await.expect("a subscription over a new connection");
}
story!(an_unanswered_request_renews_the_subscription);
