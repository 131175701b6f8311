//! What all the stories need: servers, stores by either client, requests, and observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt};
use tenure::store::redis::RedisConfig;
use tenure::store::{AnyStore, Incumbent, Key, Profile, Reply, Request, Store, StoreError};
use tenure::{Candidate, Config, Event, HolderId, StepDownReason, Token};
use tenure_servers::{RedisServer, Reply as Raw};

/// Far above anything that should happen: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(20);
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// The names at the server of the election that all tests use.
pub(crate) const RECORD: &str = "{tenure}:leader:job";
pub(crate) const HISTORY: &str = "{tenure}:history";

/// The client library that a test runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    RedisRs,
    #[cfg(feature = "fred")]
    Fred,
}

impl Client {
    pub(crate) fn store(self, config: RedisConfig) -> AnyStore {
        match self {
            Self::RedisRs => AnyStore::new(tenure::store::redis::Redis::new(config)),
            #[cfg(feature = "fred")]
            Self::Fred => AnyStore::new(tenure::store::redis::Fred::new(config)),
        }
    }

    /// A store at that port of this machine, which takes an empty server for whole.
    pub(crate) fn at(self, port: u16) -> AnyStore {
        self.store(local(port).trust_empty_store(true))
    }

    /// A candidate in the election of all tests.
    pub(crate) fn candidate(self, port: u16, name: &str, config: Config) -> Candidate {
        start(self.at(port), name, config).0
    }
}

/// A candidate in the election of all tests, and its events from the very first on.
pub(crate) fn start(
    store: AnyStore,
    name: &str,
    config: Config,
) -> (Candidate, impl Stream<Item = Event> + Unpin + use<>) {
    let (candidate, driver) =
        Candidate::builder(store, "job").name(name).config(config).build().unwrap();
    let events = candidate.events();
    tokio::spawn(driver.run());
    (candidate, events)
}

/// Runs each test once over every client.
macro_rules! over_both_clients {
    ($($(#[$doc:meta])* async fn $name:ident($client:ident: Client) $body:block)*) => {
        $($(#[$doc])* async fn $name($client: Client) $body)*

        mod redis_rs {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::Client::RedisRs).await;
            })*
        }

        #[cfg(feature = "fred")]
        mod fred {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::Client::Fred).await;
            })*
        }
    };
}

pub(crate) fn local(port: u16) -> RedisConfig {
    RedisConfig::new("127.0.0.1", port)
}

pub(crate) fn server() -> RedisServer {
    RedisServer::start().expect("a redis-server")
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
    Request::Renew { holder: holder(number), token, ttl: TTL }
}

pub(crate) fn release(number: u128, token: Token) -> Request {
    Request::Release { holder: holder(number), token }
}

/// Calls the store about the election of all tests.
pub(crate) async fn call(store: &AnyStore, request: Request) -> Result<Reply, StoreError> {
    soon(store.call(&Key::new("job").unwrap(), request)).await
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &AnyStore, request: Request) -> (Token, Duration) {
    match call(store, request).await.unwrap() {
        Reply::Granted { token, wait } => (token, wait),
        other => panic!("granted, and not {other:?}"),
    }
}

pub(crate) async fn held(store: &AnyStore, request: Request) -> Incumbent {
    match call(store, request).await.unwrap() {
        Reply::Held(incumbent) => incumbent,
        other => panic!("held, and not {other:?}"),
    }
}

/// One field of the election's record as the server has it.
pub(crate) fn field(server: &RedisServer, name: &str) -> String {
    match server.command(&["HGET", RECORD, name]).unwrap() {
        Raw::BulkString(text) => String::from_utf8(text).unwrap(),
        other => panic!("{name} is {other:?}"),
    }
}

/// The wall clock, as the tokens count.
pub(crate) fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

/// Waits for an event that `wanted` knows.
pub(crate) async fn event<T>(
    events: &mut (impl Stream<Item = Event> + Unpin),
    wanted: impl Fn(&Event) -> Option<T>,
) -> T {
    let mut seen = Vec::new();
    let find = async {
        loop {
            let event = events.next().await.expect("the stream goes on");
            if let Some(found) = wanted(&event) {
                return found;
            }
            seen.push(event);
        }
    };
    let found = tokio::time::timeout(SOON, find).await;
    found.unwrap_or_else(|_| panic!("no such event within {SOON:?}, but {seen:?}"))
}

/// How often a candidate has stepped down, and why.
pub(crate) fn falls(candidate: &Candidate) -> Arc<std::sync::Mutex<Vec<StepDownReason>>> {
    let falls = Arc::<std::sync::Mutex<Vec<_>>>::default();
    let told = Arc::clone(&falls);
    candidate.on_stepped_down(move |_, reason| {
        told.lock().unwrap().push(reason);
        async {}
    });
    falls
}

/// For what takes a failover or two: they are counted in seconds, on a loaded machine in tens of them.
pub(crate) async fn in_the_end<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON * 5, future).await.expect("within the bound of a failover")
}

/// Waits until one of them leads.
pub(crate) async fn leader<'a>(candidates: &[&'a Candidate]) -> &'a Candidate {
    in_the_end(async {
        loop {
            if let Some(&leader) = candidates.iter().find(|candidate| candidate.is_leader()) {
                return leader;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

/// The tokens of all their tenures from now on, in the order in which they began.
pub(crate) fn tokens(candidates: &[&Candidate]) -> Arc<std::sync::Mutex<Vec<Token>>> {
    let tokens = Arc::<std::sync::Mutex<Vec<_>>>::default();
    for candidate in candidates {
        let told = Arc::clone(&tokens);
        candidate.on_elected(move |tenure| {
            told.lock().unwrap().push(tenure.token());
            async {}
        });
    }
    tokens
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
