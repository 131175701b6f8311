//! The files at the path: whether elections can be kept there, and whether the files are still the same.
//!
//! Three files are one store: the file itself, and the two that SQLite keeps beside it. The newest grants
//! are only in the write-ahead log, and the locks are in the shared memory. A process that has another log
//! or another memory open sees other grants and other locks. So every request compares all three with the files
//! at the path, and all three are named in the history: a process that finds one of them missing or replaced
//! knows that grants may be lost.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use super::create::beside;
use super::error::SqliteError;
use super::file_system::refuse_network;
use super::identity::Identity;

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
    touched: Option<i128>,
}

impl Site {
    /// Examines the file, and refuses one that processes of this host can't share.
    pub(super) fn look(path: &Path) -> Result<Self, SqliteError> {
        let found = regular(path)?;
        refuse_network(path, path)?;
        refuse_other_names(path, &found)?;
        let (inode, path) = (Inode::of(&found), path.to_owned());
        // An empty file has no history that could be wrong.
        let touched = if found.len() == 0 { None } else { settled(&path, None)?.1 };
        Ok(Self { path, inode, touched })
    }

    /// The files that this process has open, after SQLite has read and written through all three.
    pub(super) fn opened(self) -> Result<Place, SqliteError> {
        let Self { path, inode, touched } = self;
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
        let identity = Identity::read(&real, &found, touched)
            .map_err(|(action, error)| fail(action)(error))?;
        let place = Place { path, files, touched, identity };
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
    /// See [`settled`].
    touched: Option<i128>,
    pub(super) identity: Identity,
}

impl Place {
    /// Checks that the same files are still at their paths, where other processes find them: a file that only
    /// this process still has open is no store any more.
    pub(super) fn is_kept(&self) -> Result<(), SqliteError> {
        for (path, inode) in &self.files {
            let found = present(path)?;
            if Inode::of(&found) != *inode {
                return Err(SqliteError::Replaced { path: path.clone() });
            }
        }
        let (found, touched) = settled(&self.path, self.touched)?;
        one_link(&self.path, &found)?;
        // A process that has written it since had found the same.
        if touched.is_some() && touched != self.touched {
            return Err(SqliteError::Replaced { path: self.path.clone() });
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

/// Examines a file, and finds when it was last changed other than by a write, unless it was written since.
///
/// Moving a file sets the time of its last change; writing it also sets the time of its last write. So a file
/// that was moved away and back, while other processes may have used another file in its place, can be detected
/// until it is written again. The same holds for new rights and for a second name that is gone again.
fn settled(path: &Path, expected: Option<i128>) -> Result<(Metadata, Option<i128>), SqliteError> {
    let mut found = present(path)?;
    if !(touched(&found).is_none() || touched(&found) == expected) {
        // The kernel sets both times one after the other.
        std::thread::sleep(Duration::from_millis(1));
        found = present(path)?;
    }
    let touched = touched(&found);
    Ok((found, touched))
}

fn touched(found: &Metadata) -> Option<i128> {
    let nanos = |seconds, nanos| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let changed = nanos(found.ctime(), found.ctime_nsec());
    (changed != nanos(found.mtime(), found.mtime_nsec())).then_some(changed)
}

/// All files that this process has open. They are not opened to examine them: a process that closes a file loses
/// all of its locks on it.
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

/// Refuses a file with two names: it has two write-ahead logs, whose users do not see each other's writes.
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
