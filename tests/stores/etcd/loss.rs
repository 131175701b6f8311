//! Clusters that have lost something.

use std::process::Command;

use tenure::Token;
use tenure::store::{Reply, Request};

use tenure_servers::EtcdServer;

use super::support::{acquire, after_watching, answered, at, call, granted, held, release, server};

/// With the token of the old cluster it has the same identity, and keeps every key that it had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_snapshot_is_detected_by_its_log() {
    let mut server = server();
    // A log of some length: the new one is soon as long as a very short one.
    for _ in 0..100 {
        server.api("lease/grant", r#"{"TTL":60}"#).unwrap();
    }
    let store = at(&[server.port()]);
    let first = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
    let folder = std::env::temp_dir().join(format!("tenure-etcd-snapshot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let snapshot = folder.join("snapshot");
    let etcdctl = || {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3");
        command
    };
    let endpoint = format!("127.0.0.1:{}", server.port());
    let saved =
        etcdctl().args(["--endpoints", &endpoint, "snapshot", "save"]).arg(&snapshot).output();
    let saved = saved.expect("etcdctl; install it with: apt-get install etcd-client");
    assert!(saved.status.success(), "{saved:?}");

    // Granted after the snapshot, and lost with all that.
    let second = granted(&store, acquire(2, Some(first))).await;
    let url = server.peer_url();
    let mut restore = etcdctl();
    restore.args(["snapshot", "restore"]).arg(&snapshot).args(["--name", "one"]);
    restore.args(["--initial-advertise-peer-urls", &url]);
    restore.args(["--initial-cluster", &format!("one={url}"), "--data-dir"]);
    server.restart_from(&mut restore).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();

    // A candidate that knows no more than the snapshot.
    let request = acquire(3, Some(first));
    let reply = answered(&store, request.clone()).await;
    let Reply::Not(shown) = reply else { panic!("{reply:?}") };
    assert!(shown.sight.past.is_some(), "{shown:?}");
    let third = granted(&store, after_watching(&request, &shown)).await;
    assert!(third > second, "{third} is granted after {second}");
}

/// The revisions of a new cluster begin again, so that another tenure's key may have the revision
/// of one that a store remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_release_ends_no_lease_of_the_next_cluster() {
    let mut server = server();
    let (old, new) = (at(&[server.port()]), at(&[server.port()]));
    // A grant to a candidate that knows of a lost tenure, and so is not trusted at once, as the
    // next one is.
    let request = acquire(1, Token::new(1));
    let reply = answered(&old, request.clone()).await;
    let Reply::Not(shown) = reply else { panic!("{reply:?}") };
    let first = granted(&old, after_watching(&request, &shown)).await;
    let created = created(&server);
    server.restart_empty().unwrap();
    let request = acquire(2, Some(first));
    let reply = answered(&new, request.clone()).await;
    let Reply::Not(shown) = reply else { panic!("{reply:?}") };
    let second = granted(&new, after_watching(&request, &shown)).await;
    assert_eq!(self::created(&server), created, "the same revision again");
    assert_eq!(answered(&old, release(1, first)).await, Reply::NotHeld);
    assert_eq!(held(&new, Request::Observe).await.token, second);
}

/// The create revision of the election's key.
fn created(server: &EtcdServer) -> String {
    let found = server.api("kv/range", r#"{"key":"dGVudXJlL2xlYWRlci9qb2I="}"#).unwrap();
    found["kvs"][0]["create_revision"].as_str().unwrap().to_owned()
}
