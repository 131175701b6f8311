//! The common part of a test's own servers: a process, a folder, and a log.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::ServerError;
use crate::child::{self, Account};
use crate::error::doing;
use crate::port;

/// Generous, because continuous integration starts servers on loaded machines.
const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(5);
/// Lines of a log that an error shows. Some servers write hundreds while they start.
const SHOWN: usize = 40;

/// A program that serves, and how to get it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// Its name, as found on the path.
    pub(crate) name: &'static str,
    /// The command that installs it.
    pub(crate) install: &'static str,
}

/// A server's process in a folder of its own. Both are gone on drop.
#[derive(Debug)]
pub(crate) struct Process {
    program: Program,
    path: PathBuf,
    account: Option<Account>,
    folder: TempDir,
    /// None before the first launch and after [`kill`](Self::kill).
    child: Option<Child>,
    /// The reservations of its ports.
    ports: Vec<UdpSocket>,
}

impl Process {
    /// Makes the folder; starts nothing yet.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if the program is not installed.
    pub(crate) fn new(program: Program) -> Result<Self, ServerError> {
        let Some(path) = child::find(program.name, Vec::new()) else {
            let Program { name: program, install } = program;
            return Err(ServerError::Missing { program, install });
        };
        Self::of(program, path, None)
    }

    /// The same for a program that was found elsewhere, or that runs as another user.
    pub(crate) fn of(
        program: Program,
        path: PathBuf,
        account: Option<Account>,
    ) -> Result<Self, ServerError> {
        let folder = tempfile::tempdir().map_err(doing("creating a server's folder"))?;
        Ok(Self { program, path, account, folder, child: None, ports: Vec::new() })
    }

    /// The folder, in which the process runs.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Another port of 127.0.0.1 for this server, whether it runs or is down. No other server is
    /// given that one.
    pub(crate) fn port(&mut self) -> Result<u16, ServerError> {
        let (port, reservation) = port::reserve()?;
        self.ports.push(reservation);
        Ok(port)
    }

    /// The process id, while there is a process.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Pauses the process (SIGSTOP): it stands still when this returns.
    pub(crate) fn pause(&self) -> Result<(), ServerError> {
        let outcome = self.child.as_ref().map_or_else(|| Err(Errno::SRCH.into()), child::pause);
        outcome.map_err(doing("pausing a server"))
    }

    /// Lets a paused process continue (SIGCONT).
    pub(crate) fn resume(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    /// Ends the process at once (SIGKILL) and waits until it is gone. Killing twice is harmless.
    pub(crate) fn kill(&mut self) -> Result<(), ServerError> {
        if let Some(mut child) = self.child.take() {
            child.kill().map_err(doing("killing a server"))?;
            child.wait().map_err(doing("waiting for a server to end"))?;
        }
        Ok(())
    }

    /// Waits until the process has ended by itself; whether it has. Then there is none any more.
    pub(crate) fn has_ended_within(&mut self, bound: Duration) -> Result<bool, ServerError> {
        let started = Instant::now();
        while self.is_running()? {
            if started.elapsed() >= bound {
                return Ok(false);
            }
            thread::sleep(POLL_EVERY);
        }
        self.child = None;
        Ok(true)
    }

    /// Spawns the process, which shall serve that port, and waits until it is `ready`.
    ///
    /// # Errors
    /// [`ServerError::NotReady`] if it ends before that, or takes longer than 60 s.
    pub(crate) fn launch(
        &mut self,
        port: u16,
        configure: impl FnOnce(&mut Command),
        ready: impl Fn(u32) -> bool,
    ) -> Result<(), ServerError> {
        self.launch_within(READY_WITHIN, port, configure, ready)
    }

    /// The same for a server that may take longer.
    ///
    /// # Errors
    /// [`ServerError::NotReady`] if it ends before that, or takes longer than the bound.
    pub(crate) fn launch_within(
        &mut self,
        bound: Duration,
        port: u16,
        configure: impl FnOnce(&mut Command),
        ready: impl Fn(u32) -> bool,
    ) -> Result<(), ServerError> {
        let creating = || doing("creating a server's log");
        let log = fs::File::create(self.folder().join("log")).map_err(creating())?;
        let complaints = log.try_clone().map_err(creating())?;
        let mut command = child::command(&self.path, self.account.as_ref());
        configure(&mut command);
        command.current_dir(self.folder()).stdin(Stdio::null()).stdout(log).stderr(complaints);
        self.child = Some(child::spawn(command).map_err(doing("starting a server"))?);

        let started = Instant::now();
        while started.elapsed() < bound && self.is_running()? {
            if self.pid().is_some_and(&ready) {
                return Ok(());
            }
            thread::sleep(POLL_EVERY);
        }
        self.kill()?;
        Err(ServerError::NotReady { program: self.program.name, port, bound, log: self.log_end() })
    }

    /// The process's log since it was launched.
    pub(crate) fn log(&self) -> Result<String, ServerError> {
        let log = fs::read(self.folder().join("log")).map_err(doing("reading a server's log"))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// The last lines of that, as far as they can be read, for an error.
    pub(crate) fn log_end(&self) -> String {
        let log = self.log().unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }

    /// True if the process has not ended by itself.
    pub(crate) fn is_running(&mut self) -> Result<bool, ServerError> {
        match &mut self.child {
            Some(child) => Ok(child.try_wait().map_err(doing("looking after a server"))?.is_none()),
            None => Ok(false),
        }
    }

    /// Sends a signal to the process.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let outcome = self
            .child
            .as_ref()
            .map_or_else(|| Err(Errno::SRCH.into()), |child| child::signal(child, signal));
        outcome.map_err(doing("signalling a server"))
    }
}

/// The methods of a server that is one process, its field `process`.
macro_rules! process_methods {
    () => {
        /// The process id, or none after [`kill`](Self::kill).
        pub fn pid(&self) -> Option<u32> {
            self.process.pid()
        }

        /// Pauses the process (SIGSTOP): connections stay open, requests queue in the kernel.
        pub fn pause(&self) -> Result<(), ServerError> {
            self.process.pause()
        }

        /// Lets a paused process continue (SIGCONT): it then executes the queued requests.
        pub fn resume(&self) -> Result<(), ServerError> {
            self.process.resume()
        }

        /// Ends the process at once (SIGKILL) and waits until it is gone. Killing twice is
        /// harmless.
        pub fn kill(&mut self) -> Result<(), ServerError> {
            self.process.kill()
        }
    };
}
pub(crate) use process_methods;

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and a panic would hide the test's own.
        let _ = self.kill();
    }
}
