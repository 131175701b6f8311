//! Admission webhooks that deny what candidates write. Those that change it are tested beside the
//! store: the server that tests have would crash.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tenure::store::StoreErrorKind;
use tenure_servers::KubeApiServer;

use super::support::{RENEWED, acquire, at, call, granted, renew};

/// With whatever code it chooses, also those that tell of a conflict.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_denies_is_named() {
    let server = KubeApiServer::start_with_webhooks().unwrap();
    server.namespace("denied").unwrap();
    let store = at(&server, "denied");
    let token = granted(&store, acquire(1, None)).await;
    let allowed = json!({ "allowed": true });
    let webhooks = ["Mutating", "Validating"].map(|kind| {
        let name = format!("{}.tenure.test", kind.to_lowercase());
        let decision = Arc::new(Mutex::new(allowed.clone()));
        let decides = Arc::clone(&decision);
        let decides = move |_: &Value| decides.lock().unwrap().clone();
        let webhook = server.webhook(kind, &name, decides).unwrap();
        (name, decision, webhook)
    });
    for (name, decision, _) in &webhooks {
        for code in [400, 403, 404, 409, 422] {
            let status = json!({ "code": code, "message": "frozen" });
            *decision.lock().unwrap() = json!({ "allowed": false, "status": status });
            let error = call(&store, renew(1, token)).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
            let error = error.to_string();
            let named = format!("admission webhook \"{name}\" denied the request: frozen");
            assert!(error.contains(&named) && !error.contains("candidates need"), "{error}");
        }
        *decision.lock().unwrap() = allowed.clone();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    }
}
