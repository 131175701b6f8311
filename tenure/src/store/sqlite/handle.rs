//! The connection to the open file.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, FileControl, OpenFlags, ToSql, Transaction};

use super::config::SqliteConfig;
use super::error::SqliteError;

/// SQLite's own wait for a lock. We retry unless the caller has given up meanwhile.
const WAITS: Duration = Duration::from_millis(10);

/// The longest text, blob or row that SQLite reads or writes: no record of ours comes near, and a
/// longer one is refused before it is read.
const BYTES_MOST: i32 = 64 * 1024;

/// An open file.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    busy_timeout: Duration,
}

impl Handle {
    /// Opens an existing file.
    pub(super) fn open(config: &SqliteConfig) -> Result<Self, SqliteError> {
        let path = config.path.clone();
        // It is not created here, so that it is the file that was examined; and no path is read as
        // a URI.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(&path, flags)
            .map_err(|error| SqliteError::sqlite(&path, error))?;
        let handle = Self { connection, path, busy_timeout: config.busy_timeout };
        let limited = handle.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, BYTES_MOST);
        limited.map_err(|error| handle.failed(error))?;
        handle.connection.busy_timeout(WAITS).map_err(|error| handle.failed(error))?;
        // The last process that closes the file leaves the log and the shared memory: a missing log
        // was then deleted. Its content is in the file by then, so it can do no harm to a backup
        // that is put in the file's place.
        handle.control(FileControl::PersistWal(&mut 1))?;
        handle.set("journal_size_limit", 0)?;
        handle.copy_log_when_closed(false)?;
        Ok(handle)
    }

    /// Sets whether the last process that closes the file copies the log into it. Only a log that
    /// other processes use too belongs there.
    pub(super) fn copy_log_when_closed(&self, copy: bool) -> Result<(), SqliteError> {
        let not = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let set = self.connection.set_db_config(not, !copy);
        set.map(drop).map_err(|error| self.failed(error))
    }

    /// Begins a transaction with the file's write lock, as soon as that is free.
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

    /// Repeats an action that fails while other processes have the file locked, until it succeeds,
    /// is not awaited any more, or has taken too long.
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
                    // SQLite has waited, unless it found that waiting could not help.
                    std::thread::sleep(Duration::from_millis(1));
                }
                done => return done.map_err(|error| self.failed(error)),
            }
        }
    }

    /// Checks that the file is still at the path, by SQLite's own handle.
    pub(super) fn has_not_moved(&self) -> Result<(), SqliteError> {
        let mut moved = 0;
        self.control(FileControl::HasMoved(&mut moved))?;
        match moved {
            0 => Ok(()),
            _ => Err(SqliteError::Replaced { path: self.path.clone() }),
        }
    }

    /// Sets a pragma. SQLite reads the file for most of them, which another process may have locked.
    pub(super) fn set(&self, pragma: &str, value: impl ToSql) -> Result<(), SqliteError> {
        self.patiently(|| true, || self.connection.pragma_update(None, pragma, &value))
    }

    fn control(&self, what: FileControl<'_>) -> Result<(), SqliteError> {
        let done = self.connection.file_control(Some("main"), what);
        done.map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> SqliteError {
        SqliteError::sqlite(&self.path, error)
    }
}
