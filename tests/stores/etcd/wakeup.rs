//! Who waits is woken, across everything that a connection can meet.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::Config;
use tenure::store::Store;
use tenure_servers::{Flow, Proxy};

use super::support::{acquire_for, answered, at, granted, job, patient, server, soon, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_runs_out_hints_too() {
    let server = server();
    let store = at(&[server.port()]);
    granted(&store, acquire_for(1, None, Duration::from_secs(2))).await;
    let mut hints = pin!(store.hints(&job()));
    for why in ["the watch has begun", "the lease has ended"] {
        assert!(soon(hints.next()).await.is_some(), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let server = server();
    let one = start(at(&[server.port()]), "one", patient()).0;
    let first = soon(one.elected()).await.unwrap();
    let two = start(at(&[server.port()]), "two", patient()).0;
    soon(async { while two.incumbent().await.unwrap().is_none() {} }).await;
    soon(one.stop()).await.unwrap();
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_while_the_standby_is_cut_off_is_found_on_reconnecting() {
    let mut server = server();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let leader = start(at(&[server.port()]), "leader", patient()).0;
    let first = soon(leader.elected()).await.unwrap();
    let standby = start(at(&[proxy.port()]), "standby", patient()).0;
    assert!(soon(standby.incumbent()).await.unwrap().is_some());
    proxy.refuse(true);
    proxy.cut();
    soon(leader.stop()).await.unwrap();
    // A watch that asked for the past would ask for what is no longer there.
    let request = r#"{"revision":"REVISION","physical":true}"#;
    let revision = server.api("kv/range", r#"{"key":"Zm9v"}"#).unwrap();
    let revision = revision["header"]["revision"].as_str().unwrap();
    server.api("kv/compaction", &request.replace("REVISION", revision)).unwrap();
    server.restart().unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!standby.is_leader());
    proxy.refuse(false);
    assert!(soon(standby.elected()).await.unwrap().token() > first.token());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_go_on_over_a_new_connection() {
    let server = server();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let (store, waits) = (at(&[server.port()]), at(&[proxy.port()]));
    let (token, _) = granted(&store, acquire_for(1, None, Duration::from_secs(60))).await;
    let mut hints = pin!(waits.hints(&job()));
    assert!(soon(hints.next()).await.is_some());
    proxy.cut();
    assert!(soon(hints.next()).await.is_some(), "it is watched again");
    answered(&store, super::support::release(1, token)).await;
    assert!(soon(hints.next()).await.is_some(), "it was released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_hint_costs_a_poll_bound_at_most() {
    let server = server();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let leader = start(at(&[server.port()]), "leader", patient()).0;
    soon(leader.elected()).await.unwrap();
    let often = Config::builder(Duration::from_secs(60))
        .poll_bound(Duration::from_secs(1))
        .request_timeout(Duration::from_millis(500))
        .build()
        .unwrap();
    let standby = start(at(&[proxy.port()]), "standby", often).0;
    assert!(soon(standby.incumbent()).await.unwrap().is_some());
    // Nothing comes through, and nobody is told.
    proxy.set_replies(Flow::BlackHole);
    soon(leader.stop()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!standby.is_leader());
    proxy.set_replies(Flow::Forward);
    soon(standby.elected()).await.unwrap();
}
