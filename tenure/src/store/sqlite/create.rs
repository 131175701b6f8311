//! Creates the file if there is none.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    CWD, FlockOperation, Mode, OFlags, RenameFlags, fchmod, flock, fstat, open, renameat_with, stat,
};
use rustix::io::Errno;

use super::config::SqliteConfig;
use super::error::SqliteError;
use super::file_system::refuse_network;

/// The interval of attempts to lock.
const TRIES_EVERY: Duration = Duration::from_millis(1);

/// Creates an empty file at the path if there is none, with exactly the configured rights.
///
/// Files that SQLite kept beside a deleted file are deleted too: its shared memory would be taken
/// for that of the new file. One process at a time does this, under a lock, so that no process
/// deletes files of the new one.
pub(super) fn create(config: &SqliteConfig) -> Result<(), SqliteError> {
    let path = config.path.as_path();
    if exists(path)? {
        return Ok(());
    }
    let folder = folder(path);
    if !folder.is_dir() {
        return Err(SqliteError::NoFolder { path: path.to_owned() });
    }
    refuse_network(path, folder)?;
    let _lock = Lock::take(path, config)?;
    if exists(path)? {
        return Ok(());
    }
    for suffix in ["-wal", "-shm", "-journal", "-new"] {
        remove(path, &beside(path, suffix))?;
    }
    make(path, config.mode())
}

/// Creates the file under another name first: a file with too few rights never exists at the path,
/// and one with too many rights nowhere. At the path itself it could not be opened to set its
/// rights: a process that closes a file loses all of its locks on it.
fn make(path: &Path, mode: Mode) -> Result<(), SqliteError> {
    let fail = |error: Errno| SqliteError::io(path, "creating it", error.into());
    let new = beside(path, "-new");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(&new, flags, mode).map_err(fail)?;
    // The umask may have taken rights away.
    fchmod(&file, mode).map_err(fail)?;
    drop(file);
    let moved = match renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE) {
        // The file system can't do it in one step.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::link(&new, path),
        moved => moved,
    };
    remove(path, &new)?;
    match moved {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(fail(error)),
    }
}

/// A lock file beside the file, which the process that holds the lock deletes.
///
/// It is a file of its own, since any user who can read the folder could lock the folder.
struct Lock {
    path: PathBuf,
    /// Takes the lock.
    _file: OwnedFd,
}

impl Lock {
    fn take(of: &Path, config: &SqliteConfig) -> Result<Self, SqliteError> {
        let path = beside(of, "-lock");
        let fail = |error: Errno| SqliteError::io(of, "locking the making of it", error.into());
        let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let began = Instant::now();
        loop {
            let file = open(&path, flags, config.mode()).map_err(fail)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path).map_err(fail)? => {
                    return Ok(Self { path, _file: file });
                }
                // The previous holder has deleted it meanwhile.
                Ok(()) | Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(fail(error)),
            }
            let waited = began.elapsed();
            if waited >= config.busy_timeout {
                return Err(SqliteError::Locked { path: of.to_owned(), waited });
            }
            std::thread::sleep(TRIES_EVERY);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A lock file that stays behind is not locked, and is reused.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_at(file: &OwnedFd, path: &Path) -> rustix::io::Result<bool> {
    let open = fstat(file)?;
    match stat(path) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (open.st_dev, open.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn exists(path: &Path) -> Result<bool, SqliteError> {
    fs::exists(path).map_err(|error| SqliteError::io(path, "looking at it", error))
}

fn remove(path: &Path, what: &Path) -> Result<(), SqliteError> {
    match fs::remove_file(what) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SqliteError::io(path, "deleting what an older file left behind", error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The path of a file beside that one.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    name.into()
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
