//! A SQLite file, observed by triggers on its tables.
//!
//! There is no server. An operator does to the file what else happens to a server: locks it, moves its folder away and
//! back, or puts a new one in its place. Each of these is one step, as a move of a folder is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tempfile::TempDir;
use tenure_servers::ServerError;

use crate::engines::real::steps::sqlite::{Changes, failed, install};
use crate::engines::real::steps::{Answers, Steps};

const FILE: &str = "elections.db";
/// No transaction of a candidate that runs takes so long.
const LOCKED_WITHIN: Duration = Duration::from_millis(500);

pub(super) struct Observed {
    folder: TempDir,
    /// The folders of the files that were replaced.
    replaced: Vec<PathBuf>,
    /// A connection that keeps the file locked, while it is paused.
    locking: Option<Connection>,
}

impl Observed {
    pub(super) fn start() -> Result<Self, ServerError> {
        let folder = tempfile::tempdir().map_err(io("making a folder"))?;
        let new = Self { folder, replaced: Vec::new(), locking: None };
        create(&new.home())?;
        Ok(new)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.home().join(FILE)
    }

    /// The folder in which candidates find the file.
    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder that has been moved away.
    fn away(&self) -> PathBuf {
        self.folder.path().join(format!("away-{}", self.replaced.len()))
    }
}

/// Creates a folder with a new file in it.
fn create(folder: &Path) -> Result<(), ServerError> {
    fs::create_dir(folder).map_err(io("making a folder"))?;
    install(&folder.join(FILE))
}

impl super::Observed for Observed {
    /// Takes the file's only lock for writing. A candidate that was paused may have it.
    fn pause(&mut self) -> Result<(), ServerError> {
        let connection = Connection::open(self.file()).map_err(failed)?;
        connection.busy_timeout(LOCKED_WITHIN).map_err(failed)?;
        match connection.execute_batch("BEGIN IMMEDIATE") {
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => self.locking = Some(connection),
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        self.locking = None;
        Ok(())
    }

    fn crash(&mut self) -> Result<(), ServerError> {
        // A lock would be one of the file that was moved away.
        self.locking = None;
        // A fault that begins while another one keeps the file away moves nothing.
        if self.home().exists() {
            fs::rename(self.home(), self.away()).map_err(io("moving the folder of a file"))?;
        }
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        if keeps_data {
            fs::rename(self.away(), self.home()).map_err(io("moving the folder of a file"))?;
            return Ok(false);
        }
        let away = self.away();
        let lost_a_record = Changes::has_a_record(&away.join(FILE))?;
        self.replaced.push(away);
        // Made beside its place, so that no candidate creates a file without triggers first.
        let new = self.folder.path().join("new");
        create(&new)?;
        fs::rename(new, self.home()).map_err(io("moving the folder of a file"))?;
        Ok(lost_a_record)
    }

    fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
        let mut changes = Changes::default();
        for folder in self.replaced.iter().chain([&self.home()]) {
            changes.read(&folder.join(FILE))?;
        }
        Ok(Steps { all: changes.take(), has_gaps: true })
    }
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> ServerError {
    move |source| ServerError::Io { doing, source }
}
