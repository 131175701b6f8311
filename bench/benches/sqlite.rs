//! What a store's call costs beside one transaction of the same statements, on a connection with the same
//! settings: by tokio's `spawn_blocking`, as a program that must not block its async threads does it, and
//! carried out where it is asked for.
//!
//! The two have files of their own in one folder, in the machine's folder for temporary files: what a
//! commit costs is up to its disk (`TMPDIR` names another). The bare side has all values ready and does
//! not look at what it reads. So the difference is what the store does besides: two looks at the file's path
//! and the contract; and, beside what is carried out in place, the way to its thread and back.

use std::cell::Cell;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::Criterion;
use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tempfile::TempDir;
use tenure::store::sqlite::{STATEMENTS, Sqlite, SqliteConfig};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};
use tenure_bench::{Comparison, Report, Side};
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;

/// Long enough to hide the reading of the clock, short enough to meet the same machine.
const TURN: u32 = 16;
const AT_MOST: f64 = 1.10;

const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// No lease ends by itself while it is measured.
const TTL: Duration = Duration::from_secs(24 * 3_600);
const NAME: &str = "worker-7";
const METADATA: &[u8] = b"10.0.0.7:8080";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// A grant to the next tenure, after the last one's release.
    Acquire,
    Renew,
    /// Who holds the lease.
    Observe,
}

/// Where the bare side does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On one of tokio's threads for that.
    Blocking,
    /// Where it is asked for.
    Here,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let folder = TempDir::new()?;
    let mut ours = Ours::new(&folder.path().join("ours.db"), &runtime);
    // Its tables are the store's, with as many elections in them.
    let bare = folder.path().join("bare.db");
    Ours::new(&bare, &runtime).prepare(Operation::Renew);
    let mut bare = Bare::new(&bare)?;
    let mut report = Report::new();
    for (operation, place, name) in [
        (Operation::Acquire, Place::Blocking, "acquire (vacant)"),
        (Operation::Renew, Place::Blocking, "renew"),
        (Operation::Observe, Place::Blocking, "observe"),
        (Operation::Acquire, Place::Here, "acquire (vacant), in place"),
        (Operation::Renew, Place::Here, "renew, in place"),
        (Operation::Observe, Place::Here, "observe, in place"),
    ] {
        let mut comparison = Comparison::new("sqlite", name, ["store", "raw"], TURN);
        if operation != Operation::Observe {
            comparison = comparison.at_most(AT_MOST);
        }
        comparison.run(&mut criterion, |side, repetitions| match side {
            Side::Ours => ours.measure(operation, repetitions),
            Side::Bare => bare.measure(operation, place, &runtime, repetitions),
        });
        report.add(comparison);
    }
    let mut control = Comparison::new("sqlite", "control (renew)", ["raw", "raw, again"], TURN);
    control.run(&mut criterion, |_, repetitions| {
        bare.measure(Operation::Renew, Place::Blocking, &runtime, repetitions)
    });
    report.add(control);
    criterion.final_summary();
    report.print()?;
    Ok(())
}

fn key(number: u32) -> Key {
    Key::new(format!("election-{number:03}")).expect("a short key")
}

/// One election as its only candidate sees it.
struct Lease {
    key: Key,
    last: Option<Token>,
    live: bool,
}

struct Ours<'a> {
    store: Sqlite,
    runtime: &'a Runtime,
    leases: Vec<Lease>,
}

impl<'a> Ours<'a> {
    fn new(file: &Path, runtime: &'a Runtime) -> Self {
        let store = Sqlite::new(SqliteConfig::new(file).trust_empty_store(true));
        let leases = (0..TURN).map(|number| Lease { key: key(number), last: None, live: false });
        Self { store, runtime, leases: leases.collect() }
    }

    fn measure(&mut self, operation: Operation, repetitions: u32) -> Duration {
        self.prepare(operation);
        let asked = self.leases.iter().take(repetitions as usize);
        let calls: Vec<_> =
            asked.map(|lease| (&lease.key, request(operation, lease.last))).collect();
        let (took, replies) = self.runtime.block_on(async {
            let mut replies = Vec::with_capacity(calls.len());
            let started = Instant::now();
            for (key, request) in calls {
                replies.push(self.store.call(key, request).await);
            }
            (started.elapsed(), replies)
        });
        for (lease, reply) in self.leases.iter_mut().zip(replies) {
            match (operation, reply.expect("an answer")) {
                (Operation::Acquire, Reply::Granted { token, .. }) => {
                    (lease.last, lease.live) = (Some(token), true);
                }
                (Operation::Renew, Reply::Renewed) | (Operation::Observe, Reply::Held(_)) => {}
                (_, other) => panic!("{operation:?} was answered {other:?}"),
            }
        }
        took
    }

    /// Leaves every lease granted, or given back for an acquire.
    fn prepare(&mut self, operation: Operation) {
        let live = operation != Operation::Acquire;
        for lease in self.leases.iter_mut().filter(|lease| lease.live != live) {
            let request = match lease.last {
                Some(token) if lease.live => Request::Release { holder: HOLDER, token },
                last => request(Operation::Acquire, last),
            };
            match self.runtime.block_on(self.store.call(&lease.key, request)) {
                Ok(Reply::Granted { token, .. }) => lease.last = Some(token),
                Ok(Reply::Released) => {}
                other => panic!("{other:?}"),
            }
            lease.live = live;
        }
    }
}

fn request(operation: Operation, last: Option<Token>) -> Request {
    let token = last.unwrap_or(Token::FIRST);
    match operation {
        Operation::Acquire => Request::Acquire {
            holder: HOLDER,
            seen: last,
            ttl: TTL,
            quarantine: TTL,
            profile: Profile::new(NAME, METADATA).expect("a short profile"),
        },
        Operation::Renew => Request::Renew { holder: HOLDER, token, ttl: TTL },
        Operation::Observe => Request::Observe,
    }
}

/// The same statements.
struct Bare {
    keys: Vec<Key>,
    /// Here between two measurements.
    work: Option<Work>,
}

struct Work {
    connection: Connection,
    /// Another one in every transaction: what is the same as before is not written.
    lease_end: Cell<i64>,
}

fn statement(name: &str) -> &'static str {
    STATEMENTS.into_iter().find(|(of, _)| *of == name).expect("one of the store's").1
}

impl Bare {
    fn new(file: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        let work = Work { connection, lease_end: Cell::new(4_000_000_000_000_000) };
        Ok(Self { keys: (0..TURN).map(key).collect(), work: Some(work) })
    }

    fn measure(
        &mut self,
        operation: Operation,
        place: Place,
        runtime: &Runtime,
        repetitions: u32,
    ) -> Duration {
        let mut work = self.work.take().expect("put back");
        // As much is written before as by the other side.
        if operation == Operation::Acquire {
            for key in &self.keys {
                work.perform(Operation::Renew, key).expect("a transaction");
            }
        }
        let keys: Vec<_> = self.keys.iter().take(repetitions as usize).cloned().collect();
        let took;
        (took, work) = runtime.block_on(async {
            let started = Instant::now();
            for key in keys {
                match place {
                    Place::Here => work.perform(operation, &key).expect("a transaction"),
                    Place::Blocking => {
                        let performed = spawn_blocking(move || {
                            work.perform(operation, &key).expect("a transaction");
                            work
                        });
                        work = performed.await.expect("no panic");
                    }
                }
            }
            (started.elapsed(), work)
        });
        self.work = Some(work);
        took
    }
}

impl Work {
    fn perform(&self, operation: Operation, key: &Key) -> rusqlite::Result<()> {
        match operation {
            Operation::Acquire => self.acquire(key.as_str()),
            Operation::Renew => self.renew(key.as_str()),
            Operation::Observe => self.observe(key.as_str()),
        }
    }

    fn acquire(&self, key: &str) -> rusqlite::Result<()> {
        self.in_transaction(|| {
            self.select("history", &[])?;
            self.select("election", &[&key])?;
            let (end, ttl) = (self.later(), 86_400_000_000_i64);
            let holder = HOLDER.to_bits().to_be_bytes();
            self.execute(
                "grant",
                params![key, end, holder, end, ttl, ttl, false, NAME, METADATA, end],
            )
        })
    }

    fn renew(&self, key: &str) -> rusqlite::Result<()> {
        self.in_transaction(|| {
            self.select("history", &[])?;
            self.select("election", &[&key])?;
            let (end, ttl) = (self.later(), 86_400_000_000_i64);
            self.execute("change", params![key, end, ttl, false, end])
        })
    }

    fn observe(&self, key: &str) -> rusqlite::Result<()> {
        let _snapshot = Transaction::new_unchecked(&self.connection, Deferred)?;
        self.select("history", &[])?;
        self.select("election", &[&key])
    }

    fn later(&self) -> i64 {
        self.lease_end.set(self.lease_end.get() + 1_000);
        self.lease_end.get()
    }

    fn in_transaction(&self, step: impl FnOnce() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.connection, Immediate)?;
        step()?;
        transaction.commit()
    }

    fn select(&self, name: &str, values: &[&dyn rusqlite::ToSql]) -> rusqlite::Result<()> {
        let mut select = self.connection.prepare_cached(statement(name))?;
        select.query_row(values, |_| Ok(())).optional().map(drop)
    }

    fn execute(&self, name: &str, values: &[&dyn rusqlite::ToSql]) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement(name))?.execute(values).map(drop)
    }
}
