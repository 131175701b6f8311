//! Redis servers start, stop, restart, and leave nothing behind.

// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use tenure_servers::{RedisCluster, RedisSentinels, RedisServer, Reply};

fn status(text: &str) -> Reply {
    Reply::SimpleString(text.into())
}

fn bulk(text: &str) -> Reply {
    Reply::BulkString(text.into())
}

/// The value of one line of INFO.
fn info(server: &RedisServer, field: &str) -> String {
    let Reply::BulkString(text) = server.command(&["INFO"]).unwrap() else {
        panic!("INFO is a bulk string")
    };
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {text}")).to_owned()
}

fn is_alive(pid: u32) -> bool {
    Command::new("kill").args(["-0", &pid.to_string()]).output().unwrap().status.success()
}

#[test]
fn a_server_restarts_empty_and_dies_on_drop() {
    let mut server = RedisServer::start().unwrap();
    assert_eq!(server.command(&["PING"]).unwrap(), status("PONG"));
    assert_eq!(server.command(&["SET", "a", "b"]).unwrap(), status("OK"));
    assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    let (port, pid, run_id) = (server.port(), server.pid().unwrap(), info(&server, "run_id"));
    assert_eq!(info(&server, "process_id"), pid.to_string());

    server.restart().unwrap();
    assert!(!is_alive(pid));
    assert_eq!(server.port(), port);
    assert_ne!(info(&server, "run_id"), run_id);
    assert_eq!(server.command(&["GET", "a"]).unwrap(), Reply::Null);

    server.kill().unwrap();
    assert!(server.pid().is_none());
    server.command(&["PING"]).unwrap_err();
    server.pause().unwrap_err();

    server.restart().unwrap();
    let pid = server.pid().unwrap();
    drop(server);
    assert!(!is_alive(pid));
}

#[test]
fn arguments_reach_the_server_again_after_restarts() {
    let mut server = RedisServer::start_with(&[
        "--maxmemory-policy",
        "allkeys-lru",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ])
    .unwrap();
    assert_eq!(info(&server, "maxmemory_policy"), "allkeys-lru");
    server.command(&["SET", "a", "b"]).unwrap();
    server.restart().unwrap();
    assert_eq!(server.command(&["GET", "a"]).unwrap(), bulk("b"));
}

#[test]
fn a_paused_server_answers_only_after_it_resumes() {
    let server = RedisServer::start().unwrap();
    server.pause().unwrap();
    let started = Instant::now();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            server.resume().unwrap();
        });
        assert_eq!(server.command(&["PING"]).unwrap(), status("PONG"));
    });
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_paused_server_stands_still() {
    let server = RedisServer::start().unwrap();
    let pid = server.pid().unwrap();
    for _ in 0..50 {
        server.pause().unwrap();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let stats =
            threads.map(|one| fs::read_to_string(one.unwrap().path().join("stat")).unwrap());
        let stats: Vec<_> = stats.collect();
        assert!(!stats.is_empty() && stats.iter().all(|stat| stat.contains(") T ")), "{stats:?}");
        server.resume().unwrap();
    }
}

#[test]
fn a_server_that_refuses_its_arguments_says_why() {
    let error = RedisServer::start_with(&["--no-such-option", "1"]).unwrap_err().to_string();
    assert!(error.contains("no-such-option"), "{error}");
}

#[test]
fn sentinels_replace_a_primary_that_dies() {
    let mut watched = RedisSentinels::start(1, 1, &[]).unwrap();
    assert_eq!(watched.primary().unwrap(), Some(0));
    assert_eq!(watched.server(0).command(&["SET", "a", "b"]).unwrap(), status("OK"));
    // Not WAIT: it knows of what its own connection has written.
    let arrives_by = Instant::now() + Duration::from_secs(60);
    while watched.server(1).command(&["GET", "a"]).unwrap() != bulk("b") {
        assert!(Instant::now() < arrives_by, "the replica follows");
        std::thread::sleep(Duration::from_millis(5));
    }
    watched.server_mut(0).kill().unwrap();
    assert_eq!(watched.replaced(0).unwrap(), 1);
    assert_eq!(watched.server(1).command(&["GET", "a"]).unwrap(), bulk("b"));
}

#[test]
fn a_replica_replaces_its_primary_in_a_cluster() {
    let mut cluster = RedisCluster::start(3, 1).unwrap();
    let key = (0..1000)
        .map(|number| format!("key-{number}"))
        .find(|key| cluster.owner(key, 1).unwrap() == 0)
        .unwrap();
    assert_eq!(cluster.node(0).command(&["SET", &key, "b"]).unwrap(), status("OK"));
    let Reply::Error(elsewhere) = cluster.node(1).command(&["GET", &key]).unwrap() else {
        panic!("it is kept by another node")
    };
    let (slot, port) = (cluster.slot(&key, 2).unwrap(), cluster.ports()[0]);
    assert_eq!(elsewhere, format!("MOVED {slot} 127.0.0.1:{port}"));
    cluster.node_mut(0).kill().unwrap();
    assert_eq!(cluster.replaced(&key, 0).unwrap(), 3);
}
