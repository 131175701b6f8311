//! Clusters that have lost something.

use std::process::Command;
use std::time::Duration;

use tenure::store::etcd::Etcd;
use tenure::store::{Reply, Request};

use tenure_servers::EtcdServer;

use super::support::{
    TTL, acquire, acquire_for, answered, at, call, granted, held, local, release, server,
};

/// All of a quarantine, but for what a slow machine took.
fn is_whole(wait: Duration) {
    assert!((TTL / 2..=TTL).contains(&wait), "{wait:?}");
}

/// With the token of the old cluster it has the same identity, and keeps every key that it had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_snapshot_is_detected_by_its_log() {
    let mut server = server();
    // A log of some length: the new one is soon as long as a very short one.
    for _ in 0..100 {
        server.api("lease/grant", r#"{"TTL":60}"#).unwrap();
    }
    let store = at(&[server.port()]);
    let (first, wait) = granted(&store, acquire(1, None)).await;
    assert_eq!(wait, Duration::ZERO);
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
    let (second, _) = granted(&store, acquire(2, Some(first))).await;
    let url = server.peer_url();
    let mut restore = etcdctl();
    restore.args(["snapshot", "restore"]).arg(&snapshot).args(["--name", "one"]);
    restore.args(["--initial-advertise-peer-urls", &url]);
    restore.args(["--initial-cluster", &format!("one={url}"), "--data-dir"]);
    server.restart_from(&mut restore).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();

    // A candidate that knows no more than the snapshot.
    let reply = answered(&store, acquire(3, Some(first))).await;
    let Reply::Granted { token: third, wait } = reply else { panic!("{reply:?}") };
    is_whole(wait);
    assert!(third > second, "{third} is granted after {second}");
    let (again, wait) = granted(&store, acquire(3, None)).await;
    assert_eq!(again, third);
    is_whole(wait);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_second_quarantine_is_waited_out() {
    let server = server();
    let store = Etcd::new(local(&[server.port()]));
    // Long enough for a release in time by a slow machine.
    let short = Duration::from_secs(5);
    let asking = |quarantine, seen| match acquire_for(1, seen, short) {
        Request::Acquire { holder, seen, ttl, profile, .. } => {
            Request::Acquire { holder, seen, ttl, quarantine, profile }
        }
        other => panic!("{other:?}"),
    };
    let (last, wait) = granted(&store, asking(short, None)).await;
    assert_eq!(wait, short);
    assert_eq!(call(&store, release(1, last)).await.unwrap(), Reply::Released);
    let (last, wait) = granted(&store, asking(short * 2, Some(last))).await;
    assert!(wait > short && wait <= short * 2, "{wait:?}");
    tokio::time::sleep(short * 2).await;
    // The first is over, and no time was counted since: the rest of the longer one begins.
    let (last, wait) = granted(&store, asking(short * 2, Some(last))).await;
    assert_eq!(wait, short);
    tokio::time::sleep(short * 2).await;
    let (last, wait) = granted(&store, asking(short * 2, Some(last))).await;
    assert_eq!(wait, Duration::ZERO);
    assert_eq!(call(&store, release(1, last)).await.unwrap(), Reply::Released);
    let (_, wait) = granted(&store, asking(short, Some(last))).await;
    assert_eq!(wait, Duration::ZERO);
}

/// The revisions of a new cluster begin again, so that another tenure's key may have the revision of one that a store
/// remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_release_ends_no_lease_of_the_next_cluster() {
    let mut server = server();
    let (old, new) = (at(&[server.port()]), at(&[server.port()]));
    let (first, _) = granted(&old, acquire(1, None)).await;
    let created = created(&server);
    server.restart_empty().unwrap();
    let reply = answered(&new, acquire(2, Some(first))).await;
    let Reply::Granted { token: second, .. } = reply else { panic!("{reply:?}") };
    assert_eq!(self::created(&server), created, "the same revision again");
    assert_eq!(answered(&old, release(1, first)).await, Reply::NotHeld);
    assert_eq!(held(&new, Request::Observe).await.token, second);
}

/// The create revision of the election's key.
fn created(server: &EtcdServer) -> String {
    let found = server.api("kv/range", r#"{"key":"dGVudXJlL2xlYWRlci9qb2I="}"#).unwrap();
    found["kvs"][0]["create_revision"].as_str().unwrap().to_owned()
}
