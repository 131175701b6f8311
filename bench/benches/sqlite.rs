//! The cost of a store's call, beside one transaction of the same statements on a connection with
//! the same settings: by tokio's `spawn_blocking`, as in programs that must not block their async
//! threads, and in place.
//!
//! The two have files of their own in one folder, in the machine's folder for temporary files: the
//! cost of a commit depends on its disk (`TMPDIR` names another). The bare side has all values
//! ready and does not look at the rows it reads. So the difference is the store's own work: two
//! looks at the file's path and the contract; and, beside transactions in place, the way to its
//! thread and back.

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tempfile::TempDir;
use tenure::store::Key;
use tenure::store::sqlite::{STATEMENTS, Sqlite, SqliteConfig};
use tenure_bench::{
    Comparison, Elections, HOLDER, Lease, METADATA, NAME, Operation, Outcome, Session, Side,
    one_thread,
};
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

/// Long enough to hide the reading of the clock, short enough to meet the same machine.
const TURN: u32 = 16;
const AT_MOST: f64 = 1.10;

/// The place of the bare side's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On one of tokio's threads for that.
    Blocking,
    /// On the caller's thread.
    Here,
}

fn main() -> ExitCode {
    Session::run(Duration::from_millis(300), Duration::from_secs(3), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    let (runtime, folder) = (one_thread()?, TempDir::new()?);
    let mut ours = elections(&folder.path().join("ours.db"));
    // Its tables are the store's, with as many elections in them.
    let bare = folder.path().join("bare.db");
    runtime.block_on(elections(&bare).prepare(Operation::Renew, TURN));
    let mut bare = Bare::new(&bare)?;
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
        session.compare(comparison, |side, repetitions| match side {
            Side::Ours => {
                // All of them, as on the other side.
                runtime.block_on(ours.prepare(operation, TURN));
                runtime.block_on(ours.perform(operation, 0..repetitions as usize))
            }
            Side::Bare => bare.measure(operation, place, &runtime, repetitions),
        });
    }
    let control = Comparison::new("sqlite", "control (renew)", ["raw", "raw, again"], TURN);
    session.compare(control, |_, repetitions| {
        bare.measure(Operation::Renew, Place::Blocking, &runtime, repetitions)
    });
    Ok(())
}

fn elections(file: &Path) -> Elections<Sqlite> {
    Elections::new(Sqlite::new(SqliteConfig::new(file).trust_empty_store(true)), TURN)
}

/// The same statements.
struct Bare {
    keys: Vec<Key>,
    /// Present between two measurements.
    work: Option<Work>,
}

struct Work {
    connection: Connection,
    /// Another one in every transaction: SQLite does not write values that are the same as before.
    number: Cell<i64>,
}

fn statement(name: &str) -> &'static str {
    STATEMENTS.iter().find(|(of, _)| *of == name).expect("one of the store's").1
}

impl Bare {
    fn new(file: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        let work = Work { connection, number: Cell::new(4_000_000_000_000_000) };
        let keys = Lease::numbered(TURN).into_iter().map(|lease| lease.key).collect();
        Ok(Self { keys, work: Some(work) })
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
            Operation::AcquireAgain | Operation::Release => unreachable!("it is not compared"),
        }
    }

    fn acquire(&self, key: &str) -> rusqlite::Result<()> {
        self.in_transaction(|| {
            self.select("past", &[])?;
            self.select("election", &[&key])?;
            let (number, ttl) = (self.next(), 86_400_000_000_i64);
            let (holder, metadata) = (HOLDER.to_bits().to_be_bytes(), METADATA.as_bytes());
            self.execute(
                "grant",
                params![key, number, holder, number, false, ttl, ttl, number, NAME, metadata],
            )
        })
    }

    fn renew(&self, key: &str) -> rusqlite::Result<()> {
        self.in_transaction(|| {
            self.select("past", &[])?;
            self.select("election", &[&key])?;
            let number = self.next();
            self.execute("renew", params![key, number, number])
        })
    }

    fn observe(&self, key: &str) -> rusqlite::Result<()> {
        let _snapshot = Transaction::new_unchecked(&self.connection, Deferred)?;
        self.select("past", &[])?;
        self.select("election", &[&key])
    }

    fn next(&self) -> i64 {
        self.number.set(self.number.get() + 1_000);
        self.number.get()
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
