//! The supervisor's side of its guard: a grandchild of this process, and a socket to it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpid};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::guard::{Cgroup, Order, Report, kill_group, protection, reap_all, reaper, sweep};
use crate::notify;
use crate::output;

/// The command of a guard.
pub(super) struct Guarded {
    pub(super) key: String,
    pub(super) name: String,
    /// The variables that name the store: the command may ask it too.
    pub(super) store: Vec<(OsString, OsString)>,
    pub(super) command: Vec<OsString>,
}

pub(super) struct Guard {
    /// Its reaper, which is a child of this process, and ends after it.
    reaper: Pid,
    /// The control group of the command, if there is one.
    cgroup: Option<Cgroup>,
    socket: UnixStream,
    children: Signal,
    received: Vec<u8>,
    reports: VecDeque<Report>,
    /// The command's group, until it is known to have no leader any more.
    group: Option<i32>,
    is_dead: bool,
}

/// An item from a guard's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromGuard {
    Report(Report),
    /// The guard has ended, and has reported nothing else. What it has started may be left.
    Died,
}

impl Guard {
    /// Starts a guard.
    pub(super) fn spawn(guarded: &Guarded) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        // Listened to before there is a child to hear of.
        let children = signal(SignalKind::child())?;
        let cgroup = Cgroup::create();
        tracing::info!("{}", protection(&cgroup));
        let cgroup = cgroup.ok();
        let mut reaper = reaper();
        reaper.arg(Cgroup::argument(cgroup.as_ref())).args(&guarded.command);
        reaper.stdin(Stdio::from(OwnedFd::from(theirs)));
        // The command inherits this environment: of the store, only what its user has put there.
        let settings = std::env::vars_os().map(|(name, _)| name).filter(|name| is_ours(name));
        for name in settings {
            reaper.env_remove(name);
        }
        reaper.envs(guarded.store.iter().map(|(name, value)| (name, value)));
        reaper.env("TENURE_KEY", &guarded.key).env("TENURE_NAME", &guarded.name);
        // Signals to this process's group are this process's to forward.
        let child = reaper.process_group(0).spawn()?;
        send_input(&ours)?;
        Ok(Self {
            reaper: Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?),
            cgroup,
            socket: UnixStream::from_std(ours)?,
            children,
            received: Vec::new(),
            reports: VecDeque::new(),
            group: None,
            is_dead: false,
        })
    }

    /// Tells it to the guard. A guard that has not read for so long that the socket is full is
    /// paused, or gone: the kernel kills it at the deadline that it knows.
    pub(super) fn order(&self, order: Order) {
        let _ = self.socket.try_write(order.line().as_bytes());
    }

    /// The command's group, if its leader lives.
    pub(super) fn group(&self) -> Option<i32> {
        self.group
    }

    /// The next message. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> FromGuard {
        loop {
            self.read();
            if let Some(report) = self.reports.pop_front() {
                self.note(report);
                return FromGuard::Report(report);
            }
            // Only now: what it has said before its end is heard.
            if self.is_dead {
                return FromGuard::Died;
            }
            tokio::select! {
                biased;
                _ = self.children.recv() => {}
                // An error is the socket's end, and so the guard's.
                _ = self.socket.readable() => {}
            }
            self.is_dead = has_ended(self.reaper);
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Started(group) => self.group = Some(group),
            // Reaped at once afterwards: its number may soon be that of others.
            Report::Exited(_) | Report::Gone => self.group = None,
            Report::Late | Report::Failed(_) | Report::Ending | Report::Stopped(_) => {}
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 512];
        loop {
            match self.socket.try_read(&mut bytes) {
                Ok(read) if read > 0 => self.received.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => {
                    // It has closed its socket, so it has ended or is about to.
                    self.is_dead = true;
                    break;
                }
            }
        }
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            let report = std::str::from_utf8(&line[..end]).ok().and_then(Report::read);
            self.reports.extend(report);
        }
    }

    /// Kills the guard and everything that it has started, and waits until nothing of it is left.
    ///
    /// Once guard and reaper are dead, their children are this process's, those that have left the
    /// group too. So no other guard may be there: it would be killed too.
    pub(super) async fn destroy(&mut self) {
        // What it has said may be that its group is another one's by now.
        self.read();
        while let Some(report) = self.reports.pop_front() {
            self.note(report);
        }
        // The group at once and as a whole, so that none of it can fork away meanwhile.
        if let Some(group) = self.group.take() {
            let _ = kill_group(group);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // What a dead guard has left is its reaper's to kill, which does so also if this process is
        // killed now. So a reaper has some milliseconds for that before it is killed itself.
        let mut turns_of_reaper = if self.is_dead { TURNS_OF_REAPER } else { 0 };
        let mut pause = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        loop {
            let is_empty = if turns_of_reaper > 0 { reap_all() } else { sweep() };
            if is_empty {
                return;
            }
            turns_of_reaper = turns_of_reaper.saturating_sub(1);
            tokio::time::sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(Duration::from_millis(50));
            if waited > LONG {
                waited = Duration::ZERO;
                output::say(
                    "a process of the command does not end, although it was killed: the kernel does not end it yet, or \
                     it belongs to another user",
                );
            }
        }
    }
}

/// Looks whether a reaper has ended: they take 15 ms.
const TURNS_OF_REAPER: u32 = 4;
/// Between two complaints.
const LONG: Duration = Duration::from_secs(10);

/// True if a variable is a setting of this program, or one by which it speaks to its service
/// manager.
fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"TENURE_")
        || notify::VARIABLES.iter().any(|one| name == *one)
}

fn has_ended(reaper: Pid) -> bool {
    // In a container, orphans of all kinds become children of the first process. Elsewhere, other
    // children than the reaper are those of libraries, which wait for them.
    if getpid().as_raw() == 1 {
        reap_orphans(Some(reaper));
    }
    match waitid(Id::Pid(reaper), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
        Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => false,
        Ok(_) | Err(_) => true,
    }
}

/// Reaps children of this process that have ended, until none is left or the next one is that
/// child.
pub(crate) fn reap_orphans(except: Option<Pid>) {
    let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    while let Ok(status) = waitid(Id::All, ended | WaitPidFlag::WNOWAIT) {
        match status.pid() {
            Some(orphan) if Some(orphan) != except => drop(waitid(Id::Pid(orphan), ended)),
            Some(_) | None => return,
        }
    }
}

/// The guard's own standard input is the socket.
fn send_input(socket: &StdStream) -> io::Result<()> {
    let input = io::stdin();
    let descriptors = [input.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(b"i")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}
