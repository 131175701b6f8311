//! The sources from which mutants are made. They are only read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::WorkshopError;

/// A workspace with the state machine and the simulator.
#[derive(Clone, Debug)]
pub struct Sources(PathBuf);

/// There are no sources.
#[derive(Debug, thiserror::Error)]
#[error(
    "neither {} nor a folder above it is a workspace with core/ and sim/; name one with --sources",
    around.display()
)]
pub struct NoSources {
    /// The folder where the search began.
    pub around: PathBuf,
}

impl Sources {
    /// The workspace in that folder, or the nearest one above it.
    ///
    /// # Errors
    /// If there is none.
    pub fn around(folder: &Path) -> Result<Self, NoSources> {
        let is_ours = |folder: &&Path| {
            let needed = ["Cargo.toml", "core/Cargo.toml", "sim/Cargo.toml"];
            needed.iter().all(|file| folder.join(file).is_file())
        };
        let none = || NoSources { around: folder.to_owned() };
        let folder = fs::canonicalize(folder).map_err(|_| none())?;
        folder.ancestors().find(is_ours).map(|root| Self(root.to_owned())).ok_or_else(none)
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// The default folder for the copy.
    ///
    /// Next to the artifacts of the workspace, and never among them: cargo distinguishes packages
    /// of two copies of a workspace only by the age of their files, and would at some time use a
    /// mutant instead of the original.
    pub fn default_work(&self) -> PathBuf {
        self.0.join("target/mutants")
    }

    /// The text of a file.
    pub(super) fn read(&self, file: &str) -> Result<String, WorkshopError> {
        let path = self.0.join(file);
        fs::read_to_string(&path).map_err(|why| WorkshopError::at(&path, why))
    }
}

/// Makes one folder like another, without build artifacts, the excepted folder, and hidden files
/// other than the builds' settings. Equal files keep their age, so that nothing is rebuilt without
/// need.
pub(super) fn mirror(from: &Path, to: &Path, except: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut kept = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.') && name != ".cargo";
        if is_hidden || name == "target" || path == except {
            continue;
        }
        let target = to.join(&name);
        if path.is_dir() {
            mirror(&path, &target, except)?;
        } else if fs::read(&path)? != fs::read(&target).unwrap_or_default() {
            fs::copy(&path, target)?;
        }
        kept.push(name);
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !kept.contains(&entry.file_name()) {
            let remove =
                if entry.file_type()?.is_dir() { fs::remove_dir_all } else { fs::remove_file };
            remove(entry.path())?;
        }
    }
    Ok(())
}
