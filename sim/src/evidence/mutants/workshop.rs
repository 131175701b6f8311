//! The copy of the sources in which mutants are planted, and the simulators built from it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::joined::{CHOSEN, joined};
use super::sources::{Sources, mirror};
use super::{Arena, DiffError, Plant};

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
    /// The number of its bug, if its build has several.
    number: Option<usize>,
}

/// An error in building mutants.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkshopError {
    /// The compiler refuses.
    #[error("{what} does not build:\n{output}")]
    Build {
        /// The names of the bugs.
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

    /// Builds one simulator with all of these bugs, of which several must be able to
    /// [share a build](Plant::is_joinable). Gives one simulator for each bug.
    ///
    /// # Errors
    /// If one does not build, or not beside the others.
    pub fn built(
        &self,
        plants: &[&Plant],
        arenas: &[Arena],
    ) -> Result<Vec<Mutated>, WorkshopError> {
        let texts = match plants {
            [plant] => plant.texts.clone(),
            _ => joined(plants, &self.sources)?,
        };
        let names: Vec<_> = plants.iter().map(|plant| plant.name()).collect();
        let written = texts.iter().try_for_each(|(file, text)| write(&self.copy.join(file), text));
        let built = written.and_then(|()| self.build(arenas, &names.join(", ")));
        // The copy is unchanged afterwards.
        for file in texts.keys() {
            write(&self.copy.join(file), &self.sources.read(file)?)?;
        }
        built?;
        let one = |place: usize| Mutated {
            binary: self.target.join("release/tenure-sim"),
            output: self.target.join("output"),
            number: (plants.len() > 1).then_some(place + 1),
        };
        Ok((0..plants.len()).map(one).collect())
    }

    fn build(&self, arenas: &[Arena], what: &str) -> Result<(), WorkshopError> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let has = |arena| arenas.contains(&arena);
        // Without turmoil a build takes half as long; all kinds share their common artifacts.
        let features: &[&str] = match (has(Arena::Turmoil), has(Arena::Real)) {
            (true, true) => &["--features", "real"],
            (true, false) => &[],
            (false, true) => &["--no-default-features", "--features", "cli,real"],
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
        Ok(())
    }
}

impl Mutated {
    /// The command.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.envs(self.number.map(|number| (CHOSEN, number.to_string())));
        command
    }
}

fn write(path: &Path, text: &str) -> Result<(), WorkshopError> {
    fs::write(path, text).map_err(|why| WorkshopError::at(path, why))
}
