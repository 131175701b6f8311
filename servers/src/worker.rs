//! A process of the application under test.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::ServerError;
use crate::child;
use crate::clock::Preload;
use crate::error::doing;

/// Standard input, output and error.
const STANDARD: u64 = 3;

/// A process of the application under test: it can be paused and killed, and does not outlive the
/// process that started it. It is killed on drop.
#[derive(Debug)]
pub struct Worker {
    child: Child,
}

impl Worker {
    /// Starts a program. Its standard input and output are pipes, for [`pipes`](Self::pipes); its
    /// standard error is that of this process.
    ///
    /// # Errors
    /// If it can't be started.
    pub fn start<A: AsRef<OsStr>>(program: &Path, args: &[A]) -> Result<Self, ServerError> {
        Self::start_by(None, program, args)
    }

    /// The same with a wall clock of its own.
    ///
    /// # Errors
    /// As those of [`start`](Self::start).
    pub fn start_with_clock<A: AsRef<OsStr>>(
        program: &Path,
        args: &[A],
        clock: &Preload,
    ) -> Result<Self, ServerError> {
        Self::start_by(Some(clock), program, args)
    }

    fn start_by<A: AsRef<OsStr>>(
        clock: Option<&Preload>,
        program: &Path,
        args: &[A],
    ) -> Result<Self, ServerError> {
        let mut command = child::command(program, None);
        if let Some(clock) = clock {
            clock.sets(&mut command);
        }
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = child::spawn(command).map_err(doing("starting a process under test"))?;
        Ok(Self { child })
    }

    /// The ends of its standard input and output; `None` if they were taken before.
    pub fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Pauses the process (SIGSTOP): it stands still when this returns. Its connections stay open,
    /// its clocks keep running.
    ///
    /// # Errors
    /// If it has ended.
    pub fn pause(&self) -> Result<(), ServerError> {
        child::pause(&self.child).map_err(doing("pausing a process under test"))
    }

    /// Lets a paused process continue (SIGCONT).
    ///
    /// # Errors
    /// If it has ended.
    pub fn resume(&self) -> Result<(), ServerError> {
        child::signal(&self.child, Signal::CONT).map_err(doing("resuming a process under test"))
    }

    /// Lets the process open files and connections: as many as this one, or none (`RLIMIT_NOFILE`).
    /// What it has opened stays open.
    ///
    /// # Errors
    /// If it has ended.
    pub fn may_open(&self, some: bool) -> Result<(), ServerError> {
        let own = getrlimit(Resource::Nofile);
        // Some calls count their descriptors against the limit, so it is not 0.
        let limit = if some { own } else { Rlimit { current: Some(STANDARD), ..own } };
        let outcome = prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, limit);
        outcome.map(drop).map_err(|errno| doing("limiting a process under test")(errno.into()))
    }

    /// True if the process has ended.
    ///
    /// # Errors
    /// If the system can't tell.
    pub fn has_ended(&mut self) -> Result<bool, ServerError> {
        Ok(self.child.try_wait().map_err(doing("looking after a process under test"))?.is_some())
    }

    /// Ends the process at once (SIGKILL), and waits until it has ended. Killing twice is harmless.
    ///
    /// # Errors
    /// If it can't be killed.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.child.kill().map_err(doing("killing a process under test"))?;
        self.child.wait().map_err(doing("waiting for a process under test to end"))?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and a panic would hide the test's own.
        let _ = self.kill();
    }
}
