//! The identity of the file and the host, by which a past that may lack grants is recognized.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::create::folder;

/// The identity of the file at that path, which is no link, and of the two files beside it, in a
/// form that people can read: this boot of the host, this time namespace, and these files in this
/// folder. An error comes with the action that failed.
///
/// A process that finds another identity in the file must not rely on the file's records, since
///
/// - after a reboot, grants may be lost if the disk acknowledges writes too early;
/// - `CLOCK_BOOTTIME`, by which the candidates count, differs in each boot and in each time
///   namespace. Numbers of namespaces are reused, so the namespace's offset is a part too;
/// - a copy, or a backup in the file's place, lacks later grants. Numbers of inodes are reused, so
///   the file's birth is a part too;
/// - the newest grants were in a write-ahead log that was deleted, and processes with another
///   shared memory may have granted at the same time;
/// - a file that was moved or renamed has left its write-ahead log behind. The path may differ
///   between containers, so the folder's inode is a part instead.
pub(super) fn identity(
    path: &Path,
    [file, log, memory]: &[Metadata; 3],
) -> Result<String, (&'static str, io::Error)> {
    let fail = |action| move |error| (action, error);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .and_then(|boot| present(boot.trim()))
        .map_err(fail("reading the host's boot id from /proc"))?;
    let time = time_namespace().map_err(fail("reading the time namespace from /proc"))?;
    let folder = fs::metadata(folder(path)).map_err(fail("looking at its folder"))?;
    Ok(format!(
        "boot:{boot} {time} folder:{}:{} file:{} log:{} memory:{} name:{}",
        folder.dev(),
        folder.ino(),
        of_file(file),
        of_file(log),
        of_file(memory),
        path.file_name().unwrap_or_default().to_string_lossy(),
    ))
}

/// On file systems without a time of birth, only the inode's number is used.
fn of_file(file: &Metadata) -> String {
    let born = file.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{}:{}:{}", file.dev(), file.ino(), born.unwrap_or_default().as_nanos())
}

/// A part of the identity that the kernel shows. An empty one would be the same after a reboot.
fn present(part: &str) -> io::Result<String> {
    if part.chars().all(|digit| matches!(digit, '0' | '-')) {
        let kind = io::ErrorKind::InvalidData;
        return Err(io::Error::new(kind, format!("it is {part:?}, which identifies nothing")));
    }
    Ok(part.to_owned())
}

/// This process's time namespace, and how far its `CLOCK_BOOTTIME` is ahead there.
fn time_namespace() -> io::Result<String> {
    let read = || -> io::Result<String> {
        let number = fs::read_link("/proc/self/ns/time")?;
        let offsets = fs::read_to_string("/proc/self/timens_offsets")?;
        let ahead = offsets.lines().find_map(|line| line.strip_prefix("boottime"));
        let ahead: Vec<_> = ahead.unwrap_or_default().split_whitespace().collect();
        Ok(format!("{}+{}", number.display(), present(&ahead.join("."))?))
    };
    match read() {
        // A kernel without time namespaces.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok("time:-".to_owned()),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_has_every_part() {
        let path = std::env::current_exe().unwrap();
        let found = || fs::metadata(&path).unwrap();
        let text = identity(&path, &[found(), found(), found()]).unwrap();
        let names: Vec<_> =
            text.split(' ').map(|part| part.split(':').next().unwrap_or_default()).collect();
        assert_eq!(names, ["boot", "time", "folder", "file", "log", "memory", "name"], "{text}");
        let parts: Vec<_> = text.split([' ', ':']).collect();
        assert_eq!(parts[1].len(), 36, "{text}");
        assert_ne!(parts[10], "0", "the file's birth is known here: {text}");
    }

    #[test]
    fn parts_that_identify_nothing_are_refused() {
        for nothing in ["", "0", "00000000-0000-0000-0000-000000000000"] {
            let error = present(nothing).unwrap_err().to_string();
            assert!(error.contains(&format!("it is {nothing:?}")), "{error}");
        }
        assert_eq!(present("7c9e6679-7425-40de").unwrap(), "7c9e6679-7425-40de");
    }
}
