//! Idle connections that a device on the way has forgotten: whatever is sent on them is dropped without a word.

use std::time::Duration;

use tenure::store::AnyStore;
use tenure::store::postgres::Postgres;
use tenure_servers::Proxy;

use super::proxy;
use super::wakeup::{Counted, patient};
use crate::redis::support::Client;
use crate::support::{soon, start};
use crate::{etcd, postgres, redis};

/// The heartbeat comes every three of these, and has to be answered within one.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Ten times as long as all of that, and four times as long as that of HTTP/2.
const BOUND: Duration = Duration::from_secs(60);

/// Nothing but the heartbeat can notice it: leases last a minute here.
async fn a_standby_is_woken(direct: AnyStore, behind: AnyStore, proxy: Proxy) {
    let leader = start(direct, "leader", patient()).0;
    let first = soon(leader.elected()).await.unwrap();
    let store = Counted::new(behind);
    let standby = start(store.clone(), "standby", patient()).0;
    store.hints_above(0).await;
    let before = store.hints();
    assert!(proxy.half_open() > 0);
    let subscribed = tokio::time::timeout(BOUND, store.hints_above(before));
    subscribed.await.expect("a new subscription");
    soon(leader.resign()).await.unwrap();
    let second = tokio::time::timeout(BOUND, standby.elected()).await.expect("a handover");
    assert!(second.unwrap().token() > first.token());
}

async fn redis(client: Client) {
    let server = redis::support::server();
    let proxy = proxy(server.port()).await;
    let config = redis::support::local(proxy.port()).connect_timeout(CONNECT_TIMEOUT);
    a_standby_is_woken(client.at(server.port()), client.store(config), proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_rs_replaces_them() {
    redis(Client::RedisRs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fred_replaces_them() {
    redis(Client::Fred).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_replaces_them() {
    let server = postgres::support::server();
    let proxy = proxy(server.port()).await;
    let config = postgres::support::local(proxy.port()).connect_timeout(CONNECT_TIMEOUT);
    let direct = AnyStore::new(postgres::support::at(server.port()));
    a_standby_is_woken(direct, AnyStore::new(Postgres::new(config)), proxy).await;
}

/// The heartbeat is HTTP/2's here: every 10 s, to be answered within 5 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_replaces_them() {
    let server = etcd::support::server();
    let proxy = proxy(server.port()).await;
    let behind = AnyStore::new(etcd::support::at(&[proxy.port()]));
    a_standby_is_woken(AnyStore::new(etcd::support::at(&[server.port()])), behind, proxy).await;
}
