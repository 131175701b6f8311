//! The error of an unusable file.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE as SHARED_MEMORY, SQLITE_IOERR_SHORT_READ as SHORT_READ};
use rustix::fs::{Access, access};

use super::create::beside;
use crate::store::{LimitError, StoreError, StoreErrorKind};

/// The error of an unusable file: the source of the [`StoreError`]s of this store, by whose kind
/// applications decide. Like all of them it means *unknown*.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The folder is missing.
    #[error("the folder of {} does not exist: create it", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// A folder, a device or another special file.
    #[error("{} is not a file but a {what}: name a file", path.display())]
    NotAFile {
        /// The named path.
        path: PathBuf,
        /// Its kind.
        what: &'static str,
    },
    /// The process may not use the file, or may not create those that SQLite needs beside it.
    #[error(
        "no permission for {}: this user must be able to read and write the file and to create others \
         in its folder, which must not be mounted read-only",
        path.display()
    )]
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// Locks and shared memory do not work there, or not between hosts.
    #[error(
        "{} is on a network file system ({file_system}): use a folder on a local disk of this host",
        path.display()
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// The file system.
        file_system: &'static str,
    },
    /// The file was mounted by itself, as containers do. SQLite keeps two more files beside it,
    /// which would not be shared.
    #[error("{} is mounted by itself: mount its folder instead", path.display())]
    MountedAlone {
        /// The file.
        path: PathBuf,
    },
    /// The file has more than one name. SQLite would keep a journal for each.
    #[error("{} has {links} hard links: it must have one", path.display())]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// Their number.
        links: u64,
    },
    /// The file, or one that SQLite keeps beside it, was deleted, moved or replaced while it was
    /// open. The next request opens what is at the path then.
    #[error("{} was deleted, moved or replaced", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The log was deleted or replaced, and a process has not closed the file since, as it is
    /// stopped. What it shares with all others still names parts of the old log. Nothing is lost by
    /// waiting: to part from that process would let it write the old log's pages into the file.
    #[error(
        "{log} lacks what a process that has {file} open knows of it: the log was deleted or replaced, and that process \
         has not noticed yet. It may be stopped (SIGSTOP, a frozen container): let it go on, or end it. `fuser {file}` \
         names it. The file itself is not at fault",
        log = beside(path, "-wal").display(),
        file = path.display()
    )]
    OldLog {
        /// The file.
        path: PathBuf,
    },
    /// Another process has kept the file locked. Nothing was done.
    #[error("another process has kept {} locked for {waited:?}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// For how long.
        waited: Duration,
    },
    /// The caller gave up before anything was done.
    #[error("the caller gave up before anything was done")]
    GivenUp,
    /// No SQLite database.
    #[error("{} is not a SQLite database: name another file, or move it away", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A database of another application.
    #[error(
        "{} is a database of another application (application_id {application_id}): name a file of its \
         own for elections",
        path.display()
    )]
    NotElections {
        /// The file.
        path: PathBuf,
        /// Its application id.
        application_id: i32,
    },
    /// Written by another version of this crate.
    #[error(
        "{} has schema version {found}, and this program knows version {known}: run the same version of \
         tenure on all sides. To replace a file of an older version, stop all of its candidates, then delete it with \
         its -wal and -shm",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i32,
        /// The version that this crate reads and writes.
        known: i32,
    },
    /// The file has content that no version writes.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place, and the damage.
        what: String,
    },
    /// A record is larger than any that this crate writes. It was not read, and the others are not
    /// affected.
    #[error("{} has a record that is too large: {what}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The record, and its size.
        what: String,
    },
    /// No space left.
    #[error("no space is left for {}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused something else.
    #[error("{} can't be used: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The action.
        action: &'static str,
        /// Its error.
        source: io::Error,
    },
    /// SQLite refused something else.
    #[error("SQLite failed on {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Its error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The thread that uses the file has ended in the middle of a request, or could not be started.
    #[error("the thread that uses the file could not be started, or has ended")]
    NoThread,
}

impl SqliteError {
    /// The error for an error of the operating system.
    pub(super) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { path }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, action, source },
        }
    }

    /// The error for an error of SQLite.
    pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::Error;
        let owned = path.to_owned();
        let is = |code| source.sqlite_error().is_some_and(|error| error.extended_code == code);
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path: owned },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation) => {
                Self::Damaged { path: owned, what: source.to_string() }
            }
            // SQLite tolerates a file that ends too early, and no log that does. The first process
            // that opens a file counts what is in the log anew.
            Some(_) if is(SHORT_READ) => Self::OldLog { path: owned },
            Some(ErrorCode::TooBig) => {
                let what = "it has a text or blob of more than 64 Ki bytes".to_owned();
                Self::TooLarge { path: owned, what }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path: owned },
            // The shared memory beside the file is a file too, which can't get its size.
            Some(_) if is(SHARED_MEMORY) => Self::Full { path: owned },
            // A file that can't be written is still opened for reading.
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::Denied { path: owned },
            Some(ErrorCode::CannotOpen) if !may_write_beside(path) => Self::Denied { path: owned },
            Some(_) => Self::Sqlite { path: owned, source: source.into() },
            None => match source {
                Error::FromSqlConversionFailure(_, _, why) if why.is::<LimitError>() => {
                    Self::TooLarge { path: owned, what: why.to_string() }
                }
                Error::FromSqlConversionFailure(..)
                | Error::IntegralValueOutOfRange(..)
                | Error::InvalidColumnType(..)
                | Error::Utf8Error(..)
                | Error::QueryReturnedNoRows => {
                    Self::Damaged { path: owned, what: source.to_string() }
                }
                _ => Self::Sqlite { path: owned, source: source.into() },
            },
        }
    }

    /// Adds the part of the file at fault.
    pub(super) fn about(self, part: impl FnOnce() -> String) -> Self {
        match self {
            Self::Damaged { path, what } => {
                Self::Damaged { path, what: format!("{}: {what}", part()) }
            }
            Self::TooLarge { path, what } => {
                Self::TooLarge { path, what: format!("{}: {what}", part()) }
            }
            other => other,
        }
    }

    /// True if the connection may be used for further requests.
    pub(super) fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::GivenUp | Self::TooLarge { .. })
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::NoFolder { .. }
            | Self::NotAFile { .. }
            | Self::Io { .. }
            | Self::Sqlite { .. } => StoreErrorKind::Unreachable,
            Self::Denied { .. } => StoreErrorKind::Permission,
            Self::Locked { .. } | Self::OldLog { .. } => StoreErrorKind::Locked,
            Self::Full { .. } => StoreErrorKind::Full,
            Self::Version { .. } => StoreErrorKind::UnsupportedVersion,
            Self::NetworkFileSystem { .. } | Self::MountedAlone { .. } | Self::HardLinks { .. } => {
                StoreErrorKind::Refused
            }
            Self::NotADatabase { .. }
            | Self::NotElections { .. }
            | Self::Damaged { .. }
            | Self::TooLarge { .. } => StoreErrorKind::BadRecord,
            Self::Replaced { .. } | Self::NoThread => StoreErrorKind::Disconnected,
            Self::GivenUp => StoreErrorKind::Timeout,
        }
    }
}

/// Finds out why a file can't be opened, which SQLite does not report.
fn may_write_beside(path: &Path) -> bool {
    path.parent().is_some_and(|folder| access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        Self::new(error.kind(), error.to_string()).with_source(error)
    }
}
