//! The guard's process around its state machine: one thread, which reads, decides, acts, and waits.

use std::ffi::OsString;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl::{set_child_subreaper, set_name};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use tenure::runtime::{Runtime, TokioRuntime};

use super::cgroup::Cgroup;
use super::kernel_timer::KernelTimer;
use super::machine::{Action, Input, Machine};
use super::message::{Ending, Order, Report};
use super::process::{kill_group, program, signal_group};
use super::{SHIM, sweep};
use crate::output;

/// The control group and the command. Runs the guard until its supervisor is gone.
pub(crate) fn main(arguments: &[OsString]) -> u8 {
    let [cgroup, command @ ..] = arguments else { return 1 };
    let run = |shell: Option<Shell>| {
        let Some(mut shell) = shell else { return Ok(()) };
        let ended = shell.run();
        if ended.is_err() {
            // Here, since the timer ends with this value, and the words below may take a second.
            shell.act(Action::Kill)?;
        }
        ended
    };
    match Shell::new(Cgroup::named(cgroup), command).and_then(run) {
        Ok(()) => 0,
        Err(error) => {
            // What is left of what it has started dies with it.
            output::say(&format!("the guard fails: {error}"));
            1
        }
    }
}

struct Shell<'a> {
    /// The command's own, if there is one.
    cgroup: Option<Cgroup>,
    command: &'a [OsString],
    /// The command's standard input.
    input: OwnedFd,
    /// Until it is gone.
    supervisor: Option<UnixStream>,
    received: Vec<u8>,
    machine: Machine,
    timer: KernelTimer,
    children: SignalFd,
    /// The command's process, until it is reaped, and its group.
    leader: Option<Pid>,
    /// Between two looks at what is left.
    pause: Duration,
    over: bool,
}

/// The first pause between two looks at what is left of a group.
const PAUSE_LEAST: Duration = Duration::from_millis(1);
const PAUSE_MOST: Duration = Duration::from_millis(20);

impl<'a> Shell<'a> {
    /// `None` if the supervisor is gone already.
    fn new(cgroup: Option<Cgroup>, command: &'a [OsString]) -> io::Result<Option<Self>> {
        // The file's name would be "exe" in lists of processes.
        let _ = set_name(c"tenure-guard");
        // Signals for whole groups of processes, such as those of a terminal, are the supervisor's
        // to forward.
        SigSet::all().thread_block()?;
        set_child_subreaper(true)?;
        let supervisor = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let Some(input) = receive_input(&supervisor)? else { return Ok(None) };
        supervisor.set_nonblocking(true)?;
        let children = SigSet::from(Signal::SIGCHLD);
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Some(Self {
            cgroup,
            command,
            input,
            supervisor: Some(supervisor),
            received: Vec::new(),
            machine: Machine::new(),
            timer: KernelTimer::new()?,
            children: SignalFd::with_flags(&children, flags)?,
            leader: None,
            pause: PAUSE_LEAST,
            over: false,
        }))
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.over {
            // What was said counts before what the clock says: a renewal that lay here while this
            // process was paused holds.
            self.read_orders()?;
            self.look_at_children()?;
            self.feed(Input::Wake)?;
            if self.machine.is_emptying() && sweep() {
                self.feed(Input::Empty)?;
                continue;
            }
            if !self.over {
                self.wait()?;
            }
        }
        Ok(())
    }

    fn read_orders(&mut self) -> io::Result<()> {
        let mut bytes = [0; 512];
        while let Some(supervisor) = &mut self.supervisor {
            match supervisor.read(&mut bytes) {
                Ok(read) if read > 0 => self.received.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Ok(_) | Err(_) => {
                    // A socket that has ended stays readable: waiting for it would be spinning.
                    self.supervisor = None;
                    return self.feed(Input::SupervisorGone);
                }
            }
            while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let order = std::str::from_utf8(&line[..end]).ok().and_then(Order::read);
                let order = order.ok_or_else(|| io::Error::other("an order is not understood"))?;
                self.feed(Input::Order(order))?;
            }
        }
        Ok(())
    }

    /// Reaps what became this process's child, and takes note of the command's process.
    fn look_at_children(&mut self) -> io::Result<()> {
        while self.children.read_signal()?.is_some() {}
        if let (Some(leader), true) = (self.leader, self.machine.has_leader()) {
            let stopped = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            if let Ok(WaitStatus::Stopped(_, signal)) = waitid(Id::Pid(leader), stopped) {
                self.feed(Input::LeaderStopped(signal as i32))?;
            }
        }
        // Whether it has ended is asked without reaping it, so that its number stays its own.
        let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            let (process, ending) = match waitid(Id::All, ended) {
                Ok(WaitStatus::Exited(process, code)) => (process, Ending::Code(code)),
                Ok(WaitStatus::Signaled(process, signal, _)) => {
                    (process, Ending::Signal(signal as i32))
                }
                Ok(_) | Err(Errno::ECHILD) => return Ok(()),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if Some(process) == self.leader {
                self.feed(Input::LeaderExited(ending))?;
            } else {
                reap(process)?;
            }
        }
    }

    fn feed(&mut self, input: Input) -> io::Result<()> {
        for action in self.machine.handle(TokioRuntime.now(), input) {
            self.act(action)?;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        match action {
            Action::Arm(at) => self.timer.arm(at)?,
            Action::Disarm => self.timer.disarm()?,
            Action::Spawn { token, foreground } => {
                let input = match self.spawn(token, foreground) {
                    Ok(process) => {
                        self.leader = Some(Pid::from_raw(process));
                        Input::Spawned(process)
                    }
                    Err(error) => Input::NotSpawned(error.raw_os_error().unwrap_or_default()),
                };
                self.feed(input)?;
            }
            Action::Signal(signal) => {
                if let (Some(group), Ok(signal)) = (self.leader, Signal::try_from(signal)) {
                    // Processes of other users in the group may refuse it.
                    let _ = signal_group(group.as_raw(), signal);
                }
            }
            Action::Kill => {
                if let Some(group) = self.leader {
                    let _ = kill_group(group.as_raw());
                    if let Some(cgroup) = &self.cgroup {
                        cgroup.kill();
                    }
                }
            }
            Action::Reap => {
                if let Some(leader) = self.leader.take() {
                    reap(leader)?;
                }
                self.pause = PAUSE_LEAST;
            }
            Action::Report(report) => self.report(report),
            Action::Quit => self.over = true,
        }
        Ok(())
    }

    /// From this thread, which is the only one: the death signal is that of the thread that spawns.
    fn spawn(&self, token: u64, foreground: bool) -> io::Result<i32> {
        let place = if foreground { "foreground" } else { "background" };
        let shim = program(SHIM)
            .args([&getpid().to_string(), place])
            .arg(Cgroup::argument(self.cgroup.as_ref()))
            .args(self.command)
            .env("TENURE_TOKEN", token.to_string())
            .stdin(Stdio::from(self.input.try_clone()?))
            .process_group(0)
            .spawn()?;
        i32::try_from(shim.id()).map_err(io::Error::other)
    }

    /// A supervisor that does not read is paused or gone, and learns the rest by the end of this
    /// process.
    fn report(&mut self, report: Report) {
        if let Some(supervisor) = &mut self.supervisor {
            let _ = supervisor.write_all(report.line().as_bytes());
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let until = if self.machine.is_emptying() {
            self.pause = (self.pause * 2).min(PAUSE_MOST);
            Some(self.pause)
        } else {
            // The system's own wait stops in a suspend, and the boot clock does not: no longer than
            // a second.
            let deadline = self.machine.deadline();
            deadline.map(|at| at.since(TokioRuntime.now()).min(Duration::from_secs(1)))
        };
        let until = until.map(|time| Timespec::try_from(time).unwrap_or_default());
        let mut sources = vec![PollFd::new(&self.children, PollFlags::IN)];
        sources.extend(self.supervisor.iter().map(|socket| PollFd::new(socket, PollFlags::IN)));
        match poll(&mut sources, until.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn reap(process: Pid) -> io::Result<()> {
    match waitid(Id::Pid(process), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
        Ok(_) | Err(Errno::ECHILD) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The command's standard input, which the supervisor sends first: this process's own one is the
/// socket.
fn receive_input(supervisor: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(supervisor, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}
