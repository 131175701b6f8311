//! Files, and stores in them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, FileControl};
use tempfile::TempDir;
use tenure::store::sqlite::{Sqlite, SqliteConfig, SqliteError};
use tenure::store::{Reply, Request, Store, StoreError};
use tenure::{Candidate, Config, Token};

pub(crate) use crate::stores::support::*;

const HOLD_OFF: Duration = Duration::from_millis(500);

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

    /// A store that trusts a file without grants.
    pub(crate) fn store(&self) -> Sqlite {
        Sqlite::new(self.config().trust_empty_store(true))
    }

    /// A store like those of applications.
    pub(crate) fn distrustful(&self) -> Sqlite {
        Sqlite::new(self.config())
    }

    /// A connection of an operator's.
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

    /// Deletes the file and its companions.
    pub(crate) fn delete(&self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(self.beside(suffix));
        }
    }

    /// The files that SQLite keeps beside it.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

pub(crate) fn config(file: &Path) -> SqliteConfig {
    SqliteConfig::new(file).busy_timeout(SOON / 2)
}

pub(crate) fn sql(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(SOON).unwrap();
    // The last other connection to close deletes the companions, which costs a quarantine.
    connection.file_control(Some("main"), FileControl::PersistWal(&mut 1)).unwrap();
    connection
}

/// A lease that was granted and given back: its token.
pub(crate) async fn past_tenure(store: &impl Store) -> Token {
    let token = granted(store, acquire(1, None)).await;
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    token
}

/// The store's own error behind that one.
pub(crate) fn why(error: &StoreError) -> &SqliteError {
    error.source().and_then(|source| source.downcast_ref()).expect("the store says why")
}

/// Every request fails, for a reason that `expected` accepts.
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

/// A candidate with a short hold-off, and its events from the very first on.
pub(crate) fn start(store: Sqlite, name: &str, config: Config) -> (Candidate, Events) {
    run(Candidate::builder(store, "job").name(name).config(config).hold_off(HOLD_OFF))
}
