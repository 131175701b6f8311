//! The properties of etcd servers that tests rely on.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

use std::thread;
use std::time::{Duration, Instant};

use tenure_servers::{EtcdCluster, EtcdServer};

/// `foo`, as the gateway wants it.
const KEY: &str = r#"{"key":"Zm9v"}"#;

fn count(server: &EtcdServer) -> Option<String> {
    server.api("kv/range", KEY).unwrap()["count"].as_str().map(str::to_owned)
}

#[test]
fn a_restart_keeps_a_members_data() {
    let mut server = EtcdServer::start().unwrap();
    server.api("kv/put", r#"{"key":"Zm9v","value":"YmFy"}"#).unwrap();
    let port = server.port();
    server.restart().unwrap();
    assert_eq!(server.port(), port);
    assert_eq!(count(&server).as_deref(), Some("1"));
    server.restart_empty().unwrap();
    assert_eq!(count(&server), None);
    server.api("kv/no-such", "{}").unwrap_err();
}

/// Asks until it is so: on a slow machine, the members may elect another leader at any time.
fn soon(is_so: impl Fn() -> bool) {
    let bound = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < bound, "the members have another leader");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_leader_is_found_moved_and_replaced() {
    let mut cluster = EtcdCluster::start(3, &[]).unwrap();
    assert_eq!((cluster.size(), cluster.ports().len()), (3, 3));
    for number in 0..3 {
        soon(|| {
            cluster.move_leader(number).unwrap();
            cluster.leader(number).unwrap() == number
        });
    }
    cluster.member(2).kill().unwrap();
    soon(|| cluster.leader(0).unwrap() != 2);
    cluster.member(2).rejoin().unwrap();
    assert_ne!(cluster.leader(2).unwrap(), 2);
}
