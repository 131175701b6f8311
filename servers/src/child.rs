//! Child processes that do not outlive the test process.
//!
//! `Drop` kills a child when its test ends in any orderly way, a panic included. A test process
//! that is itself killed runs no destructor; for that case util-linux's `setpriv --pdeathsig` asks
//! the kernel to kill the child. Where that program is missing, such a child stays behind.
//!
//! The kernel sends that signal when the *thread* that spawned the child ends, and a test's thread
//! ends before the servers it left to others. So all children are spawned by one thread that never
//! ends.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::ServerError;
use crate::error::doing;

type Job = (Command, Sender<io::Result<Child>>);

/// A user of the system that a server runs as, because it refuses to run as root.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Account {
    /// Looks that user up.
    pub(crate) fn named(name: &'static str) -> Result<Self, ServerError> {
        if !has_setpriv() {
            let install = "apt-get install util-linux";
            return Err(ServerError::Missing { program: "setpriv", install });
        }
        let id = |which: &str| {
            let output = Command::new("id").args([which, name]).output()?;
            let number = String::from_utf8_lossy(&output.stdout).trim().parse();
            number.map_err(|_| io::Error::other(format!("there is no user {name}")))
        };
        let looking = || doing("looking up the user of a server");
        let (user, group) = (id("-u").map_err(looking())?, id("-g").map_err(looking())?);
        Ok(Self { user, group })
    }
}

/// A command that runs `program` so that it dies with this process, as far as the machine allows;
/// and as another user, if need be.
pub(crate) fn command(program: &Path, account: Option<&Account>) -> Command {
    if !has_setpriv() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    if let Some(Account { user, group }) = account {
        // Both by one program: the kernel forgets whose death to wait for when the user changes.
        command.args([format!("--reuid={user}"), format!("--regid={group}")]).arg("--init-groups");
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Spawns from the one thread that lives as long as this process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for (mut command, answer) in queue {
                // The asker waits for the answer; if its thread was killed there is nobody to tell.
                let _ = answer.send(command.spawn());
            }
        });
        jobs
    });
    let (answer, result) = mpsc::channel();
    let gone = || io::Error::other("the thread that spawns servers has ended");
    spawner.send((command, answer)).map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

/// Sends a signal to a child.
pub(crate) fn signal(child: &Child, signal: Signal) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), signal)?)
}

/// Pauses a child (SIGSTOP), and returns once all its threads stand still: on a busy machine they
/// run on for milliseconds after the signal was sent.
///
/// # Errors
/// If it has ended.
pub fn pause(child: &Child) -> io::Result<()> {
    signal(child, Signal::STOP)?;
    let pauses_or_ends = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let id = WaitId::Pid(Pid::from_child(child));
    let change = retry_on_intr(|| waitid(id.clone(), pauses_or_ends))?;
    if change.is_some_and(|change| change.stopped()) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// The file of `program`: in one of those folders, or else on the path.
pub(crate) fn find(program: &str, folders: Vec<PathBuf>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|program| program.is_file())
}

fn has_setpriv() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| find("setpriv", Vec::new()).is_some())
}
