//! The reaper: the guard's parent, which kills what a guard that has ended has left.
//!
//! It needs to know no deadline: a guard that does not end what it has to is killed by the kernel's
//! timer. Neither its name nor its arguments contain that of this program, so what kills `tenure`
//! by its name leaves it.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::prctl::{set_child_subreaper, set_name};
use nix::sys::signal::SigSet;

use super::cgroup::Cgroup;
use super::process::program;
use super::sweep::sweep;
use super::{GUARD, REAPER};
use crate::output;

/// The reaper of a guard, without the arguments of [`main`].
pub(crate) fn reaper() -> Command {
    let mut reaper = program(REAPER);
    reaper.arg0("job-reaper");
    reaper
}

/// The guard's arguments. Ends when nothing of the guard's command is left.
pub(crate) fn main(arguments: &[OsString]) -> u8 {
    match run(arguments) {
        Ok(()) => 0,
        Err(error) => {
            // The supervisor ends what there is.
            output::say(&format!("the reaper of the command fails: {error}"));
            1
        }
    }
}

const PAUSE_MOST: Duration = Duration::from_millis(20);

fn run(arguments: &[OsString]) -> io::Result<()> {
    let _ = set_name(c"job-reaper");
    // Signals for whole groups of processes are the supervisor's to forward.
    SigSet::all().thread_block()?;
    set_child_subreaper(true)?;
    // Only the guard may have the socket: by the socket's end, the supervisor sees the guard's.
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let (empty, _) = io::pipe()?;
    rustix::stdio::dup2_stdin(&empty)?;
    drop(empty);
    let mut guard = program(GUARD);
    let mut child = guard.args(arguments).stdin(Stdio::from(socket)).process_group(0).spawn()?;
    drop(guard);
    let _ = child.wait();
    let cgroup = arguments.first().and_then(|argument| Cgroup::named(argument));
    if let Some(cgroup) = &cgroup {
        cgroup.kill();
    }
    let mut pause = Duration::from_millis(1);
    while !sweep() {
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MOST);
    }
    Ok(())
}
