//! An example as a process, and what it prints.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any step should take: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A command that runs the example of that name.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        path.is_file(),
        "{} is missing; build it with: cargo build --workspace --all-features --examples",
        path.display()
    );
    Command::new(path)
}

/// A running example, killed when the test is over.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Waits for a line with that text in it; the rest of that line.
    pub(crate) fn says(&self, text: &str) -> String {
        let (end, mut seen) = (Instant::now() + SOON, Vec::new());
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line with {text:?}, but {seen:?}"));
            if let Some((_, rest)) = line.split_once(text) {
                return rest.to_owned();
            }
            seen.push(line);
        }
    }

    /// Waits for a line with that text in it, and reads the number that follows.
    pub(crate) fn number(&self, text: &str) -> u64 {
        let rest = self.says(text);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().unwrap_or_else(|_| panic!("{text:?} is followed by {rest:?}"))
    }

    /// Everything that it has printed and that no test has read yet, once it has printed nothing
    /// for that long.
    pub(crate) fn is_silent_for(&self, time: Duration) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(time) {
                Ok(line) => seen.push(line),
                Err(RecvTimeoutError::Timeout) => return seen,
                Err(RecvTimeoutError::Disconnected) => panic!("it has ended after {seen:?}"),
            }
        }
    }

    /// The rest of the output of a program that has ended, or is about to.
    pub(crate) fn rest(&self) -> Vec<String> {
        self.lines.iter().collect()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    pub(crate) fn pause(&self) {
        tenure_servers::pause(&self.child).unwrap();
    }

    /// Asks it to end, as a container does, and waits for that.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.child.wait().unwrap()
    }
}

impl Program {
    /// The same for one that may hang: fails after [`SOON`].
    pub(crate) fn terminate_soon(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        let end = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it has not ended");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
