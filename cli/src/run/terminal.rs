//! The terminal, of which one group of processes at a time is in the foreground.
//!
//! The command's group is in the foreground while it runs, if this process's own was and its input
//! is the terminal: so the command reads what is typed, and Ctrl-C and Ctrl-Z reach the command
//! alone. With another input, such as a pipe whose other programs may read the terminal, it comes
//! there once it asks for the terminal, such as for a password.

use std::fs::File;
use std::io::{self, IsTerminal};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpgrp, getpid, getsid, tcgetpgrp, tcsetpgrp};

#[derive(Debug)]
pub(super) struct Terminal {
    /// That of this process, if it has one.
    tty: Option<File>,
    /// Whether the command's group was given the terminal.
    given: bool,
}

impl Terminal {
    /// Before any other thread starts: a background process that sets the foreground group is
    /// stopped, unless it blocks this signal.
    pub(super) fn new() -> nix::Result<Self> {
        SigSet::from(Signal::SIGTTOU).thread_block()?;
        Ok(Self { tty: File::open("/dev/tty").ok(), given: false })
    }

    /// Whether a command that starts now belongs into the foreground.
    pub(super) fn give(&mut self) -> bool {
        self.given = io::stdin().is_terminal() && self.is_foreground();
        self.given
    }

    /// The command's group is gone, or is to lose the terminal. True if it had it.
    pub(super) fn take_back(&mut self) -> bool {
        let was_given = std::mem::take(&mut self.given);
        if was_given {
            // A terminal that was closed meanwhile is nobody's.
            let _ = self.set_foreground(getpgrp());
        }
        was_given
    }

    /// The command was stopped by that signal. If it has asked for the terminal, and this process's
    /// group is in the foreground, the command's group comes there: true, and it is to be continued.
    pub(super) fn lends(&mut self, group: i32, signal: i32) -> bool {
        if !asks_for_terminal(signal) || !self.is_foreground() {
            return false;
        }
        self.given = self.set_foreground(Pid::from_raw(group));
        self.given
    }

    /// Stops this process, as the command was stopped by that signal, so that the shell goes on.
    /// Ends when this process is continued.
    ///
    /// The lease is not renewed meanwhile: the guard kills the command when it ends.
    ///
    /// Where no shell could continue this process, it goes on. False if the command is to go on too,
    /// after Ctrl-Z.
    pub(super) fn stop_with_the_command(&mut self, signal: i32) -> bool {
        if self.tty.is_none() {
            return true;
        }
        if getpid().as_raw() == 1 || getsid(None) == Ok(getpgrp()) {
            return signal != Signal::SIGTSTP as i32;
        }
        if self.given || asks_for_terminal(signal) || io::stdin().is_terminal() {
            self.take_back();
            // A process may send itself any signal.
            let _ = kill(getpid(), Signal::SIGSTOP);
        }
        true
    }

    /// This process was continued: by `fg` in the foreground, where its command belongs too, or by
    /// `bg`.
    pub(super) fn continue_with_the_command(&mut self, group: i32) {
        if io::stdin().is_terminal() && self.is_foreground() {
            self.given = self.set_foreground(Pid::from_raw(group));
        }
    }

    fn is_foreground(&self) -> bool {
        self.tty.as_ref().is_some_and(|tty| tcgetpgrp(tty) == Ok(getpgrp()))
    }

    fn set_foreground(&self, group: Pid) -> bool {
        self.tty.as_ref().is_some_and(|tty| tcsetpgrp(tty, group).is_ok())
    }
}

/// Whether a signal stops those that use the terminal while they are not in the foreground.
fn asks_for_terminal(signal: i32) -> bool {
    [Signal::SIGTTIN as i32, Signal::SIGTTOU as i32].contains(&signal)
}
