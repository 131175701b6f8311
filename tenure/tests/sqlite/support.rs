//! What all the stories need: files, stores in them, requests, and observers.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use rusqlite::Connection;
use tempfile::TempDir;
use tenure::store::sqlite::{Sqlite, SqliteConfig, SqliteError};
use tenure::store::{Key, Profile, Reply, Request, Store, StoreError};
use tenure::{Candidate, Config, Event, HolderId, Token};

/// Far above anything that should happen: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(20);
const HOLD_OFF: Duration = Duration::from_millis(500);
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// The longest that the requests of a test may take, so that a wait is told from a whole quarantine.
const A_WHILE: Duration = Duration::from_secs(10);

/// A folder of a test's own, and the file in it.
pub(crate) struct Folder {
    pub(crate) folder: TempDir,
    pub(crate) file: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("elections.db");
        Self { folder, file }
    }

    /// Settings that wait for a slow disk.
    pub(crate) fn config(&self) -> SqliteConfig {
        config(&self.file)
    }

    /// A store that takes a file without grants for whole.
    pub(crate) fn store(&self) -> Sqlite {
        Sqlite::new(self.config().trust_empty_store(true))
    }

    /// A store like those of applications.
    pub(crate) fn distrustful(&self) -> Sqlite {
        Sqlite::new(self.config())
    }

    /// The file as an operator gets at it.
    pub(crate) fn sql(&self) -> Connection {
        sql(&self.file)
    }

    pub(crate) fn execute(&self, statements: &str) {
        self.sql().execute_batch(statements).unwrap();
    }

    /// A copy of the file as a backup makes it.
    pub(crate) fn copy_to(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        self.sql().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        copy
    }

    /// Deletes the file and what SQLite keeps beside it.
    pub(crate) fn delete(&self) {
        for beside in ["", "-wal", "-shm"] {
            let mut name = self.file.clone().into_os_string();
            name.push(beside);
            let _ = std::fs::remove_file(name);
        }
    }
}

pub(crate) fn config(file: &Path) -> SqliteConfig {
    SqliteConfig::new(file).busy_timeout(SOON / 2)
}

pub(crate) fn sql(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(SOON).unwrap();
    connection
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

pub(crate) fn holder(number: u128) -> HolderId {
    HolderId::from_bits(number)
}

/// An acquire for that holder with a TTL and a quarantine of [`TTL`].
pub(crate) fn acquire(number: u128, seen: Option<Token>) -> Request {
    Request::Acquire {
        holder: holder(number),
        seen,
        ttl: TTL,
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

/// Calls the store about the election of all tests.
pub(crate) async fn call(store: &impl Store, request: Request) -> Result<Reply, StoreError> {
    soon(store.call(&Key::new("job").unwrap(), request)).await
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &impl Store, request: Request) -> (Token, Duration) {
    match call(store, request).await.unwrap() {
        Reply::Granted { token, wait } => (token, wait),
        other => panic!("granted, and not {other:?}"),
    }
}

/// A lease that was granted and given back: its token.
pub(crate) async fn past_tenure(store: &impl Store) -> Token {
    let (token, _) = granted(store, acquire(1, None)).await;
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    token
}

/// Whether somebody waits out all of a quarantine.
pub(crate) fn whole(wait: Duration) -> bool {
    wait <= TTL && wait + A_WHILE > TTL
}

/// What is wrong with the file, in the store's words.
pub(crate) fn why(error: &StoreError) -> &SqliteError {
    error.source().and_then(|source| source.downcast_ref()).expect("the store says why")
}

/// Every request fails, for a reason that `expected` knows.
pub(crate) async fn refuses(
    store: &impl Store,
    requests: &[Request],
    expected: impl Fn(&SqliteError) -> bool,
) {
    for request in requests {
        let error = call(store, request.clone()).await.unwrap_err();
        assert!(expected(why(&error)), "{request:?}: {error} ({error:?})");
    }
}

/// A candidate in the election of all tests, and its events from the very first on.
pub(crate) fn start(
    store: Sqlite,
    name: &str,
    config: Config,
) -> (Candidate, impl Stream<Item = Event> + Unpin + use<>) {
    let (candidate, driver) = Candidate::builder(store, "job")
        .name(name)
        .config(config)
        .hold_off(HOLD_OFF)
        .build()
        .unwrap();
    let events = candidate.events();
    tokio::spawn(driver.run());
    (candidate, events)
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

/// A thread that never stops asking whether two candidates lead at the same time.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Watch {
    pub(crate) fn over(candidates: &[&Candidate]) -> Self {
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
