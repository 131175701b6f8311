//! A small file system of a run's own, which can be filled.
//!
//! It is in memory, and mounted in a folder. That takes the right to mount: [`prepare`] gives it to
//! a process by starting its program again in a mount namespace. The mounts of a namespace end with
//! its last process, also if that is killed.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::Target;
use crate::plan::{FaultKind, Plan, PlanError};

/// Room for the files of a run and for those that were replaced, with a write-ahead log of 4 MiB
/// each.
const BYTES: u64 = 32 * 1024 * 1024;
/// A file system in memory has no smaller parts.
const PAGE: u64 = 4_096;
/// The interval at which freed space is filled.
const FILLED_EVERY: Duration = Duration::from_millis(1);
/// The name of the file that fills it.
const FILLER: &str = "filler";
/// Set for the program that is started again.
const STARTED_AGAIN: &str = "TENURE_SIM_MOUNTS";
/// The arguments of `unshare`: as root, and as any other user.
const NAMESPACES: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// A file system, until it is dropped.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    filling: Option<Filling>,
}

/// The thread that keeps it full.
#[derive(Debug)]
struct Filling {
    stop: Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Disk {
    /// Mounts an empty one in that folder.
    pub(super) fn mount(folder: &Path) -> io::Result<Self> {
        let size = CString::new(format!("size={BYTES}"))?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("tenure-sim", folder, "tmpfs", flags, size.as_c_str())?;
        Ok(Self { path: folder.to_owned(), filling: None })
    }

    /// Fills it, and keeps it full, as a program does that takes whatever space becomes free.
    pub(super) fn fills(&mut self) -> io::Result<()> {
        let path = self.path.join(FILLER);
        let filler = File::create(&path)?;
        fill(&filler)?;
        let (stop, stopped) = channel();
        let keep = move || {
            keep_full(&filler, &stopped);
            drop(filler);
            // The file system may be gone by then.
            let _ = fs::remove_file(path);
        };
        let thread = thread::Builder::new().name("filler".to_owned()).spawn(keep)?;
        self.filling = Some(Filling { stop, thread });
        Ok(())
    }

    /// True if it is kept full.
    pub(super) const fn is_full(&self) -> bool {
        self.filling.is_some()
    }

    /// Has space again, once this returns.
    pub(super) fn empties(&mut self) {
        let Some(Filling { stop, thread }) = self.filling.take() else { return };
        drop(stop);
        // It does not panic.
        let _ = thread.join();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.empties();
        // What is still open keeps it, and nothing else sees it.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
    }
}

/// Takes all space, down to the last page. That is quicker than to write as much.
fn fill(filler: &File) -> io::Result<()> {
    let mut length = BYTES;
    while length >= PAGE {
        match fallocate(filler, FallocateFlags::empty(), filler.metadata()?.len(), length) {
            Ok(()) => {}
            Err(Errno::NOSPC) => length /= 2,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn keep_full(filler: &File, stopped: &Receiver<Infallible>) {
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(FILLED_EVERY) {
        if fill(filler).is_err() {
            return;
        }
    }
}

/// Makes this process one that may mount file systems, if a fault of that store needs one: starts
/// its program again, in a mount namespace. Returns if there is no need, or the machine has no such
/// namespaces.
pub(super) fn prepare(target: Target) {
    if std::env::var_os(STARTED_AGAIN).is_some() || target != Target::Sqlite {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let unshare = |namespaces: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(namespaces).arg("--");
        command
    };
    for namespaces in NAMESPACES {
        let mut probe = unshare(namespaces);
        probe.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success()) {
            let mut again = unshare(namespaces);
            again.arg(&program).args(std::env::args_os().skip(1)).env(STARTED_AGAIN, "1");
            // It returns only if it has failed, and a plan that needs a mount is refused then.
            let _ = again.exec();
        }
    }
}

/// Refuses a plan that fills a file system, if this process may mount none.
pub(super) fn check(target: Target, plan: &Plan) -> Result<(), PlanError> {
    let kind = FaultKind::FillDisk;
    let Some(index) = plan.faults.iter().position(|fault| fault.kind() == kind) else {
        return Ok(());
    };
    let mounted = tempfile::tempdir().and_then(|folder| Disk::mount(folder.path()).map(drop));
    mounted.map_err(|_| {
        let why = "can't mount a file system to fill on this machine: that takes the program \
            'unshare' and user namespaces, or root with CAP_SYS_ADMIN";
        PlanError::Unsupported { index, kind, engine: target.engine(), why }
    })
}
