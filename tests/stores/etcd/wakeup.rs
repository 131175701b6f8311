//! Hints that only etcd gives, or only etcd can lose.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Store, Watched};
use tenure_servers::Proxy;

use super::support::{acquire_for, at, granted, job, patient, server, soon, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_runs_out_hints_too() {
    let server = server();
    let store = at(&[server.port()]);
    let mut hints = pin!(store.hints(Watched::only([job()])));
    assert!(soon(hints.next()).await.is_some(), "the watch has begun");
    granted(&store, acquire_for(1, None, Duration::from_secs(2))).await;
    assert!(soon(hints.next()).await.is_some(), "the lease has ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_during_a_disconnection_hides_no_release() {
    let mut server = server();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let leader = start(at(&[server.port()]), "leader", patient()).0;
    let first = soon(leader.elected()).await.unwrap();
    let standby = start(at(&[proxy.port()]), "standby", patient()).0;
    assert!(soon(standby.incumbent()).await.unwrap().is_some());
    proxy.refuse(true);
    proxy.cut();
    soon(leader.stop()).await.unwrap();
    // A watch from an old revision would now ask for one that is compacted.
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
