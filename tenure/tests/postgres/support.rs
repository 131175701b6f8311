//! What all the stories need: servers, stores, requests, and observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{Incumbent, Key, Profile, Reply, Request, Store, StoreError};
use tenure::{Candidate, Config, Event, HolderId, StepDownReason, Token};
use tenure_servers::{PostgresServer, Proxy};

/// Far above anything that should happen: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(30);
pub(crate) const TTL: Duration = Duration::from_secs(30);

pub(crate) fn server() -> PostgresServer {
    PostgresServer::start().expect("a PostgreSQL server")
}

pub(crate) async fn proxy(server: &PostgresServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

/// The superuser at that port of this machine.
pub(crate) fn local(port: u16) -> PostgresConfig {
    PostgresConfig::new("127.0.0.1", port, "postgres").connect_timeout(Duration::from_secs(5))
}

/// A store at that port, which takes an empty server for whole.
pub(crate) fn at(port: u16) -> Postgres {
    Postgres::new(local(port).trust_empty_store(true))
}

/// A candidate in the election of all tests.
pub(crate) fn candidate(port: u16, name: &str, config: Config) -> Candidate {
    start(at(port), name, config).0
}

/// The same, and its events from the very first on.
pub(crate) fn start<S: Store>(
    store: S,
    name: &str,
    config: Config,
) -> (Candidate, impl Stream<Item = Event> + Unpin + use<S>) {
    let (candidate, driver) =
        Candidate::builder(store, "job").name(name).config(config).build().unwrap();
    let events = candidate.events();
    tokio::spawn(driver.run());
    (candidate, events)
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

pub(crate) fn all_requests() -> [Request; 4] {
    let token = Token::new(7).unwrap();
    [acquire(1, None), renew(1, token), release(1, token), Request::Observe]
}

pub(crate) fn job() -> Key {
    Key::new("job").unwrap()
}

/// Calls the store about the election of all tests.
pub(crate) async fn call(store: &impl Store, request: Request) -> Result<Reply, StoreError> {
    soon(store.call(&job(), request)).await
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &impl Store, request: Request) -> (Token, Duration) {
    match call(store, request).await.unwrap() {
        Reply::Granted { token, wait } => (token, wait),
        other => panic!("granted, and not {other:?}"),
    }
}

pub(crate) async fn held(store: &impl Store, request: Request) -> Incumbent {
    match call(store, request).await.unwrap() {
        Reply::Held(incumbent) => incumbent,
        other => panic!("held, and not {other:?}"),
    }
}

/// Asks until the store answers.
pub(crate) async fn in_the_end(store: &impl Store, request: &Request) -> Reply {
    let job = job();
    soon(async {
        loop {
            let call = store.call(&job, request.clone());
            if let Ok(Ok(reply)) = tokio::time::timeout(Duration::from_secs(2), call).await {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
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

/// A connection of the test's own, as the superuser, for what takes more than one statement.
pub(crate) async fn client(port: u16) -> tokio_postgres::Client {
    use tenure::runtime::{Runtime, TokioRuntime};
    let stream = TokioRuntime.connect("127.0.0.1", port).await.unwrap();
    let mut settings = tokio_postgres::Config::new();
    settings.user("postgres").dbname("postgres").application_name("test");
    let connected = settings.connect_raw(stream, tokio_postgres::NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// Waits until that many sessions of the store are in such a state, as `pg_stat_activity` has it.
pub(crate) async fn sessions(server: &PostgresServer, state: &str, wanted: usize) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure' AND {state}"
    );
    soon(async {
        while server.sql(&sql).unwrap() != wanted.to_string() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A session that listens for wake-ups.
pub(crate) const LISTENS: &str = "query LIKE 'LISTEN%'";
