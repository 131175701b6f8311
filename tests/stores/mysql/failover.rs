//! Servers that crash, follow, and come back with older data, under a leader.

use std::time::Duration;

use tenure::store::mysql::Mysql;
use tenure::store::{AnyStore, Key, Reply, Request, Store, StoreErrorKind};
use tenure::{Candidate, Config, Token};
use tenure_servers::{MariadbServer, Proxy};

use super::support::{
    Watch, acquire, at, call, granted, granted_after_a_watch, is_unwatched, local, release, server,
    soon, start,
};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

fn candidate(port: u16, name: &str) -> Candidate {
    start(at(port), name, quick()).0
}

/// Whatever the server's settings of durability: a MEMORY table is empty after each start.
#[tokio::test]
async fn a_crash_is_noticed_without_durable_commits() {
    let mut server = MariadbServer::start_with(&["--innodb-flush-log-at-trx-commit=0"]).unwrap();
    let first = granted(&at(server.port()), acquire(1, None)).await;
    server.restart().unwrap();
    // It may have lost the grant, and may not.
    let store = Mysql::new(local(server.port()));
    assert!(is_unwatched(&store, acquire(2, None)).await);
    let lost = granted_after_a_watch(&store, acquire(3, Some(first))).await;
    assert!(lost >= first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_replica_makes_the_next_leader_wait() {
    let mut primary = MariadbServer::start_with(&["--log-bin", "--server-id=1"]).unwrap();
    let mut replica = primary.replica(&["--server-id=2"]).unwrap();
    let proxy = Proxy::start(([127, 0, 0, 1], primary.port()).into()).await.unwrap();
    let one = candidate(proxy.port(), "one");
    let first = soon(one.elected()).await.unwrap();
    // The row of the MEMORY table is replicated, and names the primary.
    soon(async {
        let count = "SELECT COUNT(*) FROM tenure_leases_boot";
        while !replica.sql(count).is_ok_and(|rows| rows == "1") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let two = start(Mysql::new(local(replica.port())), "two", quick()).0;
    let watch = Watch::over(&[&one, &two]);
    // Also where the user may write in spite of it.
    let refused = call(&at(replica.port()), Request::Observe).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::NotPrimary, "{refused}");
    assert!(!two.is_leader());
    primary.kill().unwrap();
    replica.promote().unwrap();
    // The primary's elections trusted its past, which was replicated.
    let (fresh, other) = (Mysql::new(local(replica.port())), Key::new("another").unwrap());
    let reply = fresh.call(&other, acquire(3, None)).await.unwrap();
    assert!(matches!(&reply, Reply::Not(shown) if shown.sight.past.is_some()), "{reply:?}");
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    watch.nobody_overlapped();
}

/// A connection that was open when its server was demoted.
#[tokio::test]
async fn a_demoted_server_grants_nothing() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    server.sql("SET GLOBAL read_only = 1").unwrap();
    let error = call(&store, acquire(2, Some(token))).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotPrimary, "{error}");
}

/// The token of a grant that the server forgets, and a store at the server that has forgotten it.
async fn forgets(restore: impl FnOnce(&mut MariadbServer)) -> (Token, AnyStore, MariadbServer) {
    let mut server = server();
    let store = at(server.port());
    let first = granted(&store, acquire(1, None)).await;
    call(&store, release(1, first)).await.unwrap();
    server.back_up().unwrap();
    let store = at(server.port());
    // The start was noticed, and is watched out.
    let second = granted_after_a_watch(&store, acquire(2, Some(first))).await;
    assert!(second > first);
    restore(&mut server);
    (second, AnyStore::new(Mysql::new(local(server.port()))), server)
}

#[tokio::test]
async fn a_restored_backup_is_noticed() {
    let (second, store, _server) = forgets(|server| server.restore().unwrap()).await;
    // It knows nothing of the lost grant, and the server shows a lease that was given back.
    assert!(is_unwatched(&store, acquire(3, Some(Token::new(second.get() - 1).unwrap()))).await);
    assert!(granted_after_a_watch(&store, acquire(4, Some(second))).await > second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_never_make_two_leaders() {
    let mut server = server();
    let pair = ["one", "two"].map(|name| candidate(server.port(), name));
    let watch = Watch::over(&[&pair[0], &pair[1]]);
    for _ in 0..3 {
        super::support::one_leads([&pair[0], &pair[1]], None).await;
        server.restart().unwrap();
    }
    super::support::one_leads([&pair[0], &pair[1]], None).await;
    watch.nobody_overlapped();
}
