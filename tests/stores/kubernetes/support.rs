//! Servers, stores, and what is in a Lease.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure_servers::KubeApiServer;

pub(crate) use crate::stores::support::*;

/// One server for many tests of one process, since it takes seconds to start.
pub(crate) fn server() -> Arc<KubeApiServer> {
    Arc::new(KubeApiServer::start().unwrap())
}

pub(crate) fn config(server: &KubeApiServer, namespace: &str) -> KubernetesConfig {
    let kubeconfig = server.kubeconfig(server.admin_token()).unwrap();
    KubernetesConfig::new(namespace).unwrap().kubeconfig(kubeconfig)
}

/// A store there, which trusts an empty cluster.
pub(crate) fn at(server: &KubeApiServer, namespace: &str) -> Kubernetes {
    Kubernetes::new(config(server, namespace).trust_empty_store(true))
}

pub(crate) fn leases(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

/// All Leases of a namespace.
pub(crate) fn all(server: &KubeApiServer, namespace: &str) -> Vec<Value> {
    let list = server.admin("GET", &leases(namespace), &Value::Null).unwrap();
    list["items"].as_array().unwrap().clone()
}

pub(crate) fn lease(server: &KubeApiServer, namespace: &str, name: &str) -> Value {
    server.admin("GET", &format!("{}/{name}", leases(namespace)), &Value::Null).unwrap()
}

pub(crate) fn delete(server: &KubeApiServer, namespace: &str, name: &str) {
    server.admin("DELETE", &format!("{}/{name}", leases(namespace)), &Value::Null).unwrap();
}

/// Another object of the same content.
pub(crate) fn recreate(server: &KubeApiServer, namespace: &str, lease: &Value) {
    let metadata = &lease["metadata"];
    let (name, kept) = (metadata["name"].as_str().unwrap(), &lease["spec"]);
    delete(server, namespace, name);
    let metadata = json!({
        "name": name, "labels": metadata["labels"], "annotations": metadata["annotations"],
    });
    let again = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": kept,
    });
    server.admin("POST", &leases(namespace), &again).unwrap();
}
