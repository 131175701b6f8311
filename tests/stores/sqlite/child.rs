//! Tests that run in a process of their own: this program again, with the name of one test.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

const FILE: &str = "TENURE_SQLITE_FILE";

/// The file that a process which is a child is to use; `None` in the test program itself.
pub(crate) fn file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}

/// The command that runs an ignored test of this program, named by its path from here, on that
/// file.
pub(crate) fn command(test: &str, file: &Path) -> Command {
    of(Command::new(std::env::current_exe().unwrap()), test, file)
}

/// The same in a mount namespace, after that shell script, whose `$1` is the folder.
pub(crate) fn after_mounting(script: &str, test: &str, folder: &Path, file: &Path) -> Command {
    let mut command = unshare("--mount");
    command.args(["sh", "-ec", &format!("{script}\nshift\nexec \"$@\""), "sh"]).arg(folder);
    command.arg(std::env::current_exe().unwrap());
    of(command, test, file)
}

/// The same in another time namespace, where the host has been up for a day longer.
pub(crate) fn at_another_time(test: &str, file: &Path) -> Command {
    let mut command = unshare("--time");
    command.args(["--boottime", "86400"]).arg(std::env::current_exe().unwrap());
    of(command, test, file)
}

/// Needs util-linux, and no rights.
fn unshare(what: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--fork", what]);
    command
}

fn of(mut command: Command, test: &str, file: &Path) -> Command {
    let test = format!("stores::sqlite::{test}");
    command.args(["--exact", &test, "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(FILE, file).stdin(Stdio::null());
    command
}

/// Runs such a command to its end, and fails if it fails.
pub(crate) fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && out.contains("1 passed"), "{command:?}:\n{out}\n{err}");
}

/// A process that reports line by line, and is killed with SIGKILL when this is dropped.
pub(crate) struct Teller {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Teller {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The rest of the next line that begins with that word; `None` once the process has ended.
    pub(crate) fn reported(&mut self, word: &str) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix(word).map(|rest| rest.trim().to_owned()))
    }

    pub(crate) fn pause(&self) {
        tenure_servers::pause(&self.process).unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
