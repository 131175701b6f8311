//! From the guard's fork to the command: what has to be set in the new process itself.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpid, getppid, tcsetpgrp};

use super::cgroup::Cgroup;
use crate::output;

/// The guard's number, `foreground` or `background`, the control group, and the command.
///
/// Becomes the command, and returns only if it could not: with the status that shells give then.
pub(crate) fn main(arguments: &[OsString]) -> u8 {
    let [guard, place, cgroup, command, rest @ ..] = arguments else { return FAILED };
    let guard = guard.to_str().and_then(|number| number.parse().ok()).map(Pid::from_raw);
    // In that order: a guard that has died before is no parent any more, and one that dies later
    // takes the command along.
    if set_pdeathsig(Signal::SIGKILL).is_err() || Some(getppid()) != guard {
        return FAILED;
    }
    if let Some(cgroup) = Cgroup::named(cgroup) {
        // If that fails, the command is as where no group can be made.
        let _ = cgroup.enter();
    }
    if place == "foreground" {
        // SIGTTOU is blocked still. Without a terminal, there is nothing to have.
        let _ = tcsetpgrp(io::stdin(), getpid());
    }
    if SigSet::empty().thread_set_mask().is_err() {
        return FAILED;
    }
    let error = Command::new(command).args(rest).exec();
    output::say(&format!("the command {} can't be run: {error}", command.display()));
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
}

/// Nobody sees it: the guard is gone.
const FAILED: u8 = 125;
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
