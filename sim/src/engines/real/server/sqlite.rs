//! A SQLite file, observed by triggers on its tables.
//!
//! There is no server. An operator does to the file what else happens to a server: locks it, moves
//! its folder away and back, puts a new one in its place, or deletes what SQLite keeps beside it.
//! Each of these is one step: a move of a folder, or a transaction. Another program fills the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tempfile::TempDir;
use tenure_servers::{ServerClock, ServerError};

use super::clock::Clock;
use super::orders::Done;
use crate::engines::real::disk::Disk;
use crate::engines::real::steps::sqlite::{Changes, failed, install};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;

const FILE: &str = "elections.db";
/// No transaction of a candidate that runs takes so long.
const LOCKED_WITHIN: Duration = Duration::from_millis(500);
/// The most copies of a log, until nobody writes to it meanwhile.
const COPIES_MOST: u32 = 20;

pub(super) struct Observed {
    /// The file system of the folder, if the plan fills it. It is unmounted before the folder is
    /// deleted.
    disk: Option<Disk>,
    folder: TempDir,
    /// The wall clock of all candidates.
    clock: Clock,
    changes: Changes,
    /// The number of files that were replaced.
    replaced: usize,
    /// A connection that keeps the file locked, while it is paused.
    locking: Option<Connection>,
}

impl Observed {
    /// A new file, on a file system of its own if that will be filled.
    pub(super) fn start(clock: Clock, will_be_full: bool) -> Result<Self, ServerError> {
        let folder = tempfile::tempdir().map_err(io("making a folder"))?;
        let mount = || Disk::mount(folder.path()).map_err(io("mounting a file system"));
        let disk = will_be_full.then(mount).transpose()?;
        let mut changes = Changes::default();
        changes.has_clock(clock.time());
        let new = Self { disk, folder, clock, changes, replaced: 0, locking: None };
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

    /// Copies the log into the file, and deletes it, with the shared memory beside it. Returns
    /// whether it has: nothing is deleted if candidates keep writing to the log, or if the file has
    /// no space for it.
    fn deletes_log(&mut self) -> Result<bool, ServerError> {
        let file = self.file();
        let operator = Connection::open(&file).map_err(failed)?;
        operator.busy_timeout(LOCKED_WITHIN).map_err(failed)?;
        for _ in 0..COPIES_MOST {
            let copy = "PRAGMA wal_checkpoint(TRUNCATE)";
            let is_busy = match operator.query_row(copy, [], |row| row.get::<_, bool>(0)) {
                Err(_) if self.is_full() => return Ok(false),
                is_busy => is_busy.map_err(failed)?,
            };
            // Nobody writes from here on. Another process may have written since the log was
            // copied.
            if is_busy || operator.execute_batch("BEGIN IMMEDIATE").is_err() {
                continue;
            }
            let [log, memory] = ["-wal", "-shm"].map(|suffix| beside(&file, suffix));
            if fs::metadata(&log).is_ok_and(|found| found.len() == 0) {
                self.changes.read(&file)?;
                self.changes.is_another_server();
                for path in [log, memory] {
                    fs::remove_file(path).map_err(io("deleting a file beside a file"))?;
                }
                return Ok(true);
            }
            operator.execute_batch("ROLLBACK").map_err(failed)?;
        }
        Ok(false)
    }

    fn is_full(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::is_full)
    }

    fn fills_disk(&mut self) -> Result<(), ServerError> {
        let filled = self.disk.as_mut().map_or(Ok(()), Disk::fills);
        filled.map_err(io("filling a file system"))
    }

    /// The disk is not full any more, if it was.
    fn has_space(&mut self) {
        if let Some(disk) = &mut self.disk {
            disk.empties();
        }
    }

    /// The folder that has been moved away.
    fn away(&self) -> PathBuf {
        self.folder.path().join(format!("away-{}", self.replaced))
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
            Err(error)
                if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy)
                    && !self.is_full() =>
            {
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
        // No candidate writes before the new file is in its place.
        let is_full = self.is_full();
        self.has_space();
        let away = self.away();
        let had_a_record = Changes::has_a_record(&away.join(FILE))?;
        self.changes.read(&away.join(FILE))?;
        self.changes.is_replaced();
        self.replaced += 1;
        // Made beside its place, so that no candidate creates a file without triggers first.
        let new = self.folder.path().join("new");
        create(&new)?;
        let lost_a_record = had_a_record && !Changes::has_a_record(&new.join(FILE))?;
        if is_full {
            self.fills_disk()?;
        }
        fs::rename(new, self.home()).map_err(io("moving the folder of a file"))?;
        Ok(lost_a_record)
    }

    /// While no candidate writes. If one keeps the lock, the clock stays as it is: that is no
    /// effect, and counted.
    fn steps_clock(&mut self, by_ms: i64) -> Result<bool, ServerError> {
        let file = self.file();
        let operator = Connection::open(&file).map_err(failed)?;
        operator.busy_timeout(LOCKED_WITHIN).map_err(failed)?;
        if operator.execute_batch("BEGIN IMMEDIATE").is_err() {
            return Ok(false);
        }
        self.changes.read(&file)?;
        let is_set = self.clock.step(by_ms, ServerClock::told)?;
        self.changes.has_clock(self.clock.time());
        Ok(is_set)
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        match act {
            Act::DeleteLog => self.deletes_log().map(Done::now),
            // Candidates report whether they were refused.
            Act::FillDisk => self.fills_disk().map(|()| Done::default()),
            // Refused before the run.
            _ => Ok(Done::default()),
        }
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        if act == Act::FillDisk {
            self.has_space();
        }
        Ok(false)
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.changes.read(&self.file())?;
        Ok(self.changes.take(answers))
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> ServerError {
    move |source| ServerError::Io { doing, source }
}
