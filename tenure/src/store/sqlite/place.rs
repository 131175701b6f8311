//! The files at the path: whether elections can be kept there, and whether the files are still the
//! same.
//!
//! Three files are one store: the file itself, and the two that SQLite keeps beside it. The newest
//! grants are only in the write-ahead log, and the locks are in the shared memory. A process that
//! has another log or another memory open sees other grants and other locks. So every request
//! compares all three with the files at the path, and all three are a part of the identity: a
//! process that finds one of them missing or replaced knows that grants may be lost.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use super::create::beside;
use super::error::SqliteError;
use super::file_system::refuse_network;
use super::identity::identity;

/// The identity of a file. It is unique while the file exists or is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), number: found.ino() }
    }
}

/// The file as it was found before it was opened.
#[derive(Debug)]
pub(super) struct Site {
    path: PathBuf,
    inode: Inode,
}

impl Site {
    /// Examines the file, and refuses one that processes of this host can't share.
    pub(super) fn look(path: &Path) -> Result<Self, SqliteError> {
        let found = regular(path)?;
        refuse_network(path, path)?;
        refuse_other_names(path, &found)?;
        Ok(Self { path: path.to_owned(), inode: Inode::of(&found) })
    }

    /// The files that this process has open, after SQLite has read and written through all three.
    pub(super) fn opened(self) -> Result<Place, SqliteError> {
        let Self { path, inode } = self;
        let fail = |action| {
            let path = &path;
            move |error| SqliteError::io(path, action, error)
        };
        let real = fs::canonicalize(&path).map_err(fail("resolving its path"))?;
        let open = open_files().map_err(fail("reading /proc/self/fd"))?;
        let (log, memory) = (beside(&real, "-wal"), beside(&real, "-shm"));
        let found = [present(&real)?, present(&log)?, present(&memory)?];
        let mut files = vec![(path.clone(), inode)];
        for (path, found) in [real.clone(), log, memory].into_iter().zip(&found) {
            // This process uses a deleted file, and other processes will not see its writes.
            if !open.contains(&Inode::of(found)) {
                return Err(SqliteError::Replaced { path });
            }
            files.push((path, Inode::of(found)));
        }
        let identity = identity(&real, &found).map_err(|(action, error)| fail(action)(error))?;
        let place = Place { path, files, identity };
        place.is_kept()?;
        Ok(place)
    }
}

/// The three files as they were found when they were opened.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// The configured path, which may be that of a link.
    files: Vec<(PathBuf, Inode)>,
    /// The identity of the server, as the past keeps it.
    pub(super) identity: String,
}

impl Place {
    /// Checks that the same files are still at their paths, where other processes find them: a file
    /// that only this process still has open is no store any more.
    pub(super) fn is_kept(&self) -> Result<(), SqliteError> {
        for (path, inode) in &self.files {
            let found = present(path)?;
            if Inode::of(&found) != *inode {
                return Err(SqliteError::Replaced { path: path.clone() });
            }
            if *path == self.path {
                one_link(path, &found)?;
            }
        }
        Ok(())
    }
}

fn present(path: &Path) -> Result<Metadata, SqliteError> {
    match fs::metadata(path) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SqliteError::Replaced { path: path.to_owned() })
        }
        Err(error) => Err(SqliteError::io(path, "looking at it", error)),
    }
}

/// All files that this process has open. They are not opened to examine them: a process that closes
/// a file loses all of its locks on it.
fn open_files() -> io::Result<BTreeSet<Inode>> {
    let mut open = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        // It was closed meanwhile, or has no inode.
        let Ok(found) = fs::metadata(entry?.path()) else { continue };
        open.insert(Inode::of(&found));
    }
    Ok(open)
}

fn regular(path: &Path) -> Result<Metadata, SqliteError> {
    let found =
        fs::metadata(path).map_err(|error| SqliteError::io(path, "looking at it", error))?;
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(found),
        () if kind.is_dir() => "folder",
        () if kind.is_block_device() || kind.is_char_device() => "device",
        () => "pipe or a socket",
    };
    Err(SqliteError::NotAFile { path: path.to_owned(), what })
}

/// Refuses a file with two names: it has two write-ahead logs, whose users do not see each other's
/// writes.
fn refuse_other_names(path: &Path, found: &Metadata) -> Result<(), SqliteError> {
    one_link(path, found)?;
    let attributes = match statx(CWD, path, AtFlags::empty(), StatxFlags::empty()) {
        Ok(found) => found.stx_attributes,
        // An old kernel, which does not report it.
        Err(rustix::io::Errno::NOSYS) => StatxAttributes::empty(),
        Err(error) => return Err(SqliteError::io(path, "looking at it", error.into())),
    };
    if attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(SqliteError::MountedAlone { path: path.to_owned() });
    }
    Ok(())
}

fn one_link(path: &Path, found: &Metadata) -> Result<(), SqliteError> {
    match found.nlink() {
        0..=1 => Ok(()),
        links => Err(SqliteError::HardLinks { path: path.to_owned(), links }),
    }
}
