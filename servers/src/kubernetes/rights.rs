//! Namespaces, accounts and their rights.

use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::{ASK_EVERY, KubeApiServer, READY_WITHIN};
use crate::ServerError;

const RIGHTS: &str = "rbac.authorization.k8s.io";

impl KubeApiServer {
    /// Makes a namespace.
    ///
    /// # Errors
    /// As for [`admin`](Self::admin), also if there is one of that name.
    pub fn namespace(&self, name: &str) -> Result<(), ServerError> {
        let namespace = json!({ "metadata": { "name": name } });
        self.admin("POST", "/api/v1/namespaces", &namespace).map(drop)
    }

    /// Makes a service account without rights, and returns a token of it. The account is in the
    /// server's data: one that is not in a [snapshot](Self::snapshot) has no valid token after it
    /// was restored.
    ///
    /// # Errors
    /// As for [`admin`](Self::admin), also if there is one of that name.
    pub fn service_account(&self, namespace: &str, name: &str) -> Result<String, ServerError> {
        let account = json!({ "metadata": { "name": name } });
        self.admin("POST", &format!("/api/v1/namespaces/{namespace}/serviceaccounts"), &account)?;
        self.service_account_token(namespace, name)
    }

    /// Another token of that account, as pods get one from time to time. It is valid for an hour,
    /// as the ones before.
    ///
    /// # Errors
    /// As for [`admin`](Self::admin), also if there is no such account.
    pub fn service_account_token(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<String, ServerError> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let answer = self.admin("POST", &path, &json!({ "spec": {} }))?;
        let token = answer["status"]["token"].as_str().map(str::to_owned);
        let detail = answer.to_string();
        token.ok_or(ServerError::Protocol { port: self.port, detail })
    }

    /// Gives that account the rights of these rules in its namespace, in place of those that it
    /// had: an array, as a `Role` has it. Waits until the first rule applies. Rights that it has
    /// lost may apply some milliseconds longer.
    ///
    /// # Errors
    /// As for [`admin`](Self::admin), and [`ServerError::Protocol`] if the first rule does not
    /// apply within 180 s.
    pub fn allow(&self, namespace: &str, account: &str, rules: &Value) -> Result<(), ServerError> {
        let metadata = json!({ "name": account });
        let role = json!({ "metadata": metadata, "rules": rules });
        let binding = json!({
            "metadata": metadata,
            "roleRef": { "apiGroup": RIGHTS, "kind": "Role", "name": account },
            "subjects": [{ "kind": "ServiceAccount", "namespace": namespace, "name": account }],
        });
        for (kind, object) in [("roles", role), ("rolebindings", binding)] {
            let path = format!("/apis/{RIGHTS}/v1/namespaces/{namespace}/{kind}/{account}");
            self.admin("PUT", &path, &object)?;
        }
        let Some(first) = rules.get(0) else { return Ok(()) };
        let review = review(namespace, account, first);
        let began = Instant::now();
        loop {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let answer = self.admin("POST", path, &review)?;
            if answer["status"]["allowed"] == true {
                return Ok(());
            }
            if began.elapsed() > READY_WITHIN {
                let detail = format!("{account} may not do that within {READY_WITHIN:?}: {answer}");
                return Err(ServerError::Protocol { port: self.port, detail });
            }
            thread::sleep(ASK_EVERY);
        }
    }
}

/// Asks whether the account may do what a rule names first.
fn review(namespace: &str, account: &str, rule: &Value) -> Value {
    let first = |list: &str| rule[list][0].clone();
    json!({ "spec": {
        "user": format!("system:serviceaccount:{namespace}:{account}"),
        "resourceAttributes": {
            "namespace": namespace,
            "verb": first("verbs"),
            "group": first("apiGroups"),
            "resource": first("resources"),
            "name": first("resourceNames"),
        },
    } })
}
