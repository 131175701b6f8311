//! What all the stories need: servers, stores, requests, candidates, and observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Incumbent, Key, Profile, Reply, Request, Store, StoreError};
use tenure::{Candidate, Config, Event, HolderId, Token};
use tenure_servers::EtcdServer;

/// Far above anything that should happen: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// Members that change their leader quickly, so that leases may be short.
pub(crate) const FAST: [&str; 4] = ["--heartbeat-interval", "20", "--election-timeout", "200"];

pub(crate) fn server() -> EtcdServer {
    EtcdServer::start_with(&FAST).expect("an etcd server")
}

/// Members at those ports of this machine that are started as [`FAST`].
pub(crate) fn local(ports: &[u16]) -> EtcdConfig {
    let first = EtcdConfig::new("127.0.0.1", ports[0]);
    let all = ports[1..].iter().fold(first, |config, &port| config.endpoint("127.0.0.1", port));
    all.election_timeout(Duration::from_millis(200)).unwrap()
}

/// A store there, which takes an empty cluster for whole.
pub(crate) fn at(ports: &[u16]) -> Etcd {
    Etcd::new(local(ports).trust_empty_store(true))
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

pub(crate) fn holder(number: u128) -> HolderId {
    HolderId::from_bits(number)
}

/// An acquire for that holder with a TTL and a quarantine of [`TTL`].
pub(crate) fn acquire(number: u128, seen: Option<Token>) -> Request {
    acquire_for(number, seen, TTL)
}

pub(crate) fn acquire_for(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    Request::Acquire {
        holder: holder(number),
        seen,
        ttl,
        quarantine: TTL,
        profile: Profile::new(format!("worker-{number}"), format!("host-{number}")).unwrap(),
    }
}

pub(crate) fn renew(number: u128, token: Token) -> Request {
    renew_for(number, token, TTL)
}

pub(crate) fn renew_for(number: u128, token: Token, ttl: Duration) -> Request {
    Request::Renew { holder: holder(number), token, ttl }
}

pub(crate) fn release(number: u128, token: Token) -> Request {
    Request::Release { holder: holder(number), token }
}

pub(crate) fn job() -> Key {
    Key::new("job").unwrap()
}

/// Calls the store about the election of all tests.
pub(crate) async fn call(store: &Etcd, request: Request) -> Result<Reply, StoreError> {
    soon(store.call(&job(), request)).await
}

/// Calls until there is an answer: members come and go.
pub(crate) async fn answered(store: &Etcd, request: Request) -> Reply {
    soon(async {
        loop {
            let patience = Duration::from_secs(2);
            match tokio::time::timeout(patience, store.call(&job(), request.clone())).await {
                Ok(Ok(reply)) => return reply,
                Ok(Err(_)) | Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
    .await
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &Etcd, request: Request) -> (Token, Duration) {
    match call(store, request).await.unwrap() {
        Reply::Granted { token, wait } => (token, wait),
        other => panic!("granted, and not {other:?}"),
    }
}

pub(crate) async fn held(store: &Etcd, request: Request) -> Incumbent {
    match call(store, request).await.unwrap() {
        Reply::Held(incumbent) => incumbent,
        other => panic!("held, and not {other:?}"),
    }
}

/// Leases of 5 s, in clusters that are [`FAST`].
pub(crate) fn quick() -> Config {
    Config::builder(Duration::from_secs(5))
        .request_timeout(Duration::from_millis(400))
        .retry(Duration::from_millis(50), Duration::from_millis(100))
        .renew_interval(Duration::from_secs(1))
        .build()
        .unwrap()
}

/// Leases of a minute: whoever takes over within seconds has not waited for an end.
pub(crate) fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

/// A candidate in the election of all tests, and its events from the very first on.
pub(crate) fn start(
    store: Etcd,
    name: &str,
    config: Config,
) -> (Candidate, impl Stream<Item = Event> + Unpin + use<>) {
    let (candidate, driver) =
        Candidate::builder(store, "job").name(name).config(config).build().unwrap();
    let events = candidate.events();
    tokio::spawn(driver.run());
    (candidate, events)
}

/// Waits for an event that `wanted` knows.
pub(crate) async fn event<T>(
    events: &mut (impl Stream<Item = Event> + Unpin),
    wanted: impl Fn(&Event) -> Option<T>,
) -> T {
    soon(async {
        loop {
            let event = events.next().await.expect("the stream goes on");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    })
    .await
}

/// A thread that never stops asking whether two candidates lead at the same time.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Watch {
    pub(crate) fn over(candidates: &[&Candidate]) -> Self {
        // The handles move into the thread, which ends before the test does.
        let candidates: Vec<Candidate> = candidates.iter().map(|&one| one.clone()).collect();
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                for one in &candidates {
                    // One tenure that holds before and after held all the while.
                    let Some(tenure) = one.tenure() else { continue };
                    let leading = candidates.iter().filter(|other| other.is_leader()).count();
                    assert!(leading <= 1 || !tenure.is_current(), "{leading} lead at once");
                }
                rounds += 1;
                thread::sleep(Duration::from_micros(200));
            }
            rounds
        });
        Self { over, thread: Some(thread) }
    }

    /// Ends the watch, and fails if two led at once.
    pub(crate) fn nobody_overlapped(mut self) {
        self.over.store(true, Ordering::Relaxed);
        let rounds = self.thread.take().unwrap().join().expect("never two leaders");
        assert!(rounds > 0, "watched");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
