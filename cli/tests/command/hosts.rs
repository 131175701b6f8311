//! Hosts: processes of `tenure run` that share a store.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Far longer than any step should take: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Variables in which `tenure doctor` sees a server that might have been meant.
const SERVERS: [&str; 8] = [
    "REDIS_URL",
    "REDIS_HOST",
    "VALKEY_URL",
    "DATABASE_URL",
    "POSTGRES_URL",
    "PGHOST",
    "ETCDCTL_ENDPOINTS",
    "KUBERNETES_SERVICE_HOST",
];

/// A place for the files of one test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, with this place for the user's own file, and no setting of the test's
    /// environment.
    pub(crate) fn tenure(&self) -> Command {
        self.alone(Command::new(env!("CARGO_BIN_EXE_tenure")))
    }

    /// A shell in this place, with the same environment, that knows `tenure` by its name.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let tenure = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
        let path = format!("{}:{}", tenure.display(), std::env::var("PATH").unwrap());
        let mut shell = self.alone(Command::new("sh"));
        shell.args(["-c", script]).env("PATH", path).env("HOME", self.0.path());
        shell.current_dir(self.0.path()).stdin(Stdio::null());
        shell
    }

    fn alone(&self, mut command: Command) -> Command {
        let names_store = |name: &str| name.starts_with("TENURE_") || SERVERS.contains(&name);
        for name in std::env::vars().map(|(name, _)| name).filter(|name| names_store(name)) {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", self.0.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.tenure().args(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Its status.
    pub(crate) fn status(&self, arguments: &[&str]) -> i32 {
        self.output(arguments).status.code().unwrap()
    }
}

pub(crate) fn example(name: &str) -> PathBuf {
    let tenure = Path::new(env!("CARGO_BIN_EXE_tenure"));
    let path = tenure.parent().unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is missing; cargo builds it with the tests", path.display());
    path
}

/// A running `tenure`, killed when the test is over.
pub(crate) struct Host(pub(crate) Child);

impl Host {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.id(), signal);
    }

    /// Its status, once it has ended by itself, as shells show it.
    pub(crate) fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until("the end of tenure", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        status.code().or_else(|| status.signal().map(|signal| 128 + signal))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Host {
    /// Its guard ends the command.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group (cgroup v2) of a host's own. That of version 1 is no such thing: SIGKILL does not
/// reach what it has frozen.
pub(crate) struct Group(PathBuf);

impl Group {
    /// `None` where the user may not make one below that of this process.
    pub(crate) fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("tenure-test-{}-{number}", std::process::id());
        let usable = |mount: &str| {
            let group = Path::new(mount).join(own).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            let files = ["cgroup.freeze", "cgroup.kill", "../cgroup.procs"];
            let is_usable = |file| File::options().write(true).open(group.0.join(file)).is_ok();
            files.into_iter().all(is_usable).then_some(group)
        };
        ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].into_iter().find_map(usable)
    }

    /// The same command, in this group from its beginning.
    pub(crate) fn holds(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 0 > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
    }

    pub(crate) fn freeze(&self, freezes: bool) {
        self.set_frozen(freezes).unwrap();
    }

    fn set_frozen(&self, is_frozen: bool) -> io::Result<()> {
        let mut file = File::options().write(true).open(self.0.join("cgroup.freeze"))?;
        file.write_all(if is_frozen { b"1" } else { b"0" })
    }
}

impl Drop for Group {
    /// Waits for the end of the processes that a host has left.
    fn drop(&mut self) {
        let _ = self.set_frozen(false);
        let end = Instant::now() + SOON / 10;
        while self.0.exists() && Instant::now() < end {
            // What a test that failed has left would run for ever.
            if Instant::now() + SOON / 20 > end
                && let Ok(mut file) = File::options().write(true).open(self.0.join("cgroup.kill"))
            {
                let _ = file.write_all(b"1");
            }
            // Where supervisor and reaper were killed, nobody has removed the command's.
            for inner in fs::read_dir(&self.0).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(inner.path());
            }
            if fs::remove_dir(&self.0).is_err() {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// A process that has ended is no error.
pub(crate) fn send(process: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(process), signal);
}

/// True if a process is there and not a zombie.
pub(crate) fn lives(process: i32) -> bool {
    stat(process).is_some_and(|words| !matches!(words[0].as_str(), "Z" | "X"))
}

pub(crate) fn is_stopped(process: i32) -> bool {
    stat(process).is_some_and(|words| words[0] == "T")
}

pub(crate) fn parent(process: i32) -> Option<i32> {
    stat(process)?[1].parse().ok()
}

/// The process of `tenure run` that has that guard, which is the parent of its command.
pub(crate) fn supervisor(guard: i32) -> Option<i32> {
    parent(parent(guard)?)
}

/// The words of a process's line in `/proc`, from its state on.
fn stat(process: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(ToOwned::to_owned).collect())
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {SOON:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
