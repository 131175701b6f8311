//! Child processes that do not outlive the test process.
//!
//! `Drop` kills a child when its test ends in any orderly way, a panic included. A test process that
//! is itself killed runs no destructor; for that case util-linux's `setpriv --pdeathsig` asks the
//! kernel to kill the child. Where that program is missing, such a child stays behind.
//!
//! The kernel sends that signal when the *thread* that spawned the child ends, and a test's thread
//! ends before the servers it left to others. So all children are spawned by one thread that never
//! ends.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread;

type Job = (Command, Sender<io::Result<Child>>);

/// A command that runs `program` so that it dies with this process, as far as the machine allows.
pub(crate) fn command(program: &str) -> Command {
    if has_setpriv() {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", program]);
        command
    } else {
        Command::new(program)
    }
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

/// Whether `program` can be run by name.
pub(crate) fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

fn has_setpriv() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| is_installed("setpriv"))
}
