//! Faults of an API server of Kubernetes, and of the way to it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_servers::{Authority, KubeApiServer};

use super::fakes::delays;
use super::{Planted, is_found};

/// A fault at a server that all of them share.
type Fault = (&'static str, &'static str, fn(&KubeApiServer) -> Planted);

/// The user of that token, in that namespace.
fn of(server: &KubeApiServer, token: &str, namespace: &str) -> Planted {
    by(&server.kubeconfig(token).unwrap().display().to_string(), namespace)
}

fn by(kubeconfig: &str, namespace: &str) -> Planted {
    Planted::at(format!("kubernetes:///{namespace}?kubeconfig={kubeconfig}"))
}

/// The user who may do everything, by a kubeconfig that was changed so.
fn changed(server: &KubeApiServer, from: &str, to: &str) -> Planted {
    let path = server.kubeconfig(server.admin_token()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replace(from, to)).unwrap();
    by(&path.display().to_string(), "default")
}

/// A service account with all rights of a candidate but that one.
fn lacking(server: &KubeApiServer, lacks: &str) -> Planted {
    let verbs = ["get", "create", "patch", "watch"];
    let verbs: Vec<_> = verbs.into_iter().filter(|verb| *verb != lacks).collect();
    let name = format!("lacks-{lacks}");
    let token = server.service_account("default", &name).unwrap();
    let rules =
        json!([{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs }]);
    server.allow("default", &name, &rules).unwrap();
    of(server, &token, "default")
}

/// A namespace in which each election of the doctor has a record that can't be read.
fn damaged(server: &KubeApiServer) -> Planted {
    server.namespace("damaged").unwrap();
    for number in 0..16 {
        let lease = json!({ "metadata": {
            "name": format!("tenure-doctor-{number:x}"),
            "annotations": { "tenure.dev/election": "nonsense" },
        } });
        let path = "/apis/coordination.k8s.io/v1/namespaces/damaged/leases";
        server.admin("POST", path, &lease).unwrap();
    }
    of(server, server.admin_token(), "damaged")
}

fn of_another_authority(server: &KubeApiServer) -> Planted {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.pem");
    fs::write(&other, Authority::new().unwrap().pem()).unwrap();
    let path = server.kubeconfig(server.admin_token()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("certificate-authority:")).unwrap();
    let new = format!("    certificate-authority: {}", Value::from(other.to_str().unwrap()));
    fs::write(&path, text.replace(line, &new)).unwrap();
    by(&path.display().to_string(), "default").keeps(folder)
}

fn far_away(server: &KubeApiServer) -> Planted {
    let port = delays(server.port(), Duration::from_millis(75));
    let to = format!("https://127.0.0.1:{port}");
    let planted = changed(server, &server.url(), &to);
    let url = format!("{}&unshared=yes", planted.url);
    Planted { url, ..planted }.set("TENURE_TTL", "2s")
}

pub(super) const FAULTS: &[Fault] = &[
    ("the verb get", "right-missing", |server| lacking(server, "get")),
    ("the verb create", "right-missing", |server| lacking(server, "create")),
    ("the verb patch", "right-missing", |server| lacking(server, "patch")),
    ("the verb watch", "wake-ups-missing", |server| lacking(server, "watch")),
    ("a namespace that does not exist", "elections-missing", |server| {
        of(server, server.admin_token(), "nowhere")
    }),
    ("a token that is not valid", "credentials-refused", |server| {
        of(server, "nonsense", "default")
    }),
    ("no kubeconfig", "credentials-missing", |_| by("/no/such/file", "default")),
    ("a context that does not exist", "credentials-missing", |server| {
        let planted = of(server, server.admin_token(), "default");
        let url = format!("{}&context=nothing", planted.url);
        Planted { url, ..planted }
    }),
    ("a server without encryption", "unsupported", |server| changed(server, "https://", "http://")),
    ("another authority", "tls-refused", of_another_authority),
    ("no server at the port", "unreachable", |server| {
        changed(server, &server.url(), "https://127.0.0.1:1")
    }),
    ("records that can't be read", "record-damaged", damaged),
    ("a long way", "round-trips-slow", far_away),
];

#[test]
fn faults_of_kubernetes_are_found() {
    let server = KubeApiServer::start().unwrap();
    let wrong = FAULTS.iter().filter_map(|(what, id, plant)| is_found(what, id, &plant(&server)));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{} faults were not found:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_healthy_kubernetes_has_no_problem() {
    let server = KubeApiServer::start().unwrap();
    for planted in [of(&server, server.admin_token(), "default"), lacking(&server, "nothing")] {
        planted.is_healthy();
    }
}

/// Each missing verb is named, also those that no request has needed.
#[test]
fn missing_verbs_of_kubernetes_are_named() {
    let server = KubeApiServer::start().unwrap();
    for verb in ["get", "create", "patch", "watch"] {
        let found = lacking(&server, verb).examine();
        let is_named = found.findings.iter().any(|finding| {
            finding["found"].as_str().unwrap().contains(&format!("the verb {verb} on leases"))
        });
        assert!(is_named, "{verb}: {found:#?}");
    }
}
