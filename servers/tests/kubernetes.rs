//! The properties of Kubernetes API servers that tests rely on.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_servers::{ClientGoCandidate, ClientGoEventKind, ClientGoSettings, KubeApiServer};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/job";

fn create(server: &KubeApiServer, holder: &str) {
    let lease = json!({ "metadata": { "name": "job" }, "spec": { "holderIdentity": holder } });
    server.admin("POST", LEASES, &lease).unwrap();
}

/// The patch of a candidate that takes the lease over from a holder.
fn takes_over(from: &str, to: &str) -> Value {
    json!([
        { "op": "test", "path": "/spec/holderIdentity", "value": from },
        { "op": "replace", "path": "/spec/holderIdentity", "value": to },
    ])
}

fn patch(server: &KubeApiServer, token: &str, from: &str, to: &str) -> u16 {
    server.call(token, "PATCH", LEASE, &takes_over(from, to)).unwrap().0
}

fn holder(server: &KubeApiServer) -> String {
    let lease = server.admin("GET", LEASE, &Value::Null).unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap().to_owned()
}

#[test]
fn a_patch_is_refused_if_its_test_does_not_match() {
    let server = KubeApiServer::start().unwrap();
    create(&server, "a");
    let admin = server.admin_token();
    assert_eq!(patch(&server, admin, "b", "c"), 422);
    assert_eq!(holder(&server), "a");
    assert_eq!(patch(&server, admin, "a", "b"), 200);
    assert_eq!(holder(&server), "b");

    // A merge patch tests nothing.
    server.admin("PATCH", LEASE, &json!({ "spec": { "holderIdentity": "c" } })).unwrap();
    assert_eq!(holder(&server), "c");
    server.admin("DELETE", LEASE, &Value::Null).unwrap();
    assert_eq!(patch(&server, admin, "c", "d"), 404);
    let error = server.admin("GET", LEASE, &Value::Null).unwrap_err().to_string();
    assert!(error.contains("404") && error.contains("job"), "{error}");
}

#[test]
fn an_account_has_only_the_rights_of_its_role() {
    let server = KubeApiServer::start().unwrap();
    create(&server, "a");
    assert_eq!(server.call("unknown", "GET", LEASE, &Value::Null).unwrap().0, 401);
    let token = server.service_account("default", "job").unwrap();
    assert_eq!(patch(&server, &token, "a", "b"), 403);

    let rule = |verbs: &[&str]| {
        json!([{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "resourceNames": ["job"], "verbs": verbs }])
    };
    server.allow("default", "job", &rule(&["patch"])).unwrap();
    assert_eq!(patch(&server, &token, "a", "b"), 200);
    assert_eq!(server.call(&token, "GET", LEASE, &Value::Null).unwrap().0, 403);
    server.allow("default", "job", &rule(&["get"])).unwrap();
    assert_eq!(server.call(&token, "GET", LEASE, &Value::Null).unwrap().0, 200);

    let other = server.service_account_token("default", "job").unwrap();
    assert_eq!(server.call(&other, "GET", LEASE, &Value::Null).unwrap().0, 200);
    server.namespace("other").unwrap();
    let stranger = server.service_account("other", "job").unwrap();
    assert_eq!(server.call(&stranger, "GET", LEASE, &Value::Null).unwrap().0, 403);
}

#[test]
fn a_write_to_a_paused_process_waits() {
    let server = KubeApiServer::start().unwrap();
    let waits_until = |resumed: &dyn Fn(), write: fn(&KubeApiServer)| {
        thread::scope(|threads| {
            let answer = threads.spawn(|| write(&server));
            thread::sleep(Duration::from_millis(300));
            assert!(!answer.is_finished());
            resumed();
            answer.join().unwrap();
        });
    };
    server.pause().unwrap();
    waits_until(&|| server.resume().unwrap(), |server| create(server, "a"));
    server.etcd().pause().unwrap();
    let take_over: fn(&KubeApiServer) =
        |server| assert_eq!(patch(server, server.admin_token(), "a", "b"), 200);
    waits_until(&|| server.etcd().resume().unwrap(), take_over);
    assert_eq!(holder(&server), "b");
}

#[test]
fn a_restart_keeps_data_and_a_drop_leaves_nothing() {
    let mut server = KubeApiServer::start().unwrap();
    create(&server, "a");
    let port = server.port();
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    server.call(server.admin_token(), "GET", LEASE, &Value::Null).unwrap_err();
    server.restart().unwrap();
    assert_eq!((server.port(), holder(&server).as_str()), (port, "a"));

    let file = server.kubeconfig("a token").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(&server.url()) && text.contains("token: \"a token\""), "{text}");
    let authority = file.with_file_name("ca.pem");
    assert!(text.contains(authority.to_str().unwrap()), "{text}");
    assert_eq!(fs::read_to_string(authority).unwrap(), server.authority());

    let ports = [port, server.etcd().port()];
    drop(server);
    assert!(!file.exists());
    for port in ports {
        TcpListener::bind(("127.0.0.1", port)).unwrap();
    }
}

#[test]
fn a_restored_snapshot_brings_the_old_lease_back() {
    let mut server = KubeApiServer::start().unwrap();
    create(&server, "a");
    let token = server.admin_token();
    let snapshot = server.snapshot().unwrap();
    assert_eq!(patch(&server, token, "a", "b"), 200);

    // Under a server that lives on.
    let pid = server.pid();
    server.restore(&snapshot).unwrap();
    assert_eq!((server.pid(), holder(&server).as_str()), (pid, "a"));
    assert_eq!(patch(&server, token, "b", "c"), 422);
    assert_eq!(patch(&server, token, "a", "c"), 200);

    // And under one that begins after it.
    server.kill().unwrap();
    server.restore(&snapshot).unwrap();
    assert_eq!(server.pid(), None);
    server.restart().unwrap();
    assert_eq!(holder(&server), "a");
}

/// A lease of client-go outlasts a pause of the machine.
const LASTS: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_secs(60);

fn client_go(server: &KubeApiServer, identity: &str) -> ClientGoCandidate {
    ClientGoCandidate::start(server, &settings(identity)).unwrap()
}

fn settings(identity: &str) -> ClientGoSettings {
    ClientGoSettings {
        namespace: "default".to_owned(),
        lease: "job".to_owned(),
        identity: identity.to_owned(),
        lease_duration: LASTS,
        renew_deadline: LASTS / 2,
        retry_period: Duration::from_millis(500),
        release_on_cancel: true,
    }
}

/// Waits until it reports that; when that was.
fn reported(candidate: &ClientGoCandidate, kind: &ClientGoEventKind) -> Duration {
    let began = Instant::now();
    loop {
        let events = candidate.events().unwrap();
        if let Some(event) = events.iter().find(|event| event.kind == *kind) {
            return event.at;
        }
        assert!(began.elapsed() < SOON, "{kind:?} within {SOON:?}, but {events:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn candidates_of_client_go_lead_one_after_the_other() {
    use ClientGoEventKind::{Cancelled, Leader, Started, Stopped};
    let server = KubeApiServer::start().unwrap();
    let mut first = client_go(&server, "a");
    reported(&first, &Started);
    let mut second = client_go(&server, "b");
    reported(&second, &Leader("a".to_owned()));
    assert_eq!(holder(&server), "a");

    // Given back: the next attempt of the other one succeeds.
    first.stop().unwrap();
    let started = reported(&second, &Started);
    let cancelled = reported(&first, &Cancelled);
    assert!(cancelled < started && started < cancelled + LASTS / 2);
    assert!(reported(&first, &Stopped) > cancelled);
    assert_eq!((first.pid(), holder(&server).as_str()), (None, "b"));

    // Killed: its last renewal is as old as a lease lasts.
    let third = client_go(&server, "c");
    reported(&third, &Leader("b".to_owned()));
    let killed = Instant::now();
    second.kill().unwrap();
    reported(&third, &Started);
    let waited = killed.elapsed();
    assert!(waited > LASTS / 2, "{waited:?}");
    assert!(!second.events().unwrap().iter().any(|event| event.kind == Stopped));
}

#[test]
fn a_candidate_that_client_go_refuses_says_why() {
    let server = KubeApiServer::start().unwrap();
    let long = LASTS * 2;
    let settings = ClientGoSettings { renew_deadline: long, ..settings("a") };
    let error = ClientGoCandidate::start(&server, &settings).unwrap_err().to_string();
    assert!(error.contains("leaseDuration must be greater than renewDeadline"), "{error}");
}

#[test]
fn a_server_that_refuses_its_arguments_says_why() {
    let error = KubeApiServer::start_with(&["--no-such-flag"]).unwrap_err().to_string();
    assert!(error.contains("no-such-flag"), "{error}");
}

/// The script and the library name the same version: where one builds is where the other looks.
#[test]
fn the_script_builds_the_version_that_is_looked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let version = |file: &str, before: &str| {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let after = &text[text.find(before).unwrap() + before.len()..];
        after[..after.find(['\n', '"']).unwrap()].to_owned()
    };
    let built = version("scripts/kube-apiserver", "\nreadonly version=");
    assert_eq!(version("servers/src/kubernetes/programs.rs", "\"tenure/kube-apiserver-"), built);
}
