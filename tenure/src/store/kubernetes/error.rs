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

/// Why no configuration could be read. A parser's text has the lines around an error, and so tokens
/// and keys: only the place is shown.
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
        Some(path) => format!("{path:?} {wrong}"),
        None => format!("the file of KUBECONFIG, or ~/.kube/config, {wrong}"),
    };
    StoreError::new(StoreErrorKind::NoCredentials, detail)
}

/// Why there is nothing to log in with. What a program of the kubeconfig was given, or has written,
/// may be a secret.
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

/// Why there is no connection.
pub(super) fn unreachable(host: &str, port: u16, error: &std::io::Error) -> StoreError {
    StoreError::about_tls(error).unwrap_or_else(|| {
        let detail = format_args!("{host}:{port}: {error}");
        StoreError::showing(StoreErrorKind::Unreachable, detail)
    })
}

/// Whether the server has answered, and refuses what was asked. After another error a new
/// connection is needed, which may have other credentials.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Api(status) if is_answer(status))
}

/// Whether an API server says that, to a user that it knows. kube reads any JSON object as a
/// `Status`: that of a proxy has no code.
pub(super) fn is_answer(status: &Status) -> bool {
    !matches!(status.code, 0 | 401)
}

/// What the server says.
pub(super) fn answered(status: &Status) -> StoreError {
    let Status { code, message, .. } = status;
    match code {
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
}
