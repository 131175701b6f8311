//! The properties of etcd servers that tests rely on.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

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

#[test]
fn the_leader_is_found_moved_and_replaced() {
    let fast = ["--heartbeat-interval", "20", "--election-timeout", "200"];
    let mut cluster = EtcdCluster::start(3, &fast).unwrap();
    assert_eq!((cluster.size(), cluster.ports().len()), (3, 3));
    for number in 0..3 {
        cluster.move_leader(number).unwrap();
        assert_eq!(cluster.leader(number).unwrap(), number);
    }
    cluster.member(2).kill().unwrap();
    let bound = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while cluster.leader(0).unwrap() == 2 {
        assert!(std::time::Instant::now() < bound, "the others have no new leader");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    cluster.member(2).rejoin().unwrap();
    assert_ne!(cluster.leader(2).unwrap(), 2);
}
