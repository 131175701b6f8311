//! The README's program as a process, with its store cut off.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tenure::Config;
use tenure_servers::{Flow, Proxy};

use super::example::program;
use super::support::{SOON, server};

/// A running program, killed when the test is over, and the token of each line that it prints.
struct Program {
    child: Child,
    tokens: Receiver<u64>,
}

impl Program {
    fn start(port: u16) -> Self {
        let mut child = Command::new(program("nightly_report"))
            .env("REDIS_URL", format!("redis://127.0.0.1:{port}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, tokens) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line.parse().unwrap());
            }
        });
        Self { child, tokens }
    }

    fn token(&self) -> u64 {
        self.tokens.recv_timeout(SOON).expect("it leads and works")
    }

    /// Waits until nothing was written for that long.
    fn is_silent_for(&self, time: Duration) {
        while self.tokens.recv_timeout(time) != Err(RecvTimeoutError::Timeout) {}
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readme_program_leads_again_after_an_outage() {
    let server = server();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let mut program = Program::start(proxy.port());
    let before = program.token();
    proxy.set(Flow::BlackHole);
    // Then its claim is over.
    program.is_silent_for(Config::fast_failover().validity());
    proxy.cut();
    proxy.set(Flow::Forward);
    let after = program.token();
    assert!(after > before, "another tenure");

    let id = i32::try_from(program.child.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    assert!(program.child.wait().unwrap().success());
    let released = server.command(&["HGET", "{tenure}:leader:nightly-report", "released"]).unwrap();
    assert_eq!(released, tenure_servers::Reply::BulkString(b"1".to_vec()), "handed back");
}

#[test]
fn the_readme_shows_the_example() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let read = |path: &str| fs::read_to_string(format!("{root}/{path}")).unwrap();
    let (readme, example) = (read("README.md"), read("tenure/examples/nightly_report.rs"));
    let block = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(block.contains("run_until") && example.contains(block), "{block}");
}
