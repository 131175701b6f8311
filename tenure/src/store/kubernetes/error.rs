//! The store's errors for errors of the client and of the server.

use std::error::Error as Cause;

use kube_client::Error;
use kube_client::client::AuthError;
use kube_client::config::KubeconfigError;
use kube_client::error::Status;

use super::config::KubernetesConfig;
use crate::store::{StoreError, StoreErrorKind};

/// The rights that a candidate needs.
const RIGHTS: &str = "get, create, patch and watch on leases.coordination.k8s.io";

pub(super) fn of(error: &Error) -> StoreError {
    if let Some(error) = StoreError::about_tls(error) {
        return error;
    }
    match error {
        Error::Api(status) => answered(status),
        Error::Auth(why) => StoreError::new(StoreErrorKind::NoCredentials, no_login(why)),
        Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) => {
            StoreError::showing(StoreErrorKind::Disconnected, root(error))
        }
        other => StoreError::showing(StoreErrorKind::UnexpectedReply, other),
    }
}

/// An unreadable configuration. A parser's text has the lines around an error, and so tokens and
/// keys: only the place is shown.
pub(super) fn unreadable(config: &KubernetesConfig, error: &(dyn Cause + 'static)) -> StoreError {
    let known = causes(error).find_map(|cause| cause.downcast_ref::<KubeconfigError>());
    let wrong = match known {
        Some(KubeconfigError::Parse(error)) => match error.location() {
            Some(at) => format!("can't be read at line {}, column {}", at.line(), at.column()),
            None => "is no kubeconfig".to_owned(),
        },
        Some(KubeconfigError::ParseCertificates(_)) => {
            "has a certificate authority that is no PEM".to_owned()
        }
        _ => {
            let detail = format_args!("no configuration of a client: {error}");
            return StoreError::showing(StoreErrorKind::NoCredentials, detail);
        }
    };
    let detail = match &config.kubeconfig {
        Some(path) => format!("{} {wrong}", path.display()),
        None => format!("the file of KUBECONFIG, or ~/.kube/config, {wrong}"),
    };
    StoreError::new(StoreErrorKind::NoCredentials, detail)
}

/// The lack of a login. What a program of the kubeconfig was given, or has written, may be a
/// secret.
fn no_login(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            format!("the kubeconfig's program has failed ({}): run it to see why", out.status)
        }
        AuthError::AuthExecParse(_) => {
            "the kubeconfig's program wrote no ExecCredential: run it to see why".to_owned()
        }
        AuthError::ParseTokenKey(_) => {
            "the token-key of the kubeconfig's auth-provider does not fit its file".to_owned()
        }
        other => root(other),
    }
}

/// The lack of a connection.
pub(super) fn unreachable(host: &str, port: u16, error: &std::io::Error) -> StoreError {
    StoreError::about_tls(error).unwrap_or_else(|| {
        let detail = format_args!("{host}:{port}: {error}");
        StoreError::showing(StoreErrorKind::Unreachable, detail)
    })
}

/// True if the server has answered, and refuses the request. After another error a new connection
/// is needed, which may have other credentials.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Api(status) if is_answer(status))
}

/// True if an API server says that, to a user that it knows. kube reads any JSON object as a
/// `Status`: that of a proxy has no code.
pub(super) fn is_answer(status: &Status) -> bool {
    !matches!(status.code, 0 | 401)
}

/// True if the server says that it fails itself, or what is behind it, and no webhook or policy of
/// one request.
pub(super) fn is_failure(status: &Status) -> bool {
    status.code >= 500 && !is_denied(&status.message)
}

/// True if a write was refused since the object is another one than was read: there is one already,
/// or it is gone, or a test of the patch has failed.
pub(super) fn is_conflict(status: &Status, is_patch: bool) -> bool {
    if is_denied(&status.message) {
        return false;
    }
    match status.code {
        409 => true,
        404 => is_patch,
        // What is wrong with a new content is told in the details.
        422 => {
            let details = status.details.as_ref();
            is_patch && details.is_none_or(|told| told.kind.is_empty() && told.causes.is_empty())
        }
        _ => false,
    }
}

/// True if a webhook or a policy has denied a request, with a code of its choice.
fn is_denied(message: &str) -> bool {
    message.contains("admission webhook \"") || message.contains("AdmissionPolicy '")
}

/// The server's error.
pub(super) fn answered(status: &Status) -> StoreError {
    let Status { code, message, .. } = status;
    match code {
        _ if is_denied(message) => {
            StoreError::showing(StoreErrorKind::Refused, format_args!("{code}: {message}"))
        }
        0 => StoreError::showing(
            StoreErrorKind::UnexpectedReply,
            format_args!("an error that is no Status, as of a proxy in between: {message:?}"),
        ),
        401 => StoreError::showing(StoreErrorKind::Authentication, message),
        403 => StoreError::showing(
            StoreErrorKind::Permission,
            format_args!("candidates need {RIGHTS} in the namespace: {message}"),
        ),
        404 => StoreError::showing(StoreErrorKind::Missing, message),
        504 => StoreError::showing(StoreErrorKind::Timeout, message),
        500 if message.contains("database space exceeded") => {
            StoreError::showing(StoreErrorKind::Full, message)
        }
        500 if message.contains("no leader") => {
            StoreError::showing(StoreErrorKind::NoLeader, message)
        }
        code => StoreError::showing(StoreErrorKind::Refused, format_args!("{code}: {message}")),
    }
}

/// The innermost cause, which says what went wrong.
fn root(error: &(dyn Cause + 'static)) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn causes<'a>(error: &'a (dyn Cause + 'static)) -> impl Iterator<Item = &'a (dyn Cause + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Cause + 'static)| (*error).source())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_error_of_a_proxy_ends_the_connection() {
        let read = |text| serde_json::from_str::<Status>(text).unwrap();
        let refused = read(r#"{"kind":"Status","code":429,"message":"slow down"}"#);
        assert!(is_answer(&refused) && is_refusal(&Error::Api(refused.boxed())));
        for foreign in [r#"{"error":"unauthorized"}"#, r#"{"message":"no session"}"#, "{}"] {
            let foreign = read(foreign);
            let error = answered(&foreign);
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply);
            let shown = error.to_string();
            assert!(shown.contains("proxy") && !shown.contains("0: "), "{shown}");
            assert!(!is_answer(&foreign) && !is_refusal(&Error::Api(foreign.boxed())));
        }
        let unknown = read(r#"{"kind":"Status","code":401,"message":"Unauthorized"}"#);
        assert!(!is_answer(&unknown));
    }

    fn status(code: u16, message: &str, details: &serde_json::Value) -> Status {
        let status = json!({ "code": code, "message": message, "details": details });
        serde_json::from_value(status).unwrap()
    }

    /// The words of kube-apiserver.
    #[test]
    fn a_failed_test_is_a_conflict() {
        let failed = "the server rejected our request due to an error in our request";
        let failed = status(422, failed, &json!({}));
        assert!(is_conflict(&failed, true) && !is_conflict(&failed, false));
        let gone = status(404, "leases \"job\" not found", &json!({ "kind": "leases" }));
        assert!(is_conflict(&gone, true) && !is_conflict(&gone, false));
        let there = status(409, "leases \"job\" already exists", &json!({ "kind": "leases" }));
        assert!(is_conflict(&there, true) && is_conflict(&there, false));
        let invalid = [
            ("Lease \"job\" is invalid: spec.leaseTransitions", json!({ "kind": "Lease" })),
            (" \"\" is invalid: patch: Invalid value", json!({ "causes": [{ "field": "patch" }] })),
        ];
        for (message, details) in invalid {
            let invalid = status(422, message, &details);
            assert!(!is_conflict(&invalid, true), "{message}");
            let error = answered(&invalid);
            assert_eq!(error.kind(), StoreErrorKind::Refused);
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn a_denial_names_the_webhook() {
        for said in [
            "admission webhook \"a.example\" denied the request: frozen",
            "leases \"job\" is forbidden: admission webhook \"a.example\" denied the request: frozen",
            "leases \"job\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
        ] {
            for code in [400, 401, 403, 404, 409, 422, 504] {
                let denied = status(code, said, &json!({}));
                assert!(!is_conflict(&denied, true), "{code} {said}");
                let error = answered(&denied);
                assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
                let error = error.to_string();
                assert!(error.contains(said) && !error.contains(RIGHTS), "{error}");
            }
        }
        let unallowed = "leases \"job\" is forbidden: User \"a\" cannot patch resource \"leases\"";
        let error = answered(&status(403, unallowed, &json!({ "kind": "leases" })));
        assert_eq!(error.kind(), StoreErrorKind::Permission);
        assert!(error.to_string().contains(RIGHTS), "{error}");
    }
}
