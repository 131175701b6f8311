//! The file as a database: opened, checked to be ours, and with its tables created if it is new.

use super::config::SqliteConfig;
use super::create::create;
use super::error::SqliteError;
use super::handle::Handle;
use super::place::{Place, Site};
use crate::logging;

/// The application id in the file's header: "tenu".
const APPLICATION_ID: i32 = 0x7465_6e75;
const VERSION: i32 = 3;

/// The tables of a file. Times are microseconds; names and identities have 16 bytes, and an empty
/// `wanted` stands for any candidate. A past without a row means that no candidate has asked yet.
/// The database's id is for people, to distinguish copies.
const SCHEMA: &str = "
CREATE TABLE elections (
    key TEXT NOT NULL PRIMARY KEY,
    token INTEGER NOT NULL CHECK (token > 0),
    holder BLOB NOT NULL CHECK (length(holder) = 16),
    number INTEGER NOT NULL CHECK (number > 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    reserved_for BLOB CHECK (length(reserved_for) = 16),
    reserve INTEGER CHECK (reserve >= 0),
    ttl INTEGER NOT NULL CHECK (ttl >= 0),
    quarantine INTEGER NOT NULL CHECK (quarantine >= 0),
    wanted BLOB CHECK (length(wanted) IN (0, 16)),
    asked BLOB CHECK (length(asked) = 16),
    defer INTEGER CHECK (defer >= 0),
    written INTEGER NOT NULL CHECK (written >= 0),
    name TEXT NOT NULL,
    metadata BLOB NOT NULL,
    described INTEGER NOT NULL DEFAULT 0,
    CHECK ((reserved_for IS NULL) = (reserve IS NULL) AND (asked IS NULL) = (defer IS NULL))
) STRICT;
CREATE TABLE past (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    stamp BLOB NOT NULL CHECK (length(stamp) = 16),
    watched INTEGER NOT NULL CHECK (watched >= 0),
    longest INTEGER NOT NULL CHECK (longest >= 0),
    purged INTEGER NOT NULL CHECK (purged >= 0)
) STRICT;
CREATE TABLE database (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
) STRICT;
INSERT INTO database (one, id) VALUES (1, lower(hex(randomblob(16))));
";

/// The database, its three files open and ours.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) handle: Handle,
    pub(super) place: Place,
    pub(super) trust_empty_store: bool,
}

impl Database {
    /// Opens the file, and creates its tables if it is new.
    pub(super) fn open(config: &SqliteConfig) -> Result<Self, SqliteError> {
        create(config)?;
        let site = Site::look(&config.path)?;
        let handle = Handle::open(config)?;
        handle.prepare()?;
        // This reads through the log, and so opens the files beside the file.
        let id = "SELECT id FROM database WHERE one = 1";
        let read = || handle.connection.query_row(id, [], |row| row.get::<_, String>(0));
        let id = handle.patiently(|| true, read)?;
        handle.has_not_moved()?;
        let place = site.opened()?;
        handle.copy_log_when_closed(true)?;
        logging::debug!(path = %config.path.display(), id, "opened");
        Ok(Self { handle, place, trust_empty_store: config.trust_empty_store })
    }
}

impl Drop for Database {
    /// The last process that closes the file copies the log into it, also a log that was deleted.
    /// If other processes use another log by then, that would damage the file.
    fn drop(&mut self) {
        if self.place.is_kept().is_err()
            && let Err(error) = self.handle.copy_log_when_closed(false)
        {
            logging::error!(%error, "a log that was replaced may be copied into the file");
        }
    }
}

impl Handle {
    /// Checks the file before anything is written to it.
    fn prepare(&self) -> Result<(), SqliteError> {
        // One snapshot: another process may be creating the tables.
        let snapshot = self.snapshot(|| true)?;
        let header = self.patiently(|| true, || self.header())?;
        drop(snapshot);
        if self.is_new(header)? {
            let transaction = self.write(|| true)?;
            let header = self.header().map_err(|error| self.failed(error))?;
            // Another process may have done it first.
            if self.is_new(header)? {
                transaction.execute_batch(SCHEMA).map_err(|error| self.failed(error))?;
                self.set("application_id", APPLICATION_ID)?;
                self.set("user_version", VERSION)?;
                // It waits for those who read the header. What fails is undone.
                self.patiently(|| true, || transaction.execute_batch("COMMIT"))?;
            }
        }
        // For speed only: readers and the writer do not wait for each other.
        self.set("journal_mode", "wal")?;
        // A commit is on the disk before it is reported.
        self.set("synchronous", "full")
    }

    /// The file's application id, its version, and its number of tables and other objects.
    fn header(&self) -> rusqlite::Result<[i32; 3]> {
        let ask = |what| self.connection.pragma_query_value(None, what, |row| row.get(0));
        let count = "SELECT count(*) FROM sqlite_schema";
        let count = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok([ask("application_id")?, ask("user_version")?, count])
    }

    /// True if the file is empty; an error if it is neither empty nor ours.
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
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn commits_are_durable_and_the_file_says_whose_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&SqliteConfig::new(folder.path().join("e.db"))).unwrap();
        let ask = |what| -> String {
            let value = database.handle.connection.pragma_query_value(None, what, |row| row.get(0));
            value.map(|value: rusqlite::types::Value| format!("{value:?}")).unwrap()
        };
        assert_eq!(ask("journal_mode"), "Text(\"wal\")");
        assert_eq!(ask("synchronous"), "Integer(2)", "full");
        assert_eq!(ask("application_id"), format!("Integer({APPLICATION_ID})"));
        assert_eq!(APPLICATION_ID.to_be_bytes(), *b"tenu");
    }

    #[test]
    fn a_file_of_an_older_version_stays_unread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("older.db");
        let file = Connection::open(&path).unwrap();
        file.execute_batch("CREATE TABLE elections (key TEXT)").unwrap();
        file.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        file.pragma_update(None, "user_version", VERSION - 1).unwrap();
        drop(file);
        let before = std::fs::read(&path).unwrap();
        let error = Database::open(&SqliteConfig::new(&path)).unwrap_err();
        assert!(matches!(error, SqliteError::Version { found: 2, known: 3, .. }), "{error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
