//! The rights of other users of the host on the files.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::config::SqliteConfig;
use super::create::{beside, folder};
use crate::logging;

/// A right that lets other users of the host stop or decide elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concern {
    /// A user who may read a file may lock it, and one who may write it may lead.
    File {
        /// The file, or one beside it.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The widest mode that it should have.
        wanted: u32,
    },
    /// A user who may write a folder may delete and replace the files in it.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, mode, wanted } => write!(
                f,
                "{} has mode {mode:04o}: users who may read it can stop the elections in it, and users \
                 who may write it can lead; its mode should be {wanted:04o}",
                path.display()
            ),
            Self::Folder { path, mode } => write!(
                f,
                "the folder {} has mode {mode:04o}: users who may write it can delete and replace the \
                 file of the elections; keep the file in a folder that only candidates can write",
                path.display()
            ),
        }
    }
}

/// Warns of each right that is wider than configured. Nothing is changed: an operator may have
/// given it on purpose.
pub(super) fn warn(config: &SqliteConfig) {
    for concern in concerns(config) {
        logging::warn!("{concern}");
    }
}

pub(super) fn concerns(config: &SqliteConfig) -> Vec<Concern> {
    let wanted = config.mode().as_raw_mode();
    let mut found = Vec::new();
    let Ok(real) = fs::canonicalize(&config.path) else { return found };
    for suffix in ["", "-wal", "-shm"] {
        let path = beside(&real, suffix);
        if let Ok(metadata) = fs::metadata(&path) {
            let mode = metadata.mode() & 0o777;
            if mode & !wanted != 0 {
                found.push(Concern::File { path, mode, wanted });
            }
        }
    }
    let path = folder(&real).to_owned();
    if let Ok(metadata) = fs::metadata(&path) {
        let mode = metadata.mode() & 0o7777;
        let others = if config.group { 0o002 } else { 0o022 };
        if mode & others != 0 {
            found.push(Concern::Folder { path, mode });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn rights_beyond_the_configured_are_named() {
        let folder = std::env::temp_dir().join(format!("tenure-rights-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        let (file, log) = (folder.join("elections.db"), folder.join("elections.db-wal"));
        fs::write(&file, "").unwrap();
        fs::write(&log, "").unwrap();
        let alone = SqliteConfig::new(&file);
        let shared = alone.clone().share_with_group(true);
        allow(&folder, 0o700);
        allow(&file, 0o600);
        allow(&log, 0o600);
        assert_eq!((concerns(&alone), concerns(&shared)), (vec![], vec![]));

        allow(&folder, 0o770);
        allow(&log, 0o660);
        let path = folder.clone();
        let expected = [
            Concern::File { path: log.clone(), mode: 0o660, wanted: 0o600 },
            Concern::Folder { path, mode: 0o770 },
        ];
        assert_eq!((concerns(&alone), concerns(&shared)), (expected.to_vec(), vec![]));

        // As in /tmp: its sticky bit does not keep other users from creating the file first.
        allow(&folder, 0o1777);
        allow(&log, 0o600);
        allow(&file, 0o644);
        let found = concerns(&shared);
        let path = folder.clone();
        let expected = [
            Concern::File { path: file, mode: 0o644, wanted: 0o660 },
            Concern::Folder { path, mode: 0o1777 },
        ];
        assert_eq!(found, expected);
        let text = found[0].to_string();
        assert!(text.contains("has mode 0644") && text.ends_with("should be 0660"), "{text}");
        fs::remove_dir_all(folder).unwrap();
    }
}
