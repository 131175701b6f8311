//! Processes and groups of processes.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// This program itself, also if its file was replaced since it was started.
pub(crate) fn program(subcommand: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tenure").arg(subcommand);
    command
}

/// Kills a group. One that is empty already is no error.
pub(crate) fn kill_group(group: i32) -> nix::Result<()> {
    signal_group(group, Signal::SIGKILL)
}

/// Sends a signal to a group. One that is empty already is no error.
pub(super) fn signal_group(group: i32, signal: Signal) -> nix::Result<()> {
    match killpg(Pid::from_raw(group), signal) {
        Err(Errno::ESRCH) => Ok(()),
        other => other,
    }
}
