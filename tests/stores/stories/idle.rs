//! Idle connections that a device on the way has forgotten: whatever is sent on them is dropped
//! without a word.

use std::time::Duration;

use tenure::store::AnyStore;
use tenure::store::postgres::Postgres;
use tenure_servers::Proxy;

use super::server::{TestServer, proxy};
use super::servers;
use super::wakeup::{Counted, patient};
use crate::stores::redis::support::Client;
use crate::stores::support::{Log, soon, start};
use crate::stores::{postgres, redis};

/// The heartbeat comes every three of these, and has to be answered within one.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Ten times as long as all of that, and four times as long as that of HTTP/2.
const BOUND: Duration = Duration::from_secs(60);

/// Nothing but the heartbeat can notice it: leases last a minute here. The log, for the operator.
async fn a_standby_is_woken(direct: AnyStore, behind: AnyStore, proxy: Proxy) -> Log {
    let log = Log::default();
    let _logs = tracing::subscriber::set_default(log.clone());
    let leader = start(direct, "leader", patient()).0;
    let first = soon(leader.elected()).await.unwrap();
    let store = Counted::new(behind);
    let standby = start(store.clone(), "standby", patient()).0;
    store.hints_above(0).await;
    let before = store.hints();
    // A pause of the machine may just have cost the connection: the next one is soon there.
    soon(async {
        while proxy.half_open() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let subscribed = tokio::time::timeout(BOUND, store.hints_above(before));
    subscribed.await.expect("a new subscription");
    soon(leader.resign()).await.unwrap();
    let second = tokio::time::timeout(BOUND, standby.elected()).await.expect("a handover");
    assert!(second.unwrap().token() > first.token());
    log
}

/// Messages may have been missed too.
fn says_what_was_missed(log: &Log) {
    let log = log.text();
    let said = "WARN message=no answer on the connection for wake-ups, which is replaced";
    assert!(log.contains(said), "{log}");
}

async fn redis(client: Client) {
    let server = redis::support::server();
    let proxy = proxy(server.port()).await;
    let config = redis::support::local(proxy.port()).connect_timeout(CONNECT_TIMEOUT);
    let log = a_standby_is_woken(client.at(server.port()), client.store(config), proxy).await;
    says_what_was_missed(&log);
}

#[tokio::test]
async fn redis_rs_replaces_them() {
    redis(Client::RedisRs).await;
}

#[tokio::test]
async fn fred_replaces_them() {
    redis(Client::Fred).await;
}

#[tokio::test]
async fn postgres_replaces_them() {
    let server = postgres::support::server();
    let proxy = proxy(server.port()).await;
    let config = postgres::support::local(proxy.port()).connect_timeout(CONNECT_TIMEOUT);
    let direct = AnyStore::new(postgres::support::at(server.port()));
    let behind = AnyStore::new(Postgres::new(config));
    says_what_was_missed(&a_standby_is_woken(direct, behind, proxy).await);
}

/// The heartbeat is HTTP/2's here: every 10 s, to be answered within 5 s. On Kubernetes, a look on
/// the same connection may notice it too.
async fn over_http2(server: TestServer) {
    let proxy = server.proxy().await;
    a_standby_is_woken(server.store(), server.store_at(proxy.port()), proxy).await;
}

#[tokio::test]
async fn etcd_replaces_them() {
    over_http2(servers::etcd()).await;
}

#[tokio::test]
async fn kubernetes_replaces_them() {
    over_http2(servers::kubernetes()).await;
}
