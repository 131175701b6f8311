//! An operator, of which only the leader reconciles.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_servers::{KubeApiServer, undisturbed};

use crate::program::{Program, example};

const LEADS: &str = "leads with the token ";
const NAMESPACE: &str = "operators";

fn maps() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
}

fn creates(server: &KubeApiServer, name: &str) {
    let metadata = json!({ "name": name, "labels": { "example.org/copies": "yes" } });
    let map = json!({ "metadata": metadata, "data": { "from": name } });
    server.admin("POST", &maps(), &map).unwrap();
}

fn copied(server: &KubeApiServer, name: &str) -> Value {
    let map = server.admin("GET", &format!("{}/{name}", maps()), &Value::Null).unwrap();
    map["data"]["to"].clone()
}

/// It has the rights that its page names, and no more.
fn operator(server: &KubeApiServer) -> Command {
    let token = server.service_account_token(NAMESPACE, "operator").unwrap();
    let mut command = example("operator");
    command.arg(NAMESPACE).env("KUBECONFIG", server.kubeconfig(&token).unwrap());
    command
}

#[test]
fn only_the_leader_reconciles() {
    undisturbed(|| {
        let server = KubeApiServer::start().unwrap();
        server.namespace(NAMESPACE).unwrap();
        server.service_account(NAMESPACE, "operator").unwrap();
        let rules = json!([
            {
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                "verbs": ["get", "create", "patch", "watch"],
            },
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch", "patch"] },
        ]);
        server.allow(NAMESPACE, "operator", &rules).unwrap();
        creates(&server, "one");
        let first = Program::start(&mut operator(&server));
        let before = first.number(LEADS);
        first.says("reconciled one");
        assert_eq!(copied(&server, "one"), "one");
        let second = Program::start(&mut operator(&server));
        second.says("another candidate has the lease");
        creates(&server, "two");
        first.says("reconciled two");
        // It is the next leader's watch that finds what was created while nobody led.
        first.signal(Signal::KILL);
        creates(&server, "three");
        let after = second.number(LEADS);
        assert!(after > before, "{after} after {before}");
        second.says("reconciled three");
        let copies = ["one", "two", "three"].map(|name| copied(&server, name));
        assert_eq!(copies, ["one", "two", "three"]);
    });
}
