//! The example `leader` as two processes, one of which takes over from the other.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tenure_servers::{RedisServer, Reply, SilentNames};

use super::program::{Program, example};

const RECORD: &str = "{tenure}:leader:example";

fn start(server: &RedisServer, name: &str, ttl_ms: u64) -> Program {
    let ttl_ms = ttl_ms.to_string();
    Program::start(example("leader").args([&server.url(), name, "--ttl-ms", &ttl_ms]))
}

/// The end of the lease unless it is renewed, on the server's clock.
fn lease_end(server: &RedisServer) -> u64 {
    let micros = |field| match server.command(&["HGET", RECORD, field]).unwrap() {
        Reply::BulkString(micros) => String::from_utf8(micros).unwrap().parse::<u64>().unwrap(),
        other => panic!("a record, and not {other:?}"),
    };
    micros("written") + micros("ttl")
}

#[test]
fn a_killed_leader_is_replaced_at_lease_end() {
    const TTL_MS: u64 = 10_000;
    let server = RedisServer::start().unwrap();
    let first = start(&server, "first", TTL_MS);
    let before = first.number("elected token=");
    let second = start(&server, "second", TTL_MS);
    assert_eq!(second.number("incumbent token="), before);
    first.signal(Signal::KILL);
    thread::sleep(Duration::from_millis(100));
    let end = lease_end(&server);
    let after = second.number("elected token=");
    // A token is the server's clock at its grant.
    assert!(after > before && after >= end, "granted {} us before the end", end - after);
    assert!(after - end < TTL_MS * 1_000, "{} us after the end", after - end);
}

#[test]
fn a_terminated_process_hands_over_at_once() {
    let server = RedisServer::start().unwrap();
    let start = |name| start(&server, name, 20_000);
    let first = start("first");
    let before = first.number("elected token=");
    let mut second = start("second");
    assert_eq!(second.number("incumbent token="), before);
    thread::sleep(Duration::from_millis(300));
    let mut tokens = vec![before];
    let mut leader = first;
    for name in ["third", "fourth"] {
        let end = lease_end(&server);
        assert!(leader.terminate().success());
        leader.says("stopped after");
        let token = second.number("elected token=");
        assert!(token < end, "the lease was handed back, and did not run out");
        tokens.push(token);
        leader = second;
        second = start(name);
        assert_eq!(second.number("incumbent token="), token);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

/// Its lookups never end, and can't be cancelled.
#[test]
fn a_silent_name_server_holds_up_no_exit() {
    let names = SilentNames::start().unwrap();
    let mut command = example("leader");
    names.silence(command.args(["redis://store.example.org", "first"]));
    let mut leader = Program::start(&mut command);
    // By then it has asked for the address.
    thread::sleep(Duration::from_secs(1));
    leader.terminate_soon();
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
        let output = example("leader").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
    let secret = ["redis://u:correct-horse@host/x", "name"];
    let output = example("leader").args(secret).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("horse"));
}
