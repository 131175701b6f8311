//! The terminal, of which one group of processes at a time is in the foreground.
//!
//! The command's group is in the foreground while it runs, if this process's own was: so the
//! command reads what is typed, and Ctrl-C and Ctrl-Z reach the command alone.

use std::io::{self, IsTerminal};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpgrp, getpid, tcgetpgrp, tcsetpgrp};

#[derive(Debug)]
pub(super) struct Terminal {
    /// Whether the command's group was given the terminal.
    given: bool,
}

impl Terminal {
    /// Before any other thread starts: a background process that sets the foreground group is
    /// stopped, unless it blocks this signal.
    pub(super) fn new() -> nix::Result<Self> {
        SigSet::from(Signal::SIGTTOU).thread_block()?;
        Ok(Self { given: false })
    }

    /// Whether a command that starts now belongs into the foreground.
    pub(super) fn give(&mut self) -> bool {
        self.given = io::stdin().is_terminal() && is_foreground();
        self.given
    }

    /// The command's group is gone.
    pub(super) fn take_back(&mut self) {
        if std::mem::take(&mut self.given) {
            // A terminal that was closed meanwhile is nobody's.
            let _ = tcsetpgrp(io::stdin(), getpgrp());
        }
    }

    /// Stops this process, as the command was stopped, so that the shell goes on. Ends when this
    /// process is continued.
    ///
    /// The lease is not renewed meanwhile: the guard kills the command when it ends.
    pub(super) fn stop_with_the_command(&mut self) {
        if io::stdin().is_terminal() {
            self.take_back();
            // A process may send itself any signal.
            let _ = kill(getpid(), Signal::SIGSTOP);
        }
    }

    /// This process was continued: by `fg` in the foreground, where its command belongs too, or by
    /// `bg`.
    pub(super) fn continue_with_the_command(&mut self, group: i32) {
        if io::stdin().is_terminal() && is_foreground() {
            self.given = tcsetpgrp(io::stdin(), Pid::from_raw(group)).is_ok();
        }
    }
}

fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()) == Ok(getpgrp())
}
