//! The manifests of ops/kubernetes, applied to a server: what they allow, and what a candidate says
//! that lacks a right.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind, Watched};
use tenure::{Candidate, Config};
use tenure_servers::KubeApiServer;

use super::support::{acquire, at, granted, renew, soon};

const LEADER: &str = include_str!("../../../ops/kubernetes/leader.yaml");
const SIDECAR: &str = include_str!("../../../ops/kubernetes/sidecar.yaml");
const PRIORITY: &str = include_str!("../../../ops/kubernetes/priority.yaml");

fn objects(manifest: &str) -> Vec<Value> {
    manifest.split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap()).collect()
}

/// Makes the objects, as `kubectl apply` does.
fn applied(server: &KubeApiServer, manifest: &str) {
    for object in objects(manifest) {
        let of = |field: &str| object[field].as_str().unwrap();
        let (group, kind) = (of("apiVersion"), of("kind").to_lowercase() + "s");
        let root = if group.contains('/') { "apis" } else { "api" };
        let namespace = object["metadata"]["namespace"].as_str();
        let within = namespace.map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        server.admin("POST", &format!("/{root}/{group}{within}/{kind}"), &object).unwrap();
    }
}

fn all_groups() -> KubeApiServer {
    KubeApiServer::start_with(&["--runtime-config", "api/all=true"]).unwrap()
}

fn as_account(server: &KubeApiServer, token: &str) -> Kubernetes {
    let kubeconfig = server.kubeconfig(token).unwrap();
    let config = KubernetesConfig::new("billing").unwrap().kubeconfig(kubeconfig);
    Kubernetes::new(config.trust_empty_store(true))
}

/// Candidates take part, and are woken, with the rights of the manifest; in no other election.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_manifests_allow_what_is_needed() {
    let server = all_groups();
    server.namespace("billing").unwrap();
    applied(&server, LEADER);
    applied(&server, SIDECAR);
    // That server has an earlier version of the group.
    applied(&server, &PRIORITY.replace("io/v1\n", "io/v1beta1\n"));
    for name in ["nightly-report", "nightly-sync"] {
        an_account_may_lead(&server, name).await;
    }
}

/// In the election of its own name alone.
async fn an_account_may_lead(server: &KubeApiServer, name: &str) {
    let token = server.service_account_token("billing", name).unwrap();
    let config = Config::builder(Duration::from_secs(60)).build().unwrap();
    let candidate = |person| {
        let store = as_account(server, &token);
        Candidate::builder(store, name).name(person).config(config).start().unwrap()
    };
    let leader = candidate("first");
    soon(leader.elected()).await.unwrap();
    let standby = candidate("second");
    while soon(standby.incumbent()).await.unwrap().is_none() {}
    // Well within the poll bound, which is the TTL.
    soon(leader.stop()).await.unwrap();
    tokio::time::timeout(config.ttl() / 2, standby.elected()).await.unwrap().unwrap();
    soon(standby.stop()).await.unwrap();
    let other =
        as_account(server, &token).call(&Key::new("other").unwrap(), acquire(1, None)).await;
    assert_eq!(other.unwrap_err().kind(), StoreErrorKind::Permission);
}

/// An account that may only look sees the leader and is woken; the error of whatever else it asks
/// has the rights that lack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_may_only_look() {
    let server = KubeApiServer::start().unwrap();
    server.namespace("billing").unwrap();
    let token = server.service_account("billing", "watcher").unwrap();
    let rule = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "watch"],
    });
    server.allow("billing", "watcher", &json!([rule])).unwrap();
    let (candidate, watcher) = (at(&server, "billing"), as_account(&server, &token));
    let tenure = granted(&candidate, acquire(1, None)).await;
    let key = Key::new("job").unwrap();
    soon(watcher.call(&key, Request::Observe)).await.unwrap();
    let error = soon(watcher.call(&key, renew(1, tenure))).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Permission);
    assert!(error.to_string().contains("create, patch and watch on leases"), "{error}");
    let mut hints = Box::pin(watcher.hints(Watched::only([key])));
    soon(hints.next()).await.unwrap();
}

/// Without any one of the rights, what needs it is refused, or nobody is woken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_right_is_needed() {
    const ALL: [&str; 4] = ["create", "get", "patch", "watch"];
    let server = KubeApiServer::start().unwrap();
    server.namespace("billing").unwrap();
    let job = |number: usize| Key::new(format!("job-{number}")).unwrap();
    for (number, missing) in ALL.iter().map(Some).chain([None]).enumerate() {
        let account = format!("account-{number}");
        let token = server.service_account("billing", &account).unwrap();
        let verbs: Vec<&&str> = ALL.iter().filter(|verb| Some(*verb) != missing).collect();
        let rule = json!({
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs,
        });
        server.allow("billing", &account, &json!([rule])).unwrap();
        let store = as_account(&server, &token);
        let acquired = soon(store.call(&job(number), acquire(1, None))).await;
        if let Some(missing @ &("create" | "get" | "patch")) = missing {
            let error = acquired.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Permission, "{missing}: {error}");
            continue;
        }
        assert!(matches!(acquired, Ok(Reply::Granted { .. })), "{missing:?}: {acquired:?}");
        // Candidates need no list.
        let error = store.keys().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
        assert!(error.to_string().contains("list"), "{error}");
        let hints = || Box::pin(store.hints(Watched::only([job(number)])));
        if missing.is_some() {
            let silent = tokio::time::timeout(Duration::from_secs(2), hints().next()).await;
            assert!(silent.is_err(), "{missing:?}: {silent:?}");
        } else {
            // The event that shows a lease which is held takes nobody's hint away.
            for _ in 0..50 {
                assert_eq!(soon(hints().next()).await, Some(job(number)));
            }
        }
    }
}
