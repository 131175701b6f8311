//! Candidates of client-go's kind at the same Lease: each kind waits for the other.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tenure::store::contract::Wish;
use tenure::store::kubernetes::Kubernetes;
use tenure::store::{Reply, Request, Store, StoreErrorKind};
use tenure::{Candidate, Config};
use tenure_servers::KubeApiServer;

use super::support::{
    RENEWED, TTL, acquire, after_watching, at, call, config, granted, granted_in_the_end, lease,
    leases, release, renew, server, shown, soon,
};

/// The writes of client-go's `LeaseLock`: the whole object, if it is still of the version that was
/// read.
struct Other<'a> {
    server: &'a KubeApiServer,
    namespace: &'a str,
    id: &'a str,
}

impl Other<'_> {
    /// Returns the status. The transitions grow by that number.
    fn write(&self, holder: &str, seconds: u64, second: u64, transitions: u64) -> u16 {
        let path = format!("{}/job", leases(self.namespace));
        let mut lease = lease(self.server, self.namespace, "job");
        let before = lease["spec"]["leaseTransitions"].as_u64().unwrap_or(0);
        let time = format!("2026-01-01T00:00:{second:02}.000000Z");
        lease["spec"] = json!({
            "holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": time, "renewTime": time,
            "leaseTransitions": before + transitions,
        });
        self.server.call(self.server.admin_token(), "PUT", &path, &lease).unwrap().0
    }

    fn leads(&self, second: u64) {
        assert_eq!(self.write(self.id, 15, second, 1), 200);
    }

    /// client-go's release reads the Lease anew, and so clears the holder of a later tenure, too.
    fn releases(&self, second: u64) {
        assert_eq!(self.write("", 1, second, 0), 200);
    }
}

fn created(server: &KubeApiServer, namespace: &str, spec: &Value) {
    server.namespace(namespace).unwrap();
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "job" }, "spec": spec,
    });
    server.admin("POST", &leases(namespace), &object).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_waits_for_the_other() {
    let server = server();
    let namespace = "others";
    let spec = json!({
        "holderIdentity": "theirs_1", "leaseDurationSeconds": 15, "leaseTransitions": 3,
        "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
    });
    created(&server, namespace, &spec);
    let (store, theirs) =
        (at(&server, namespace), Other { server: &server, namespace, id: "theirs_1" });
    // Their lease is watched for the time that it states, and each of their renewals begins the
    // watch anew.
    let asks = acquire(1, None);
    let before = shown(&store, asks.clone()).await;
    let incumbent = before.incumbent().unwrap();
    assert_eq!((&*incumbent.name, incumbent.ttl), ("theirs_1", Duration::from_secs(15)));
    theirs.leads(1);
    let after = shown(&store, after_watching(&asks, &before)).await;
    assert_ne!(after.sight.record.unwrap().mark(), before.sight.record.unwrap().mark());
    // A candidate of theirs reads no wishes.
    let want = Request::Want { token: incumbent.token, wish: Some(Wish::Anybody) };
    let error = call(&store, want).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    assert!(error.to_string().contains("theirs_1"), "{error}");
    let token = granted(&store, after_watching(&asks, &after)).await;
    assert!(token > incumbent.token);
    // Ours shows what theirs wait for.
    let ours = lease(&server, namespace, "job")["spec"].clone();
    assert!(ours["holderIdentity"].as_str().unwrap().starts_with("worker-1_"), "{ours}");
    assert_eq!((&ours["leaseDurationSeconds"], &ours["leaseTransitions"]), (&json!(30), &json!(5)));
    // They take over, which ends our tenure, whatever this process wrote last.
    theirs.leads(2);
    let Reply::Superseded { last } = call(&store, renew(1, token)).await.unwrap() else {
        panic!("theirs leads")
    };
    assert!(last > Some(token));
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
    // What they give back is free at once.
    theirs.releases(3);
    let next = granted(&store, acquire(2, last)).await;
    assert!(Some(next) > last);
    // They see that ours was given back, and the record stays theirs to take.
    assert_eq!(call(&store, release(2, next)).await.unwrap(), Reply::Released);
    let free = lease(&server, namespace, "job")["spec"].clone();
    assert_eq!((&free["holderIdentity"], &free["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    theirs.leads(4);
    let held = shown(&store, acquire(3, Some(next))).await.incumbent().unwrap();
    assert_eq!((&*held.name, held.token > next), ("theirs_1", true));
}

/// A grant at once would make two leaders of ours: the first learns of it at its next renewal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_they_clear_is_watched() {
    let server = server();
    let namespace = "cleared";
    server.namespace(namespace).unwrap();
    let [leader, other] = [(), ()].map(|()| at(&server, namespace));
    let theirs = Other { server: &server, namespace, id: "theirs_1" };
    let token = granted(&leader, acquire(1, None)).await;
    theirs.releases(1);
    let before = shown(&other, acquire(2, Some(token))).await;
    let incumbent = before.incumbent().unwrap();
    assert_eq!((incumbent.ttl, incumbent.token > token), (TTL, true));
    let asks = acquire(2, Some(incumbent.token));
    let again = shown(&other, asks.clone()).await;
    assert_eq!(again.sight.record, before.sight.record);
    let Reply::Superseded { last } = call(&leader, renew(1, token)).await.unwrap() else {
        panic!("the lease was cleared")
    };
    assert_eq!(last, Some(incumbent.token));
    // Another write of theirs begins the watch anew.
    theirs.releases(2);
    let after = shown(&other, after_watching(&asks, &before)).await;
    let next = granted(&other, after_watching(&asks, &after)).await;
    assert!(next > incumbent.token);
    assert_eq!(call(&other, renew(2, next)).await.unwrap(), RENEWED);
}

/// client-go compares the times of renewals in whole seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_renewal_has_a_second_of_its_own() {
    let server = server();
    let namespace = "seconds";
    server.namespace(namespace).unwrap();
    let store = at(&server, namespace);
    let token = granted(&store, acquire(1, None)).await;
    let mut seconds = Vec::new();
    for _ in 0..6 {
        call(&store, renew(1, token)).await.unwrap();
        let lease = lease(&server, namespace, "job");
        seconds.push(lease["spec"]["renewTime"].as_str().unwrap()[..19].to_owned());
    }
    let all = seconds.len();
    seconds.dedup();
    assert_eq!(seconds.len(), all, "{seconds:?}");
}

/// Another tool's label is kept, and ours comes back: by it, a process lists its elections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_of_others_are_kept() {
    const OURS: &str = "tenure.dev/managed";
    const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    let server = server();
    let namespace = "labels";
    created(&server, namespace, &json!({}));
    let path = format!("{}/job", leases(namespace));
    let label = |labels: Value| {
        let changed = json!({ "metadata": { "labels": labels } });
        server.admin("PATCH", &path, &changed).unwrap();
    };
    let labels = || lease(&server, namespace, "job")["metadata"]["labels"].clone();
    label(json!({ MANAGED_BY: "helm" }));
    let store = at(&server, namespace);
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(labels(), json!({ MANAGED_BY: "helm", OURS: "true" }));
    for removed in [json!({ OURS: null }), json!({ OURS: null, MANAGED_BY: null })] {
        label(removed);
        // The first one is shown that it is gone.
        for _ in 0..2 {
            assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        }
        assert_eq!(labels()[OURS], "true");
    }
    assert_eq!(store.keys().await.unwrap().len(), 1);
}

/// Renewals may follow within a second if there are no candidates of client-go's kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unshared_leases_show_the_time() {
    let server = server();
    let namespace = "unshared";
    server.namespace(namespace).unwrap();
    let quick = Config::builder(Duration::from_secs(2)).build().unwrap();
    let often = Config::builder(Duration::from_secs(9)).renew_interval(Duration::from_millis(900));
    for refused in [quick, often.build().unwrap()] {
        let builder = Candidate::builder(at(&server, namespace), "job").config(refused);
        let error = builder.start().map(drop).unwrap_err().to_string();
        assert!(error.contains("the store kubernetes"), "{error}");
    }
    let config = config(&server, namespace).trust_empty_store(true).unshared(true);
    let store = Kubernetes::new(config);
    let candidate = Candidate::builder(store.clone(), "quick").config(quick).start().unwrap();
    soon(candidate.stop()).await.unwrap();
    let token = granted(&store, acquire(1, None)).await;
    let (began, mut seconds) = (Instant::now(), BTreeSet::new());
    for _ in 0..20 {
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        let lease = lease(&server, namespace, "job");
        seconds.insert(lease["spec"]["renewTime"].as_str().unwrap()[..19].to_owned());
    }
    let most = usize::try_from(began.elapsed().as_secs()).unwrap() + 3;
    assert!(seconds.len() <= most, "{seconds:?}");
}

/// A waiting candidate does not renew the leader's lease in their eyes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_changes_nothing_for_them() {
    let server = server();
    let namespace = "waits";
    server.namespace(namespace).unwrap();
    let store = at(&server, namespace);
    let token = granted(&store, acquire(1, None)).await;
    let before = lease(&server, namespace, "job");
    let want = Request::Want { token, wish: Some(Wish::Anybody) };
    assert_eq!(call(&store, want).await.unwrap(), Reply::Noted);
    shown(&store, acquire(2, Some(token))).await;
    let after = lease(&server, namespace, "job");
    assert_eq!(before["spec"], after["spec"]);
    assert_ne!(before["metadata"]["annotations"], after["metadata"]["annotations"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_ours_is_refused() {
    let server = server();
    created(&server, "named", &json!({ "holderIdentity": "a", "leaseDurationSeconds": 15 }));
    let store = at(&server, "named");
    granted_in_the_end(&store, acquire(1, None)).await;
    // Another election of the same name.
    let patch = json!({ "metadata": { "annotations": { "tenure.dev/key": "another" } } });
    server.admin("PATCH", &format!("{}/job", leases("named")), &patch).unwrap();
    let error = call(&store, acquire(2, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadRecord);
    assert!(error.to_string().contains("is of the election \"another\""), "{error}");
    // A holder without a duration.
    created(&server, "endless", &json!({ "holderIdentity": "a" }));
    let error = call(&at(&server, "endless"), acquire(1, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadRecord);
    assert!(error.to_string().contains("no spec.leaseDurationSeconds"), "{error}");
}

/// With the driver: the Lease of a dead candidate of theirs, and one that has given its lease back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_takes_over_from_theirs() {
    let server = server();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % 60;
    let spec = json!({
        "holderIdentity": "theirs_1", "leaseDurationSeconds": 3,
        "acquireTime": format!("2026-01-01T00:00:{now:02}.000000Z"),
        "renewTime": format!("2026-01-01T00:00:{now:02}.000000Z"),
    });
    created(&server, "over", &spec);
    let store = at(&server, "over");
    let candidate = Candidate::builder(store, "job").name("ours").start().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    assert!(tenure.is_current());
    soon(candidate.stop()).await.unwrap();
}
