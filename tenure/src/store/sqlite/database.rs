//! The file as a database: opened, checked to be ours, and with its tables created if it is new.

use super::config::SqliteConfig;
use super::create::create;
use super::error::SqliteError;
use super::handle::Handle;
use super::place::{Place, Site};

/// The application id in the file's header: "tenu".
const APPLICATION_ID: i32 = 0x7465_6e75;
const VERSION: i32 = 2;

/// The tables of a file. Times are microseconds of the file's time (see [`super::time`]), which counts
/// from 1970. A history without a row means that nothing was granted yet. The database's id is for people, to
/// distinguish copies.
const SCHEMA: &str = "
CREATE TABLE elections (
    key TEXT NOT NULL PRIMARY KEY,
    token INTEGER NOT NULL CHECK (token > 0),
    holder BLOB NOT NULL CHECK (length(holder) = 16),
    lease_end INTEGER NOT NULL CHECK (lease_end >= 0),
    ttl INTEGER NOT NULL CHECK (ttl >= 0),
    quarantine INTEGER CHECK (quarantine >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    name TEXT NOT NULL,
    metadata BLOB NOT NULL,
    described_token INTEGER NOT NULL DEFAULT 0,
    described_version INTEGER NOT NULL DEFAULT 0,
    written_at INTEGER NOT NULL CHECK (written_at >= 0)
) STRICT;
CREATE TABLE history (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    known_since INTEGER NOT NULL CHECK (known_since >= 0),
    longest_ttl INTEGER NOT NULL DEFAULT 0 CHECK (longest_ttl >= 0),
    ahead INTEGER NOT NULL,
    purged INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0)
) STRICT;
CREATE TABLE database (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
) STRICT;
INSERT INTO database (one, id) VALUES (1, lower(hex(randomblob(16))));
";

/// The columns that a file of version 2 lacks if it was created before quarantines, the longest TTL, the highest purged
/// token, and the versions of profiles were kept. Programs of that time name the columns that they read and write, and
/// can still use such a file.
const ADDED: [(&str, &str, &str); 5] = [
    ("elections", "quarantine", "INTEGER CHECK (quarantine >= 0)"),
    ("elections", "described_token", "INTEGER NOT NULL DEFAULT 0"),
    ("elections", "described_version", "INTEGER NOT NULL DEFAULT 0"),
    ("history", "longest_ttl", "INTEGER NOT NULL DEFAULT 0 CHECK (longest_ttl >= 0)"),
    ("history", "purged", "INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0)"),
];

/// The database, its three files open and ours.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) handle: Handle,
    pub(super) place: Place,
    pub(super) trust_empty_store: bool,
}

impl Database {
    /// Opens the file, and creates missing tables and columns.
    pub(super) fn open(config: &SqliteConfig) -> Result<Self, SqliteError> {
        create(config)?;
        let site = Site::look(&config.path)?;
        let handle = Handle::open(config)?;
        handle.prepare()?;
        // This reads through the log, and so opens the files beside the file.
        let id = "SELECT id FROM database WHERE one = 1";
        let id = handle.connection.query_row(id, [], |row| row.get::<_, String>(0));
        let id = id.map_err(|error| handle.failed(error))?;
        handle.has_not_moved()?;
        let place = site.opened()?;
        handle.copy_log_when_closed(true)?;
        tracing::debug!(path = %config.path.display(), id, "opened");
        Ok(Self { handle, place, trust_empty_store: config.trust_empty_store })
    }
}

impl Drop for Database {
    /// The last process that closes the file copies the log into it, also a log that was deleted. If other processes
    /// use another log by then, that would damage the file.
    fn drop(&mut self) {
        if self.place.is_kept().is_err()
            && let Err(error) = self.handle.copy_log_when_closed(false)
        {
            tracing::error!(%error, "a log that was replaced may be copied into the file");
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
                transaction.commit().map_err(|error| self.failed(error))?;
            }
        }
        self.add_columns()?;
        // For speed only: readers and the writer do not wait for each other.
        self.patiently(|| true, || self.connection.pragma_update(None, "journal_mode", "wal"))?;
        // A commit is on the disk before it is reported.
        self.set("synchronous", "full")
    }

    /// Adds the columns that a file of an earlier version lacks.
    fn add_columns(&self) -> Result<(), SqliteError> {
        let has = |(table, column, _): &(&str, &str, &str)| {
            let count = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
            self.connection.query_row(count, [table, column], |row| row.get::<_, bool>(0))
        };
        let has_all = || ADDED.iter().try_fold(true, |all, added| Ok(all && has(added)?));
        if self.patiently(|| true, has_all)? {
            return Ok(());
        }
        let transaction = self.write(|| true)?;
        for added in &ADDED {
            // Another process may have done it first.
            if !has(added).map_err(|error| self.failed(error))? {
                let (table, column, holds) = added;
                let add = format!("ALTER TABLE {table} ADD COLUMN {column} {holds}");
                transaction.execute_batch(&add).map_err(|error| self.failed(error))?;
            }
        }
        transaction.commit().map_err(|error| self.failed(error))
    }

    /// The file's application id, its version, and its number of tables and other objects.
    fn header(&self) -> rusqlite::Result<[i32; 3]> {
        let ask = |what| self.connection.pragma_query_value(None, what, |row| row.get(0));
        let count = "SELECT count(*) FROM sqlite_schema";
        let count = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok([ask("application_id")?, ask("user_version")?, count])
    }

    /// Whether the file is empty; an error if it is neither empty nor ours.
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
    use std::time::Duration;

    use rusqlite::Connection;

    use super::*;

    #[test]
    fn commits_are_durable_and_the_file_says_whose_it_is() {
        let name = format!("tenure-database-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let database = Database::open(&SqliteConfig::new(&path)).unwrap();
        let ask = |what| -> String {
            let value = database.handle.connection.pragma_query_value(None, what, |row| row.get(0));
            value.map(|value: rusqlite::types::Value| format!("{value:?}")).unwrap()
        };
        assert_eq!(ask("journal_mode"), "Text(\"wal\")");
        assert_eq!(ask("synchronous"), "Integer(2)", "full");
        assert_eq!(ask("application_id"), format!("Integer({APPLICATION_ID})"));
        assert_eq!(APPLICATION_ID.to_be_bytes(), *b"tenu");
        drop(database);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_from_an_earlier_version_gets_its_columns() {
        let name = format!("tenure-earlier-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let earlier = ADDED.iter().fold(SCHEMA.to_owned(), |schema, (_, column, holds)| {
            let schema = schema.replace(&format!("    {column} {holds},\n"), "");
            schema.replace(&format!(",\n    {column} {holds}\n"), "\n")
        });
        assert!(ADDED.iter().all(|(_, column, _)| !earlier.contains(column)), "{earlier}");
        let file = Connection::open(&path).unwrap();
        let made = "INSERT INTO elections
                (key, token, holder, lease_end, ttl, released, name, metadata, written_at)
                VALUES ('job', 7, zeroblob(16), 9, 5, 0, 'a', zeroblob(0), 4);
            INSERT INTO history (one, identity, known_since, ahead) VALUES (1, 'x', 3, 0);";
        file.execute_batch(&earlier).unwrap();
        file.execute_batch(made).unwrap();
        file.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        file.pragma_update(None, "user_version", VERSION).unwrap();
        drop(file);
        let key = crate::store::Key::new("job").unwrap();
        for _ in 0..2 {
            let database = Database::open(&SqliteConfig::new(&path)).unwrap();
            let record = database.election(&key, || true).unwrap().unwrap().record;
            assert_eq!((record.token.get(), record.quarantine), (7, None));
            assert_eq!(database.past(|| true).unwrap().unwrap().longest_ttl, Duration::ZERO);
        }
        // A program of that version can still use it.
        Connection::open(&path).unwrap().execute_batch(&made.replace("INSERT", "REPLACE")).unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
