//! The end by SIGINT: a shell ends the loop or the script around a program for Ctrl-C only if the
//! program dies of the signal. A status of 130 is none to it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use crate::exit::SIGNALLED;
use crate::guard::program;

/// The hidden subcommand.
pub(crate) const INTERRUPT: &str = "__interrupt";

/// The signal's receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    This,
    /// All that the terminal would have sent it to, if the command had not had the terminal.
    Group,
}

/// Ends this process by SIGINT, or else returns the status that says so.
///
/// Without unsafe code, the handler of a signal is taken away only by the execution of a program:
/// this one again.
pub(crate) fn end(whom: Whom) -> u8 {
    let whom = match whom {
        Whom::This => "this",
        Whom::Group => "group",
    };
    // It returns only if it fails.
    let _ = program(INTERRUPT).arg(whom).exec();
    STATUS
}

/// The executed program. The first process of a container outlives the signal.
pub(crate) fn main(arguments: &[OsString]) -> u8 {
    let is_group = arguments.first().is_some_and(|whom| whom == "group");
    let whom = if is_group { Pid::from_raw(0) } else { getpid() };
    let _ = kill(whom, Signal::SIGINT);
    STATUS
}

/// The status that shells show.
const STATUS: u8 = SIGNALLED + 2;
