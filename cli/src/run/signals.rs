//! The signals that are passed on to the command.

use std::fs::{self, File};
use std::io;

use futures_util::future::select_all;
use nix::sys::signal::Signal::SIGTTIN;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::SIGNALLED;
use crate::guard::CONT;

/// SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGCONT, except those that this process
/// was started to ignore, as by `nohup`: the command ignores them too.
#[derive(Debug)]
pub(crate) struct Signals {
    listened: Vec<(SignalKind, Signal)>,
    has_terminal: bool,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Self::of(&[
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
            SignalKind::from_raw(CONT),
        ])
    }

    /// These, except those that this process was started to ignore. SIGTTIN is listened to anyway,
    /// and so not ignored by the command: in `$(..)`, shells have it ignored, and then a command
    /// that reads the terminal would not be stopped, and so not get it.
    pub(super) fn of(kinds: &[SignalKind]) -> io::Result<Self> {
        let ignored = ignored() & !bit(SIGTTIN as i32);
        let listened = kinds.iter().filter(|kind| ignored & bit(kind.as_raw_value()) == 0);
        let signals: io::Result<_> = listened.map(|&kind| Ok((kind, signal(kind)?))).collect();
        Ok(Self { listened: signals?, has_terminal: File::open("/dev/tty").is_ok() })
    }

    /// The next one. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> SignalKind {
        let each = self.listened.iter_mut().map(|(kind, signal)| {
            Box::pin(async move {
                // It ends only with the runtime.
                while signal.recv().await.is_none() {
                    std::future::pending::<()>().await;
                }
                *kind
            })
        });
        let each: Vec<_> = each.collect();
        if each.is_empty() {
            return std::future::pending().await;
        }
        select_all(each).await.0
    }

    /// True if a signal asks this process to end, as opposed to those that only have a meaning for
    /// the command. SIGHUP does if there is a terminal that may have gone; else it asks a program
    /// to read its settings again.
    pub(crate) fn asks_to_end(&self, kind: SignalKind) -> bool {
        let only_for_commands =
            [SignalKind::user_defined1(), SignalKind::user_defined2(), SignalKind::from_raw(CONT)];
        let is_end_of_terminal = kind != SignalKind::hangup() || self.has_terminal;
        is_end_of_terminal && !only_for_commands.contains(&kind)
    }

    /// Ends once a person asks this process again to end: by SIGINT or SIGQUIT. SIGTERM is often
    /// sent twice, as by `timeout`, to a process and then to its group.
    pub(crate) async fn insist(&mut self) {
        let by_persons = [SignalKind::interrupt(), SignalKind::quit()];
        while !by_persons.contains(&self.next().await) {}
    }
}

/// True if a command with that status was ended by a signal that asks it to end, as shells show it.
pub(super) fn have_ended(status: u8) -> bool {
    let asking = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
    ];
    asking.iter().any(|signal| i32::from(SIGNALLED) + signal.as_raw_value() == i32::from(status))
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The set of signals that this process ignores; none where `/proc` does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or_default()
}
