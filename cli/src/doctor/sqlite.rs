//! The file of SQLite and its surroundings.
//!
//! The file itself is read before the store opens it: a process that closes a file loses its locks
//! on it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use tenure::store::sqlite::{Concern, Sqlite};

use super::kind::Kind;
use super::report::Report;

/// A log that is emptied stays far below.
const LOG_MOST: u64 = 32 << 20;
/// A file of thousands of elections has a few megabytes.
const FREE_LEAST: u64 = 64 << 20;
const FILES_LEAST: u64 = 8;
/// The offset of the write version in a file's header: 1 is a journal, 2 is WAL.
const WRITE_VERSION: usize = 18;
const HEADER: usize = 100;

/// The checks before the store opens the file.
pub(super) fn check_before(sqlite: &Sqlite, report: &mut Report) {
    // To open a pipe would wait for its other end.
    let is_file = fs::metadata(sqlite.path()).is_ok_and(|found| found.is_file());
    let mut header = [0; HEADER];
    let mut read = || File::open(sqlite.path()).and_then(|mut file| file.read_exact(&mut header));
    if is_file && read().is_ok() && is_ours(&header) && header[WRITE_VERSION] == 1 {
        report.add(Kind::JournalMode, "the file was not in WAL mode");
    }
    let log = beside(sqlite.path(), "-wal");
    if let Ok(found) = fs::metadata(&log)
        && found.len() > LOG_MOST
    {
        let text = format!("{} has {} bytes", log.display(), found.len());
        report.add(Kind::LogLarge, text);
    }
}

/// The file's application id is "tenu".
fn is_ours(header: &[u8; HEADER]) -> bool {
    header.starts_with(b"SQLite format 3\0") && header[68..72] == *b"tenu"
}

pub(super) fn check(sqlite: &Sqlite, report: &mut Report) {
    for concern in sqlite.concerns() {
        let kind = match concern {
            Concern::File { .. } => Kind::FileWritable,
            Concern::Folder { .. } => Kind::FolderWritable,
        };
        report.add(kind, concern.to_string());
    }
    let folder = sqlite.path().parent().unwrap_or(Path::new("/"));
    if let Ok(found) = statvfs(folder) {
        if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
            let text = format!("the file system of {} is mounted read-only", folder.display());
            report.add(Kind::FileFails, text);
            return;
        }
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < FREE_LEAST {
            let text = format!("{} bytes are free in {}", free, folder.display());
            report.add(Kind::DiskNearlyFull, text);
        }
        // Some file systems count no files.
        if found.f_files > 0 && found.f_favail < FILES_LEAST {
            let text = format!("{} files can be created in {}", found.f_favail, folder.display());
            report.add(Kind::DiskNearlyFull, text);
        }
    }
    if report.has(Kind::Locked) {
        let holders = holders(sqlite.path());
        if !holders.is_empty() {
            report.add(Kind::Locked, format!("locks are held by {}", holders.join(", ")));
        }
    }
}

/// The processes that hold locks on the file or on those beside it, as the kernel lists them.
fn holders(path: &Path) -> Vec<String> {
    let files = ["", "-wal", "-shm"].map(|suffix| fs::metadata(beside(path, suffix)));
    let inodes: Vec<u64> = files.iter().flatten().map(MetadataExt::ino).collect();
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let own = std::process::id().to_string();
    let mut found: Vec<String> = locks
        .lines()
        .filter_map(|line| {
            // 1: POSIX  ADVISORY  WRITE 1234 fe:00:56789 0 EOF
            let words: Vec<_> = line.split_whitespace().collect();
            let [.., process, file, _, _] = words[..] else { return None };
            let inode: u64 = file.rsplit(':').next()?.parse().ok()?;
            (inodes.contains(&inode) && process != own).then(|| shown(process))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn shown(process: &str) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("process {process} ({})", name.trim().escape_debug())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
