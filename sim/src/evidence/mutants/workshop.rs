//! The copy of the sources in which mutants are planted, and the simulators built from it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::sources::{Sources, mirror, read, replaced};
use super::{Arena, Diff, DiffError, Mutant};

/// A copy of the sources, held by one run alone.
#[derive(Debug)]
pub struct Workshop {
    sources: Sources,
    copy: PathBuf,
    target: PathBuf,
    /// Kept open: the lock ends with it, however the run ends.
    _lock: File,
}

/// A simulator with a bug in it. It exists until the next one is built.
#[derive(Clone, Debug)]
pub struct Mutated {
    pub(super) binary: PathBuf,
    /// The file with its output.
    pub(super) output: PathBuf,
}

/// Why there is no mutated simulator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkshopError {
    /// A snippet is missing, or not unique.
    #[error(
        "mutant {mutant}: {file} contains this snippet {count} times, but should once:\n{snippet}"
    )]
    Snippet {
        /// The mutant.
        mutant: &'static str,
        /// The file that should contain the snippet.
        file: &'static str,
        /// The snippet.
        snippet: &'static str,
        /// The number of times that it does.
        count: usize,
    },
    /// The compiler refuses.
    #[error("{what} does not build:\n{output}")]
    Build {
        /// The name of the mutant.
        what: String,
        /// The output of cargo.
        output: String,
    },
    /// A diff does not fit the sources.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A file can't be read or written, or a program can't be started.
    #[error("{}: {why}", path.display())]
    At {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        why: io::Error,
    },
}

impl WorkshopError {
    pub(super) fn at(path: &Path, why: io::Error) -> Self {
        Self::At { path: path.to_owned(), why }
    }
}

impl Workshop {
    /// Copies the sources to that folder, or updates the copy there. While another run uses the
    /// folder, calls `waits` and waits for it.
    ///
    /// # Errors
    /// If the copy can't be made.
    pub fn open(
        sources: Sources,
        folder: &Path,
        waits: impl FnOnce(),
    ) -> Result<Self, WorkshopError> {
        let at = |why| WorkshopError::at(folder, why);
        fs::create_dir_all(folder).map_err(at)?;
        let folder = fs::canonicalize(folder).map_err(at)?;
        let lock = File::create(folder.join("lock")).map_err(at)?;
        let mut locked = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::WOULDBLOCK) {
            waits();
            locked = flock(&lock, FlockOperation::LockExclusive);
        }
        locked.map_err(|why| at(why.into()))?;
        let (copy, target) = (folder.join("sources"), folder.join("target"));
        mirror(sources.root(), &copy, &folder).map_err(at)?;
        Ok(Self { sources, copy, target, _lock: lock })
    }

    /// Builds the simulator with a mutant in it, for those engines.
    ///
    /// # Errors
    /// If a snippet is not in its file exactly once, or the mutant does not build.
    pub fn planted(&self, mutant: &Mutant, arenas: &[Arena]) -> Result<Mutated, WorkshopError> {
        let files = mutant.edits.iter().map(|edit| edit.file);
        self.with(files, arenas, mutant.name, || {
            mutant.edits.iter().try_for_each(|edit| {
                let path = self.copy.join(edit.file);
                let text = replaced(mutant.name, edit, &read(&path)?)?;
                write(&path, &text)
            })
        })
    }

    /// Builds the simulator with a user's own changes in it, for those engines.
    ///
    /// # Errors
    /// If the diff does not fit the sources, or the result does not build.
    pub fn patched(&self, diff: &Diff, arenas: &[Arena]) -> Result<Mutated, WorkshopError> {
        let texts = diff.applied(&self.sources)?;
        let files = texts.keys().map(String::as_str);
        self.with(files, arenas, &diff.name, || {
            texts.iter().try_for_each(|(file, text)| write(&self.copy.join(file), text))
        })
    }

    /// Edits, builds, and undoes the edits, so that the copy is unchanged afterwards.
    fn with<'a>(
        &self,
        files: impl Iterator<Item = &'a str>,
        arenas: &[Arena],
        what: &str,
        edit: impl FnOnce() -> Result<(), WorkshopError>,
    ) -> Result<Mutated, WorkshopError> {
        let built = edit().and_then(|()| self.build(arenas, what));
        for file in files {
            write(&self.copy.join(file), &self.sources.read(file)?)?;
        }
        built
    }

    fn build(&self, arenas: &[Arena], what: &str) -> Result<Mutated, WorkshopError> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let has = |arena| arenas.contains(&arena);
        // Without turmoil a build takes half as long; all kinds share their common artifacts.
        let features: &[&str] = match (has(Arena::Turmoil), has(Arena::Real)) {
            (true, true) => &["--features", "real"],
            (true, false) => &[],
            (false, true) => &["--no-default-features", "--features", "cli,real"],
            (false, false) if has(Arena::Overload) => {
                &["--no-default-features", "--features", "cli,overload"]
            }
            (false, false) => &["--no-default-features", "--features", "cli"],
        };
        let built = Command::new(&cargo)
            .args(["build", "--release", "--quiet", "--package", "tenure-sim"])
            .args(["--bin", "tenure-sim"])
            .args(features)
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", &self.target)
            // Only the mutated crates change from build to build, and most mutants are caught
            // within seconds: a fast build matters more here than a fast run.
            .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .output()
            .map_err(|why| WorkshopError::at(Path::new(&cargo), why))?;
        if !built.status.success() {
            let output = String::from_utf8_lossy(&built.stderr).into_owned();
            return Err(WorkshopError::Build { what: what.to_owned(), output });
        }
        let binary = self.target.join("release/tenure-sim");
        Ok(Mutated { binary, output: self.target.join("output") })
    }
}

impl Mutated {
    /// The command.
    pub fn binary(&self) -> &Path {
        &self.binary
    }
}

fn write(path: &Path, text: &str) -> Result<(), WorkshopError> {
    fs::write(path, text).map_err(|why| WorkshopError::at(path, why))
}
