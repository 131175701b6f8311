//! The file of one user on one host, where no store is named.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tenure::store::AnyStore;
use tenure::store::sqlite::{Sqlite, SqliteConfig};

use crate::exit::Failure;

pub(super) fn own_file() -> Result<AnyStore, Failure> {
    let file = own_path()?;
    let failed = |error: io::Error| {
        Failure::usage(format!(
            "the file of this user on this host, {}, can't be made: {error}: set TENURE_STORE to a store's URL, or \
             XDG_STATE_HOME to a folder that this user can write",
            file.display()
        ))
    };
    if let Some(owner) = other_owner(&file).map_err(failed)? {
        return Err(Failure::usage(format!(
            "{} would be made by root in a folder of user {owner}, who could not use it: give sudo its option -H, or set \
             TENURE_STORE to a store's URL",
            file.display()
        )));
    }
    make_folder(&file).map_err(failed)?;
    // The file of one user on one host is new once. A wait for leaders that a lost file might have
    // had would be the first thing that a new user sees; the page says that the file must not be
    // deleted under a command.
    Ok(AnyStore::new(Sqlite::new(SqliteConfig::new(file).trust_empty_store(true))))
}

fn make_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The user whose folder it is, if this is root's process with the HOME of another user, as by
/// `sudo`, and the file is not there yet.
fn other_owner(file: &Path) -> io::Result<Option<u32>> {
    let found = |path: &Path| fs::metadata(path).ok();
    if found(file).is_some() || fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let nearest = file.ancestors().find_map(found);
    Ok(nearest.map(|folder| folder.uid()).filter(|owner| *owner != 0))
}

/// The path by the XDG base directory specification: relative paths in its variables don't count.
fn own_path() -> Result<PathBuf, Failure> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let state = state.ok_or_else(|| {
        Failure::usage(
            "no store is named but this user's own file, and neither XDG_STATE_HOME nor HOME is a folder for that: set \
             TENURE_STORE to the store's URL, such as redis://127.0.0.1:6379",
        )
    })?;
    Ok(state.join("tenure").join("elections.db"))
}
