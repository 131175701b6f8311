//! The file as a database: opened, known to be ours, and given its tables if it is new.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::{Connection, ErrorCode, FileControl, OpenFlags, ToSql, Transaction};

use super::place::{self, Place};
use super::{SqliteConfig, SqliteError};

/// What the file's header says that it is: "tenu".
const APPLICATION_ID: i32 = 0x7465_6e75;
const VERSION: i32 = 2;

/// All that a file holds. Times are microseconds of the file's time (see [`super::time`]), which counts
/// from 1970. A history of no row has granted nothing yet. The database's id is for people, who may want
/// to tell copies from each other.
const SCHEMA: &str = "
CREATE TABLE elections (
    key TEXT NOT NULL PRIMARY KEY,
    token INTEGER NOT NULL CHECK (token > 0),
    holder BLOB NOT NULL CHECK (length(holder) = 16),
    lease_end INTEGER NOT NULL CHECK (lease_end >= 0),
    ttl INTEGER NOT NULL CHECK (ttl >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    name TEXT NOT NULL,
    metadata BLOB NOT NULL,
    written_at INTEGER NOT NULL CHECK (written_at >= 0)
) STRICT;
CREATE TABLE history (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    known_since INTEGER NOT NULL CHECK (known_since >= 0),
    ahead INTEGER NOT NULL
) STRICT;
CREATE TABLE database (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
) STRICT;
INSERT INTO database (one, id) VALUES (1, lower(hex(randomblob(16))));
";

/// For how long SQLite itself waits for a lock. We try again, unless the caller has gone meanwhile.
const WAITS: Duration = Duration::from_millis(10);

/// An open file that is ours.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) connection: Connection,
    pub(super) place: Place,
    pub(super) trust_empty_store: bool,
    busy_timeout: Duration,
    path: PathBuf,
}

impl Database {
    /// Opens the file, and makes what is missing.
    pub(super) fn open(config: &SqliteConfig) -> Result<Self, SqliteError> {
        let path = &config.path;
        place::create(path, config.busy_timeout)?;
        let place = Place::look(path)?;
        // Not created here, so that it is the file that was looked at; and no path is taken for a URI.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let fail = |error| SqliteError::sqlite(path, error);
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection.busy_timeout(WAITS).map_err(fail)?;
        let (busy_timeout, trust_empty_store) = (config.busy_timeout, config.trust_empty_store);
        let path = path.clone();
        let database = Self { connection, place, trust_empty_store, busy_timeout, path };
        database.prepare()?;
        database.is_kept()?;
        let id = "SELECT id FROM database WHERE one = 1";
        let id = database.connection.query_row(id, [], |row| row.get::<_, String>(0));
        let id = id.map_err(|error| database.failed(error))?;
        tracing::debug!(path = %database.path.display(), id, "opened");
        Ok(database)
    }

    /// Checks what the file is before anything is written to it.
    fn prepare(&self) -> Result<(), SqliteError> {
        // One snapshot: another process may be making the tables.
        let snapshot = self.snapshot(|| true)?;
        let header = self.patiently(|| true, || self.header())?;
        drop(snapshot);
        if self.is_new(header)? {
            let transaction = self.write(|| true)?;
            let header = self.header().map_err(|error| self.failed(error))?;
            // Another process may have been quicker.
            if self.is_new(header)? {
                transaction.execute_batch(SCHEMA).map_err(|error| self.failed(error))?;
                self.set("application_id", APPLICATION_ID)?;
                self.set("user_version", VERSION)?;
                transaction.commit().map_err(|error| self.failed(error))?;
            }
        }
        // Not for safety but for pace: readers and the writer do not wait for each other.
        self.patiently(|| true, || self.connection.pragma_update(None, "journal_mode", "wal"))?;
        // A commit is on the disk before it is told of.
        self.set("synchronous", "full")
    }

    /// Which application's file it is, of which version, and how many tables and such it has.
    fn header(&self) -> rusqlite::Result<[i32; 3]> {
        let ask = |what| self.connection.pragma_query_value(None, what, |row| row.get(0));
        let count = "SELECT count(*) FROM sqlite_schema";
        let count = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok([ask("application_id")?, ask("user_version")?, count])
    }

    /// Whether the file is empty; an error if it is anything but empty or ours.
    fn is_new(&self, header: [i32; 3]) -> Result<bool, SqliteError> {
        match header {
            [0, 0, 0] => Ok(true),
            [APPLICATION_ID, VERSION, _] => Ok(false),
            [APPLICATION_ID, found, _] => {
                Err(SqliteError::Version { path: self.path.clone(), found, known: VERSION })
            }
            [application_id, ..] => {
                Err(SqliteError::NotElections { path: self.path.clone(), application_id })
            }
        }
    }

    /// Begins a transaction that has the file's write lock, as soon as that is free.
    pub(super) fn write(&self, awaited: impl Fn() -> bool) -> Result<Transaction<'_>, SqliteError> {
        self.patiently(awaited, || Transaction::new_unchecked(&self.connection, Immediate))
    }

    /// Begins a transaction whose reads all see the file as the first of them finds it.
    pub(super) fn snapshot(
        &self,
        awaited: impl Fn() -> bool,
    ) -> Result<Transaction<'_>, SqliteError> {
        self.patiently(awaited, || Transaction::new_unchecked(&self.connection, Deferred))
    }

    /// Does something that is not done at all while others have the file locked, again and again: until
    /// it is done, nobody awaits it any more, or it has taken too long.
    pub(super) fn patiently<T>(
        &self,
        awaited: impl Fn() -> bool,
        mut step: impl FnMut() -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        let began = Instant::now();
        loop {
            if !awaited() {
                return Err(SqliteError::GivenUp);
            }
            match step() {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    let waited = began.elapsed();
                    if waited >= self.busy_timeout {
                        return Err(SqliteError::Locked { path: self.path.clone(), waited });
                    }
                    // SQLite has waited, unless it saw that waiting is of no use to it.
                    std::thread::sleep(Duration::from_millis(1));
                }
                done => return done.map_err(|error| self.failed(error)),
            }
        }
    }

    /// Whether the file is still the one at the path, by the path and by SQLite's own handle.
    fn is_kept(&self) -> Result<(), SqliteError> {
        let mut moved = 0;
        let ask = FileControl::HasMoved(&mut moved);
        self.connection.file_control(Some("main"), ask).map_err(|error| self.failed(error))?;
        if moved != 0 {
            return Err(SqliteError::Replaced { path: self.path.clone() });
        }
        self.place.is_kept()
    }

    fn set(&self, pragma: &str, value: impl ToSql) -> Result<(), SqliteError> {
        self.connection.pragma_update(None, pragma, value).map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> SqliteError {
        SqliteError::sqlite(self.path(), error)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_durable_and_the_file_says_whose_it_is() {
        let name = format!("tenure-database-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let database = Database::open(&SqliteConfig::new(&path)).unwrap();
        let ask = |what| -> String {
            let value = database.connection.pragma_query_value(None, what, |row| row.get(0));
            value.map(|value: rusqlite::types::Value| format!("{value:?}")).unwrap()
        };
        assert_eq!(ask("journal_mode"), "Text(\"wal\")");
        assert_eq!(ask("synchronous"), "Integer(2)", "full");
        assert_eq!(ask("application_id"), format!("Integer({APPLICATION_ID})"));
        assert_eq!(APPLICATION_ID.to_be_bytes(), *b"tenu");
        drop(database);
        std::fs::remove_file(path).unwrap();
    }
}
