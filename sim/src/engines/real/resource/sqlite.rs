//! A table in a SQLite file.
//!
//! The clock is read under the lock of the transaction that writes, by the process that writes: the
//! entries' times are in their order.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tempfile::TempDir;
use tenure::Token;
use tenure::fence::FenceError;
use tenure::fence::sqlite::{Fence, TakenOver};
use tenure_servers::ServerError;
use tokio::task::block_in_place;

use super::{Landed, NotWritten, parsed};
use crate::engines::real::clock::wall_clock;
use crate::engines::real::election::key;
use crate::engines::real::steps::sqlite::failed;

const WRITES: &str = "CREATE TABLE writes (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, \
    fenced INTEGER NOT NULL, text TEXT NOT NULL)";
const ADD: &str = "INSERT INTO writes (at, fenced, text) VALUES (?1, ?2, ?3)";
/// A process that is paused in a transaction keeps others waiting.
const BUSY_MOST: Duration = Duration::from_secs(1);

/// The file, as the engine holds it.
#[derive(Debug)]
pub(in super::super) struct File {
    folder: TempDir,
}

impl File {
    pub(super) fn create() -> Result<Self, ServerError> {
        let folder = tempfile::tempdir().map_err(failed)?;
        let file = Self { folder };
        let connection = Connection::open(file.path()).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        connection.execute_batch(Fence::SCHEMA).map_err(failed)?;
        connection.execute_batch(WRITES).map_err(failed)?;
        Ok(file)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("resource.db")
    }

    pub(super) fn landed(&self) -> Result<Vec<Landed>, ServerError> {
        let connection = Connection::open(self.path()).map_err(failed)?;
        let select = "SELECT at, fenced, text FROM writes ORDER BY id";
        let mut select = connection.prepare(select).map_err(failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = select.query_map([], row).map_err(failed)?;
        let landed = rows.map(|row| {
            let (at, fenced, text): (i64, bool, String) = row.map_err(failed)?;
            parsed(&text, &at.to_string(), fenced).map_err(failed)
        });
        landed.collect()
    }
}

/// A process's connection to it.
pub(in super::super) struct Resource {
    connection: Connection,
    taken_over: Option<TakenOver>,
}

impl Resource {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let connection = Connection::open(path).ok()?;
        connection.busy_timeout(BUSY_MOST).ok()?;
        Some(Self { connection, taken_over: None })
    }

    pub(super) fn take_over(&mut self, token: Token) -> Result<(), NotWritten> {
        let fence = Fence::new(&key());
        let taken_over = block_in_place(|| fence.take_over(&mut self.connection, token));
        self.taken_over = Some(taken_over.map_err(|error| known(&error))?);
        Ok(())
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), NotWritten> {
        let Self { connection, taken_over } = self;
        let taken_over = taken_over.as_ref().ok_or(NotWritten::Unknown)?;
        block_in_place(|| {
            let transaction = connection.transaction().map_err(|_| NotWritten::Unknown)?;
            taken_over.check(&transaction).map_err(|error| known(&error))?;
            add(transaction, true, text)
        })
    }

    pub(super) fn write_unfenced(&mut self, text: &str) -> Result<(), NotWritten> {
        block_in_place(|| {
            let locked = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(locked);
            add(transaction.map_err(|_| NotWritten::Unknown)?, false, text)
        })
    }
}

/// Adds a write to the account, in a transaction that has the lock.
fn add(transaction: Transaction<'_>, fenced: bool, text: &str) -> Result<(), NotWritten> {
    let at = i64::try_from(wall_clock()).unwrap_or(i64::MAX);
    let added = transaction.execute(ADD, params![at, fenced, text]);
    added.and_then(|_| transaction.commit()).map_err(|_| NotWritten::Unknown)
}

const fn known(error: &FenceError<rusqlite::Error>) -> NotWritten {
    match error {
        FenceError::Superseded { .. } => NotWritten::Refused,
        _ => NotWritten::Unknown,
    }
}
