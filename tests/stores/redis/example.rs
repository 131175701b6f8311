//! The example `leader` as two processes, one of which takes over from the other.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure_servers::{RedisServer, Reply};

use super::support::{SOON, server};

const RECORD: &str = "{tenure}:leader:example";

/// A running example, killed when the test is over.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

pub(super) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        program.is_file(),
        "{} is missing; build it with: cargo build --release -p tenure --features redis --example {name}",
        program.display()
    );
    program
}

impl Process {
    fn start(server: &RedisServer, name: &str, ttl_ms: u64) -> Self {
        let mut child = Command::new(program("leader"))
            .args([&server.url(), name, "--ttl-ms", &ttl_ms.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
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

    /// Waits for a line of that kind; its token.
    fn token_of(&self, kind: &str) -> u64 {
        let line = self.line(kind);
        let token = line.split(' ').find_map(|word| word.strip_prefix("token="));
        token.expect("a token").parse().unwrap()
    }

    fn line(&self, kind: &str) -> String {
        let (end, mut seen) = (Instant::now() + SOON, Vec::new());
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line {kind:?}, but {seen:?}"));
            if line.split(' ').nth(1) == Some(kind) {
                return line;
            }
            seen.push(line);
        }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lease_end(server: &RedisServer) -> u64 {
    match server.command(&["HGET", RECORD, "lease_end"]).unwrap() {
        Reply::BulkString(micros) => String::from_utf8(micros).unwrap().parse().unwrap(),
        other => panic!("a record, and not {other:?}"),
    }
}

#[test]
fn a_killed_leader_is_replaced_at_lease_end() {
    const TTL_MS: u64 = 10_000;
    let server = server();
    let first = Process::start(&server, "first", TTL_MS);
    let before = first.token_of("elected");
    let second = Process::start(&server, "second", TTL_MS);
    assert_eq!(second.token_of("incumbent"), before);
    first.signal(Signal::KILL);
    thread::sleep(Duration::from_millis(100));
    let end = lease_end(&server);
    let after = second.token_of("elected");
    // A token is the server's clock at its grant.
    assert!(after > before && after >= end, "granted {} us before the end", end - after);
    assert!(after - end < TTL_MS * 1_000, "{} us after the end", after - end);
}

#[test]
fn a_terminated_process_hands_over_at_once() {
    let server = server();
    let start = |name| Process::start(&server, name, 20_000);
    let first = start("first");
    let before = first.token_of("elected");
    let mut second = start("second");
    assert_eq!(second.token_of("incumbent"), before);
    thread::sleep(Duration::from_millis(300));
    let mut tokens = vec![before];
    let mut leader = first;
    for name in ["third", "fourth"] {
        let end = lease_end(&server);
        leader.signal(Signal::TERM);
        leader.line("stopped");
        assert!(leader.child.wait().unwrap().success());
        let token = second.token_of("elected");
        assert!(token < end, "the lease was handed back, and did not run out");
        tokens.push(token);
        leader = second;
        second = start(name);
        assert_eq!(second.token_of("incumbent"), token);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[test]
fn bad_arguments_are_explained() {
    for arguments in [
        &[][..],
        &["redis://127.0.0.1:1"],
        &["http://127.0.0.1:1", "name"],
        &["redis://127.0.0.1:1", "name", "--ttl-ms", "5"],
        &["redis://127.0.0.1:1", "name", "--ttl", "5000"],
    ] {
        let output = Command::new(program("leader")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
    let secret = ["redis://u:correct-horse@host/x", "name"];
    let output = Command::new(program("leader")).args(secret).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("horse"));
}
