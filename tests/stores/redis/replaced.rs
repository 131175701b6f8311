//! Servers that replace each other more than once, while leases are left that the last of them does
//! not know.

use std::time::Duration;

use tenure::Token;
use tenure::store::contract::Stamp;
use tenure::store::{AnyStore, Reply, Request};
use tenure_servers::{RedisSentinels, RedisServer, Reply as Raw};

use super::sentinel::{answered, impatient, refuses_replicas, store};
use super::support::{PAST, RECORD, acquire, after_watching, release, soon};

/// The grant to a candidate that first has to watch the past, whose stamp is another than that one.
async fn granted_after_a_watch(
    store: &AnyStore,
    request: Request,
    before: Option<Stamp>,
) -> (Token, Stamp) {
    let shown = match answered(store, request.clone()).await {
        Reply::Not(shown) => shown,
        other => panic!("nothing is granted yet, and not {other:?}"),
    };
    let stamp = shown.sight.past.expect("the past is to be watched").stamp;
    assert_ne!(Some(stamp), before, "a new past");
    match answered(store, after_watching(&request, &shown)).await {
        Reply::Granted { token } => (token, stamp),
        other => panic!("granted, and not {other:?}"),
    }
}

fn text(reply: Raw) -> String {
    match reply {
        Raw::BulkString(text) => String::from_utf8(text).unwrap(),
        other => panic!("text, and not {other:?}"),
    }
}

fn run_id(server: &RedisServer) -> String {
    let info = text(server.command(&["INFO", "server"]).unwrap());
    info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap().to_owned()
}

/// So many servers with a sentinel that replaces the second one soon after the first.
fn watched(servers: usize) -> RedisSentinels {
    let watched = RedisSentinels::start(servers - 1, 1, &[]).unwrap();
    let set = ["SENTINEL", "SET", RedisSentinels::NAME, "failover-timeout", "1000"];
    watched.sentinel(0).command(&set).unwrap();
    watched
}

/// A tenure that was handed back at the first server, as all of them know.
async fn past_tenure(store: &AnyStore, watched: &RedisSentinels, servers: usize) -> Token {
    let Reply::Granted { token } = answered(store, acquire(1, None)).await else {
        panic!("an empty server is trusted")
    };
    // An attempt whose answer was lost may have released it.
    let released = answered(store, release(1, token)).await;
    assert!(matches!(released, Reply::Released | Reply::NotHeld), "{released:?}");
    soon(async {
        let is_released = |number| {
            let found = watched.server(number).command(&["HGET", RECORD, "released"]).unwrap();
            found == Raw::BulkString(b"1".to_vec())
        };
        while !(0..servers).all(is_released) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    token
}

/// A, then B, then A again, which has missed what B granted. Its process and its past are those of
/// before: only the replication id tells that it was no primary in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_back_makes_the_next_leader_wait() {
    let mut watched = watched(2);
    let store = store(impatient(&watched.ports()));
    let first = past_tenure(&store, &watched, 2).await;
    watched.server(0).pause().unwrap();
    assert_eq!(watched.replaced(0).unwrap(), 1);
    refuses_replicas(watched.server(1));
    watched.server(0).resume().unwrap();
    // As the sentinel has it done a while later.
    let port = watched.server(1).port().to_string();
    watched.server(0).command(&["REPLICAOF", "127.0.0.1", &port]).unwrap();

    let (lost, at_b) = granted_after_a_watch(&store, acquire(2, Some(first)), None).await;
    watched.server_mut(1).kill().unwrap();
    assert_eq!(watched.replaced(1).unwrap(), 0);
    let past = watched.server(0).command(&["HGET", PAST, "identity"]).unwrap();
    assert!(text(past).starts_with(&run_id(watched.server(0))), "its own, and of before");

    let (token, _) = granted_after_a_watch(&store, acquire(3, Some(first)), Some(at_b)).await;
    assert!(token > lost, "{token} is granted after {lost}");
}

/// A, then B, then C. The lease that B granted is not given back, and C knows it or not.
async fn replaced_twice(c_follows: bool) {
    let mut watched = watched(3);
    let store = store(impatient(&watched.ports()));
    let first = past_tenure(&store, &watched, 3).await;
    watched.server_mut(0).kill().unwrap();
    let b = watched.replaced(0).unwrap();
    let c = 3 - b;
    watched.server(c).follows().unwrap();
    if !c_follows {
        refuses_replicas(watched.server(b));
    }
    let (at_b, past) = granted_after_a_watch(&store, acquire(2, Some(first)), None).await;
    if c_follows {
        soon(async {
            let token = Raw::BulkString(at_b.to_string().into_bytes());
            while watched.server(c).command(&["HGET", RECORD, "token"]).unwrap() != token {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    watched.server_mut(b).kill().unwrap();
    assert_eq!(watched.replaced(b).unwrap(), c);

    let number = if c_follows { 2 } else { 3 };
    let request = acquire(number, Some(first));
    let (token, _) = granted_after_a_watch(&store, request, Some(past)).await;
    if c_follows {
        // The holder itself has to watch, too: leases that A granted may be left, and others that B
        // granted.
        assert_eq!(token, at_b);
    } else {
        assert!(token > at_b, "{token} is granted after {at_b}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_failover_makes_another_past() {
    replaced_twice(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_failover_that_lost_a_grant() {
    replaced_twice(false).await;
}
