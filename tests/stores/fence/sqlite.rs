//! In a SQLite file, with a rollback journal and with a write-ahead log.

use std::time::Duration;

use rusqlite::{Connection, Error, Transaction, TransactionBehavior};
use tempfile::TempDir;
use tenure::fence::FenceError;
use tenure::fence::sqlite::{Fence, TakenOver};
use tenure::store::Key;

use super::{NEW, OLD, token};
use crate::stores::support::job;

const JOURNALS: [&str; 2] = ["DELETE", "WAL"];
const BEHAVIOURS: [TransactionBehavior; 2] =
    [TransactionBehavior::Deferred, TransactionBehavior::Immediate];

fn fence() -> Fence {
    Fence::new(&job())
}

/// A file with fences, and with a queue whose next job is 0.
struct Queue(TempDir);

impl Queue {
    fn new(journal: &str) -> Self {
        let queue = Self(TempDir::new().unwrap());
        let connection = queue.open();
        connection.pragma_update(None, "journal_mode", journal).unwrap();
        connection.execute_batch(Fence::SCHEMA).unwrap();
        let jobs = "CREATE TABLE jobs (next INTEGER NOT NULL); INSERT INTO jobs VALUES (0)";
        connection.execute_batch(jobs).unwrap();
        queue
    }

    /// A connection that does not wait.
    fn open(&self) -> Connection {
        let connection = Connection::open(self.0.path().join("queue")).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        connection
    }
}

fn takes_over(connection: &mut Connection, number: u64) -> TakenOver {
    fence().take_over(connection, token(number)).unwrap()
}

fn next(connection: &Connection) -> i64 {
    connection.query_row("SELECT next FROM jobs", [], |row| row.get(0)).unwrap()
}

fn fires(transaction: &Transaction<'_>, job: i64) -> Result<usize, Error> {
    transaction.execute("UPDATE jobs SET next = ?1", [job + 1])
}

#[test]
fn a_take_over_waits_for_a_checked_write() {
    for journal in JOURNALS {
        for behaviour in BEHAVIOURS {
            let queue = Queue::new(journal);
            let (mut old, mut new) = (queue.open(), queue.open());
            let taken = takes_over(&mut old, OLD);
            let transaction = old.transaction_with_behavior(behaviour).unwrap();
            taken.check(&transaction).unwrap();
            let job = next(&transaction);
            // Paused here: another candidate leads by now.
            let unknown = fence().take_over(&mut new, token(NEW)).unwrap_err();
            assert!(matches!(unknown, FenceError::Unknown { .. }), "{unknown:?}");
            fires(&transaction, job).unwrap();
            transaction.commit().unwrap();
            let newer = takes_over(&mut new, NEW);
            assert_eq!(next(&new), 1, "{journal}");
            let transaction = old.transaction_with_behavior(behaviour).unwrap();
            let refused = taken.check(&transaction).unwrap_err();
            assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
            drop(transaction);
            let transaction = new.transaction_with_behavior(behaviour).unwrap();
            newer.check(&transaction).unwrap();
        }
    }
}

#[test]
fn a_snapshot_before_the_take_over_writes_nothing() {
    for journal in JOURNALS {
        let queue = Queue::new(journal);
        let (mut old, mut new) = (queue.open(), queue.open());
        let taken = takes_over(&mut old, OLD);
        let transaction = old.transaction().unwrap();
        let job = next(&transaction);
        // Paused here, with a snapshot but before its check.
        match fence().take_over(&mut new, token(NEW)) {
            Ok(newer) => {
                let written = new.transaction().unwrap();
                newer.check(&written).unwrap();
                fires(&written, 0).unwrap();
                written.commit().unwrap();
                let refused = taken.check(&transaction).unwrap_err();
                assert!(matches!(refused, FenceError::Unknown { .. }), "{refused:?}");
                fires(&transaction, job).unwrap_err();
                drop(transaction);
            }
            // With a rollback journal readers keep a writer from committing.
            Err(FenceError::Unknown { .. }) if journal == "DELETE" => {
                drop(transaction);
                let _ = takes_over(&mut new, NEW);
                let transaction = old.transaction().unwrap();
                taken.check(&transaction).unwrap_err();
            }
            Err(error) => panic!("{journal}: {error:?}"),
        }
        let fired = i64::from(journal == "WAL");
        assert_eq!(next(&queue.open()), fired, "{journal}");
    }
}

/// SQLite keeps a transaction's lock over a rollback to a savepoint in it.
#[test]
fn a_check_inside_a_savepoint_holds_after_its_rollback() {
    for journal in JOURNALS {
        for begin in ["BEGIN; SAVEPOINT attempt", "SAVEPOINT attempt"] {
            let queue = Queue::new(journal);
            let (mut old, mut new) = (queue.open(), queue.open());
            let _ = takes_over(&mut old, OLD);
            old.execute_batch(begin).unwrap();
            let number = i64::try_from(OLD).unwrap();
            assert_eq!(old.execute(Fence::CHECK, ("job", number)).unwrap(), 1);
            let job = next(&old);
            old.execute_batch("ROLLBACK TO attempt").unwrap();
            // Paused here: another candidate leads by now.
            let unknown = fence().take_over(&mut new, token(NEW)).unwrap_err();
            assert!(
                matches!(unknown, FenceError::Unknown { .. }),
                "{journal}, {begin}: {unknown:?}"
            );
            old.execute("UPDATE jobs SET next = ?1", [job + 1]).unwrap();
            old.execute_batch("RELEASE attempt").unwrap();
            if !old.is_autocommit() {
                old.execute_batch("COMMIT").unwrap();
            }
            let _ = takes_over(&mut new, NEW);
            assert_eq!(next(&new), 1, "{journal}, {begin}");
        }
    }
}

#[test]
fn a_file_that_is_read_only_is_not_taken_over() {
    let queue = Queue::new("DELETE");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let mut reads = Connection::open_with_flags(queue.0.path().join("queue"), flags).unwrap();
    let refused = fence().take_over(&mut reads, token(OLD)).unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

#[test]
fn refusals_name_the_fence_and_both_tokens() {
    let queue = Queue::new("WAL");
    let mut connection = queue.open();
    let newer = takes_over(&mut connection, NEW);
    let newer = takes_over(&mut connection, newer.token().get());
    let error = fence().take_over(&mut connection, token(OLD)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the fence \"job\" holds token 8, which is above this tenure's token 7: a newer tenure has taken \
         the resource over"
    );
    let other = Fence::new(&Key::new("other").unwrap());
    let _ = other.take_over(&mut connection, token(OLD)).unwrap();
    let error = fence().take_over(&mut connection, token(u64::MAX)).unwrap_err();
    assert!(matches!(error, FenceError::Misused { .. }), "{error:?}");
    assert!(
        error.to_string().contains("can't store the token: token 18446744073709551615 is"),
        "{error}"
    );
    for (sql, holds) in [
        ("UPDATE tenure_fences SET token = 5", "token 5"),
        ("DELETE FROM tenure_fences", "no token"),
    ] {
        connection.execute(sql, []).unwrap();
        let transaction = connection.transaction().unwrap();
        let error = newer.check(&transaction).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the fence \"job\" holds {holds}, not")), "{error}");
    }
}
