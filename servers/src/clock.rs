//! A wall clock that belongs to a test: servers that are started with it tell the time by it, and
//! it can be set.
//!
//! A server asks the C library for the time, and gets the answer of a small library that is loaded
//! before it (`LD_PRELOAD`). It is compiled when the clock is made: the one file serves every
//! server that asks the C library. (libfaketime from Debian 12 does not: `redis-server` hangs under
//! it, and each process counts a rate from its own start.)

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::ServerError;
use crate::error::doing;
use crate::preload;

const SOURCE: &str = include_str!("clock/preload.c");
const FILE: &str = "TENURE_SERVER_CLOCK";
const MAKING: &str = "making a server's clock";
/// The most settings, the first one included.
const SETTINGS: usize = 10_001;
/// The count and the numbers of a setting, in bytes.
const COUNT: usize = 8;
const SETTING: usize = 24;
/// The number of comparisons of two clocks, of which the quickest counts.
const READINGS: u32 = 64;

/// A wall clock of a test's own. It shows the time of the machine's wall clock until it is
/// [set](Self::step).
#[derive(Debug)]
pub struct ServerClock {
    folder: Arc<TempDir>,
    file: File,
    count: usize,
    course: Course,
}

/// The course of such a clock between two moments at which it is set. All readings are nanoseconds,
/// those of wall clocks since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The machine's boot clock (`CLOCK_BOOTTIME`) when the clock was set.
    boot: u64,
    /// The machine's wall clock at that moment.
    wall: u64,
    /// The clock's reading then.
    shows: u64,
    fast_by_ppm: i64,
}

/// The files for a process to tell the time by a clock.
#[derive(Clone, Debug)]
pub struct Preload(Arc<TempDir>);

impl ServerClock {
    /// Makes a clock that is fast by that many millionths of the time that passes, or slow if
    /// negative.
    ///
    /// # Errors
    /// [`ServerError::Missing`] without a C compiler. If the temporary folder's path has a space or
    /// a colon, which `LD_PRELOAD` takes for the end of a path.
    pub fn start(fast_by_ppm: i64) -> Result<Self, ServerError> {
        let folder = preload::folder(MAKING)?;
        let path = folder.path();
        let flag = format!("-DSETTINGS={SETTINGS}");
        preload::compile(MAKING, SOURCE, &library(&folder), &[&flag])?;
        let file = File::create(settings(&folder)).map_err(doing(MAKING))?;
        // Servers may run as another user, and what they can't read is ignored.
        for (path, mode) in [(path, 0o755), (&library(&folder), 0o755), (&settings(&folder), 0o644)]
        {
            fs::set_permissions(path, Permissions::from_mode(mode)).map_err(doing(MAKING))?;
        }
        let length = (COUNT + SETTINGS * SETTING) as u64;
        file.set_len(length).map_err(doing(MAKING))?;
        let (boot, wall) = compare();
        let course = Course { boot, wall, shows: wall, fast_by_ppm };
        let mut clock = Self { folder: Arc::new(folder), file, count: 0, course };
        clock.set(course)?;
        Ok(clock)
    }

    /// Puts the clock forward, or back if negative. Servers see that at once.
    ///
    /// # Errors
    /// If its file can't be written, or it was set 10,000 times before.
    pub fn step(&mut self, by_ms: i64) -> Result<(), ServerError> {
        let boot = nanos(ClockId::Boottime);
        let Course { wall, fast_by_ppm, .. } = self.course;
        let wall = wall + boot.saturating_sub(self.course.boot);
        let shows =
            self.course.reading_at(boot).saturating_add_signed(by_ms.saturating_mul(1_000_000));
        self.set(Course { boot, wall, shows, fast_by_ppm })
    }

    /// Its course now.
    pub fn course(&self) -> Course {
        self.course
    }

    /// The time that a process started now tells, in microseconds since 1970.
    ///
    /// # Errors
    /// If there is no `date`, or if it says something else.
    pub fn told(&self) -> Result<u64, ServerError> {
        let mut date = Command::new("date");
        self.preload().sets(&mut date);
        let asking = || doing("asking a program for the time");
        let said = date.arg("+%s%6N").output().map_err(asking())?;
        let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        said.parse().map_err(|_| asking()(io::Error::other(format!("{said:?} is no time"))))
    }

    /// A process that is started by that command will tell the time by this clock.
    pub fn sets(&self, command: &mut Command) {
        self.preload().sets(command);
    }

    /// For processes that are to have it.
    pub fn preload(&self) -> Preload {
        Preload(Arc::clone(&self.folder))
    }

    fn set(&mut self, course: Course) -> Result<(), ServerError> {
        let writing = || doing("setting a server's clock");
        if self.count == SETTINGS {
            return Err(writing()(io::ErrorKind::StorageFull.into()));
        }
        let Course { boot, shows, fast_by_ppm, .. } = course;
        let setting = [boot.to_ne_bytes(), shows.to_ne_bytes(), fast_by_ppm.to_ne_bytes()].concat();
        let place = COUNT + self.count * SETTING;
        self.file.write_all_at(&setting, place as u64).map_err(writing())?;
        self.file.write_all_at(&(self.count + 1).to_ne_bytes(), 0).map_err(writing())?;
        self.count += 1;
        self.course = course;
        Ok(())
    }
}

impl Course {
    /// The course of a clock that shows that time when the machine's wall clock shows `machine`,
    /// and has its rate.
    pub const fn of(machine: u64, shows: u64) -> Self {
        Self { boot: 0, wall: machine, shows, fast_by_ppm: 0 }
    }

    /// The clock's reading at that reading of the boot clock.
    pub fn reading_at(&self, boot: u64) -> u64 {
        let passed = i128::from(boot) - i128::from(self.boot);
        narrow(i128::from(self.shows) + passed + passed * i128::from(self.fast_by_ppm) / 1_000_000)
    }

    /// The machine's wall clock when this one shows that, if it is not set meanwhile.
    pub fn machine_at(&self, reading: u64) -> u64 {
        let counted = i128::from(reading) - i128::from(self.shows);
        let rate = 1_000_000 + i128::from(self.fast_by_ppm);
        narrow(i128::from(self.wall) + counted * 1_000_000 / rate.max(1))
    }
}

impl Preload {
    /// Makes that process tell the time by the clock.
    pub(crate) fn sets(&self, command: &mut Command) {
        preload::load(command, &library(&self.0));
        command.env(FILE, settings(&self.0));
    }
}

fn library(folder: &TempDir) -> PathBuf {
    folder.path().join("clock.so")
}

fn settings(folder: &TempDir) -> PathBuf {
    folder.path().join("clock")
}

/// Readings of the boot clock and the wall clock at one moment.
fn compare() -> (u64, u64) {
    let compare = |_| {
        let boot = nanos(ClockId::Boottime);
        let wall = nanos(ClockId::Realtime);
        (nanos(ClockId::Boottime).saturating_sub(boot), boot, wall)
    };
    let quickest = (0..READINGS).map(compare).min();
    quickest.map_or((0, 0), |(_, boot, wall)| (boot, wall))
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock shows a time before its beginning.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn narrow(nanos: i128) -> u64 {
    u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of a program that asks the C library, and of the machine's clock then, in
    /// milliseconds.
    fn told(clock: &ServerClock) -> (i64, i64) {
        let said = clock.told().expect("date runs") / 1_000;
        let machine = nanos(ClockId::Realtime) / 1_000_000;
        (said.cast_signed(), machine.cast_signed())
    }

    #[test]
    fn a_program_tells_the_time_by_it() {
        let mut clock = ServerClock::start(0).expect("a clock");
        for (by_ms, ahead) in [(0, 0), (90_000, 90_000), (-120_000, -30_000)] {
            clock.step(by_ms).expect("set");
            let (said, machine) = told(&clock);
            assert!((said - machine - ahead).abs() < 10_000, "{said} {machine} {ahead}");
        }
    }

    #[test]
    fn its_readings_and_those_of_the_machine_follow_from_each_other() {
        let course = Course {
            boot: 5_000_000,
            wall: 7_000_000_000,
            shows: 9_000_000_000,
            fast_by_ppm: -10_000,
        };
        for passed in [0, 1_000_000, 3_600_000_000_000] {
            let reading = course.reading_at(course.boot + passed);
            assert_eq!(reading, course.shows + passed / 100 * 99);
            assert_eq!(course.machine_at(reading), course.wall + passed);
        }
        assert_eq!(
            course.machine_at(8_990_000_000),
            7_000_000_000 - 10_101_010,
            "before it was set"
        );
    }
}
