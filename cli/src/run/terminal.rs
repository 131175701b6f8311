//! The terminal, of which one group of processes at a time is in the foreground.
//!
//! The command's group is in the foreground while it runs, if this process's own was and its input
//! and output are the terminal: so the command reads what is typed, and Ctrl-C and Ctrl-Z reach the
//! command alone. Otherwise there is a pipe, perhaps, whose other programs may read the terminal,
//! such as a pager: the command comes there once it asks for the terminal, such as for a password.
//!
//! If Ctrl-Z stops the command, or the command stops since it can't have the terminal, this process
//! stops too, and its group, such as the script around it: the shell waits for all of them.

use std::fs::File;
use std::io::{self, IsTerminal};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getpid, getsid, tcgetpgrp, tcsetpgrp};
use tokio::signal::unix::SignalKind;

use super::Signals;

#[derive(Debug)]
pub(super) struct Terminal {
    /// The terminal of this process, if it has one.
    tty: Option<File>,
    /// The signals by which a terminal stops processes.
    stops: Signals,
    /// True if the next of them is this process's own.
    has_stopped_all: bool,
    /// True if the command's group was given the terminal.
    given: bool,
    /// The last command's group.
    group: Option<Pid>,
}

impl Terminal {
    /// Before any other thread starts: a background process that sets the foreground group is
    /// stopped, unless it blocks this signal.
    pub(super) fn new() -> io::Result<Self> {
        SigSet::from(Signal::SIGTTOU).thread_block()?;
        let stops = [Signal::SIGTSTP, Signal::SIGTTIN];
        Ok(Self {
            tty: File::open("/dev/tty").ok(),
            stops: Signals::of(&stops.map(|signal| SignalKind::from_raw(signal as i32)))?,
            has_stopped_all: false,
            given: false,
            group: None,
        })
    }

    /// True if a command that starts now belongs into the foreground.
    pub(super) fn give(&mut self) -> bool {
        self.given = is_interactive() && self.is_foreground();
        self.given
    }

    /// A command has started, in that group.
    pub(super) fn has_started(&mut self, group: i32) {
        self.group = Some(Pid::from_raw(group));
    }

    /// The command's group is gone, or is to lose the terminal. True if it had it. A shell that has
    /// taken it, since this process was stopped, keeps it.
    pub(super) fn take_back(&mut self) -> bool {
        let had_it = std::mem::take(&mut self.given) && self.is_the_commands();
        if had_it {
            // A terminal that was closed meanwhile is nobody's.
            let _ = self.set_foreground(getpgrp());
        }
        had_it
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

    /// Ends when the terminal asks this process to stop, as by Ctrl-Z while the command does not have
    /// the terminal. Dropping the future loses nothing.
    pub(super) async fn next_stop(&mut self) {
        loop {
            self.stops.next().await;
            if !std::mem::take(&mut self.has_stopped_all) {
                return;
            }
        }
    }

    /// Stops this process, which has no command now. Ends when this process is continued.
    pub(super) fn stop() {
        if !is_without_shell() {
            stop_this();
        }
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
        if is_without_shell() {
            return signal != Signal::SIGTSTP as i32;
        }
        if self.take_back() || asks_for_terminal(signal) {
            // The terminal has stopped the command's group alone.
            self.has_stopped_all = true;
            let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
        } else if signal == Signal::SIGSTOP as i32 && !io::stdin().is_terminal() {
            // By `kill`: no key has sent it.
            return true;
        }
        stop_this();
        true
    }

    /// This process was continued: by `fg` in the foreground, where its command belongs too, or by
    /// `bg`.
    pub(super) fn continue_with_the_command(&mut self, group: i32) {
        if is_interactive() && self.is_foreground() {
            self.given = self.set_foreground(Pid::from_raw(group));
        }
    }

    fn is_foreground(&self) -> bool {
        self.foreground() == Some(getpgrp())
    }

    /// True if the command's group is in the foreground, or one that is gone: a shell has its
    /// commands in groups of their own.
    fn is_the_commands(&self) -> bool {
        self.foreground().is_some_and(|group| {
            Some(group) == self.group || killpg(group, None::<Signal>) == Err(Errno::ESRCH)
        })
    }

    fn foreground(&self) -> Option<Pid> {
        self.tty.as_ref().and_then(|tty| tcgetpgrp(tty).ok())
    }

    fn set_foreground(&self, group: Pid) -> bool {
        self.tty.as_ref().is_some_and(|tty| tcsetpgrp(tty, group).is_ok())
    }
}

/// True if no other program of this process's pipe, if it is in one, may read the terminal.
fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// True if nobody could continue this process.
fn is_without_shell() -> bool {
    getpid().as_raw() == 1 || getsid(None) == Ok(getpgrp())
}

fn stop_this() {
    // A process may send itself any signal.
    let _ = kill(getpid(), Signal::SIGSTOP);
}

/// True if a signal stops those that use the terminal while they are not in the foreground.
fn asks_for_terminal(signal: i32) -> bool {
    [Signal::SIGTTIN as i32, Signal::SIGTTOU as i32].contains(&signal)
}
