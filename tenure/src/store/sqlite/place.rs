//! What is at the path: whether elections can be kept there, and whether it is still the same file.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, StatxAttributes, StatxFlags, flock,
    mknodat, open, statfs, statx,
};

use super::SqliteError;

/// How often a folder's lock is tried.
const TRIES_EVERY: Duration = Duration::from_millis(1);

/// A file as it was found when it was opened.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// See [`identity`].
    pub(super) identity: String,
}

impl Place {
    /// Looks at the file, and refuses one that processes of this host can't share.
    pub(super) fn look(path: &Path) -> Result<Self, SqliteError> {
        let found = regular(path)?;
        refuse_network(path, path)?;
        refuse_other_names(path, &found)?;
        let identity = identity(path, &found)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino(), identity })
    }

    /// Whether the same file is still at the path. What others find there is what counts: a file that
    /// only this process still has open is no store any more.
    pub(super) fn is_kept(&self) -> Result<(), SqliteError> {
        match fs::metadata(&self.path) {
            Ok(now) if (now.dev(), now.ino()) == (self.device, self.inode) => {
                one_link(&self.path, &now)
            }
            Ok(_) => Err(SqliteError::Replaced { path: self.path.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(SqliteError::Replaced { path: self.path.clone() })
            }
            Err(error) => Err(SqliteError::io(&self.path, "looking at it", error)),
        }
    }
}

/// Who wrote a history, in a form that people can read: this boot of the host, this time namespace, and
/// this file in this folder.
///
/// A process that finds another one in the file must not rely on what the file says, since
///
/// - after a reboot, a disk that lies about what it has written may have lost grants;
/// - `CLOCK_BOOTTIME`, by which the file and the candidates count, is another one in each boot and in each
///   time namespace. The number of a namespace that is gone is used again, so its offset is a part as well;
/// - a copy, or a backup that was put in the file's place, lacks what was granted since. The number of
///   a deleted file's inode is used again, so the file's birth is a part as well;
/// - a file that was moved, or given another name, has left its write-ahead log behind. Nothing says that
///   of the whole path, which may differ from container to container; hence the folder's inode.
fn identity(path: &Path, file: &Metadata) -> Result<String, SqliteError> {
    let fail = |action| move |error| SqliteError::io(path, action, error);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_err(fail("reading the host's boot id from /proc"))?;
    let time = time_namespace().map_err(fail("reading the time namespace from /proc"))?;
    let real = fs::canonicalize(path).map_err(fail("resolving its path"))?;
    let folder = fs::metadata(folder(&real)).map_err(fail("looking at its folder"))?;
    // File systems that do not know it are left with the inode's number.
    let born = file.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    Ok(format!(
        "boot:{} {time} folder:{}:{} file:{}:{}:{} name:{}",
        boot.trim(),
        folder.dev(),
        folder.ino(),
        file.dev(),
        file.ino(),
        born.unwrap_or_default().as_nanos(),
        real.file_name().unwrap_or_default().to_string_lossy(),
    ))
}

/// This process's time namespace, and how far its `CLOCK_BOOTTIME` is ahead there.
fn time_namespace() -> io::Result<String> {
    let read = || -> io::Result<String> {
        let number = fs::read_link("/proc/self/ns/time")?;
        let offsets = fs::read_to_string("/proc/self/timens_offsets")?;
        let ahead = offsets.lines().find_map(|line| line.strip_prefix("boottime"));
        let ahead: Vec<_> = ahead.unwrap_or_default().split_whitespace().collect();
        Ok(format!("{}+{}", number.display(), ahead.join(".")))
    };
    match read() {
        // A kernel that has no time namespaces.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok("time:-".to_owned()),
        read => read,
    }
}

/// Makes an empty file at the path if there is none.
///
/// What SQLite kept beside a file that was deleted is deleted too: the memory that its users shared
/// would be taken for that of the new file. So that nobody deletes what already belongs to the new
/// file, one process at a time does this, under a lock on the folder.
pub(super) fn create(path: &Path, patience: Duration) -> Result<(), SqliteError> {
    match fs::metadata(path) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(SqliteError::io(path, "looking at it", error)),
    }
    let folder = folder(path);
    let fail = |action| move |error: rustix::io::Errno| SqliteError::io(path, action, error.into());
    if !folder.is_dir() {
        return Err(SqliteError::NoFolder { path: path.to_owned() });
    }
    refuse_network(path, folder)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = open(folder, flags, Mode::empty()).map_err(fail("opening its folder"))?;
    let began = Instant::now();
    while let Err(error) = flock(&handle, FlockOperation::NonBlockingLockExclusive) {
        let waited = began.elapsed();
        match error {
            rustix::io::Errno::WOULDBLOCK if waited < patience => {}
            rustix::io::Errno::WOULDBLOCK => {
                return Err(SqliteError::Locked { path: path.to_owned(), waited });
            }
            error => return Err(fail("locking its folder")(error)),
        }
        std::thread::sleep(TRIES_EVERY);
    }
    if fs::exists(path).map_err(|error| SqliteError::io(path, "looking at it", error))? {
        return Ok(());
    }
    for beside in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(beside);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(SqliteError::io(
                    path,
                    "deleting what an older file left behind",
                    error,
                ));
            }
            Ok(()) | Err(_) => {}
        }
    }
    // Without opening it: closing a file ends all locks that this process has on it.
    let mode = Mode::from_raw_mode(0o644);
    match mknodat(CWD, path, FileType::RegularFile, mode, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(fail("creating it")(error)),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
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

/// A file with two names has two write-ahead logs, and neither's users see what the others wrote.
fn refuse_other_names(path: &Path, found: &Metadata) -> Result<(), SqliteError> {
    one_link(path, found)?;
    let attributes = match statx(CWD, path, AtFlags::empty(), StatxFlags::empty()) {
        Ok(found) => found.stx_attributes,
        // An old kernel, which would not have told anyway.
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

/// Refuses if `at` is where other hosts, or other kernels, may write too.
fn refuse_network(path: &Path, at: &Path) -> Result<(), SqliteError> {
    let found = statfs(at)
        .map_err(|error| SqliteError::io(path, "asking for its file system", error.into()))?;
    // The kernel's types are 32 bits, in a field whose width and sign depend on the architecture.
    let kind = u32::try_from(found.f_type & 0xffff_ffff).unwrap_or_default();
    match network(kind) {
        Some(file_system) => {
            Err(SqliteError::NetworkFileSystem { path: path.to_owned(), file_system })
        }
        None => Ok(()),
    }
}

/// The name of a file system on which SQLite's locks, or the memory that its users share, do not reach
/// all who may use it. FUSE is one of them: the kernel does not say what is behind it.
fn network(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0000_564c => "NCP",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x786f_4256 => "vboxsf",
        0x00c0_ffee => "hostfs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        for (kind, name) in [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0x6573_5546, "FUSE")] {
            assert_eq!(network(kind), Some(name));
        }
        // ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlayfs, exFAT.
        for local in [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0xf2f5_2010,
            0x2fc1_2fc1,
            0x0102_1994,
            0x794c_7630,
            0x2011_bab0,
        ] {
            assert_eq!(network(local), None, "{local:x}");
        }
        assert!(refuse_network(Path::new("/x"), &std::env::temp_dir()).is_ok());
    }

    #[test]
    fn an_identity_has_every_part() {
        let path = std::env::current_exe().unwrap();
        let identity = identity(&path, &fs::metadata(&path).unwrap()).unwrap();
        let parts: Vec<_> = identity.split([' ', ':']).collect();
        assert_eq!([parts[0], parts[2], parts[4], parts[7]], ["boot", "time", "folder", "file"]);
        assert_eq!(parts[1].len(), 36, "{identity}");
        assert_ne!(parts[10], "0", "the file's birth is known here: {identity}");
    }
}
