//! Checks of an API server of Kubernetes, and of the rights of its token.

use serde_json::{Value, json};
use tenure::store::StoreError;
use tenure::store::kubernetes::Kubernetes;

use super::errors;
use super::kind::Kind;
use super::report::Report;

const GROUP: &str = "coordination.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// A candidate's verbs; true if it leads without it.
const VERBS: [(&str, bool); 4] =
    [("get", false), ("create", false), ("patch", false), ("watch", true)];

pub(super) async fn check(kubernetes: &Kubernetes, report: &mut Report) {
    if let Some(version) = ask(kubernetes, "GET", "/version", &Value::Null, report).await {
        let version = version["gitVersion"].as_str().unwrap_or("not told");
        report.add(Kind::ServerVersion, format!("the server's version is {version}"));
    } else {
        return;
    }
    interface(kubernetes, report).await;
    for (verb, is_spare) in VERBS {
        if let Some(false) = is_allowed(kubernetes, verb, report).await {
            let kind = if is_spare { Kind::WakeUpsMissing } else { Kind::RightMissing };
            let text = format!(
                "the verb {verb} on leases.{GROUP} is not allowed in the namespace {:?}",
                kubernetes.namespace()
            );
            report.add(kind, text);
        }
    }
}

/// Checks that the server has Leases at all: it has them since version 1.14.
async fn interface(kubernetes: &Kubernetes, report: &mut Report) {
    let path = format!("/apis/{GROUP}/v1");
    if let Err(error) = kubernetes.ask_server("GET", &path, "").await
        && errors::kind(&error) == Kind::ElectionsMissing
    {
        report.add(
            Kind::VersionUnsupported,
            format!("the server does not serve {GROUP}/v1: {error}"),
        );
    }
}

/// True if the token may do that with each Lease of the namespace; `None` if the server does not
/// say.
async fn is_allowed(kubernetes: &Kubernetes, verb: &str, report: &mut Report) -> Option<bool> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": kubernetes.namespace(), "group": GROUP, "resource": "leases", "verb": verb,
        } },
    });
    ask(kubernetes, "POST", REVIEWS, &review, report).await?["status"]["allowed"].as_bool()
}

async fn ask(
    kubernetes: &Kubernetes,
    method: &str,
    path: &str,
    body: &Value,
    report: &mut Report,
) -> Option<Value> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    match kubernetes.ask_server(method, path, &body).await {
        Ok(text) => serde_json::from_str(&text).ok(),
        Err(error) => {
            refused(path, &error, report);
            None
        }
    }
}

/// Not being allowed to ask is no fault: candidates need no such right.
fn refused(path: &str, error: &StoreError, report: &mut Report) {
    let kind = errors::kind(error);
    match kind {
        Kind::RightMissing => report.add(Kind::NotAsked, format!("{path}: {error}")),
        _ if report.has(kind) => {}
        _ => report.failed(path, error),
    }
}
