//! The store's errors for errors of the client and of the server.

use kube_client::Error;
use kube_client::error::Status;

use crate::store::{StoreError, StoreErrorKind};

/// The rights that a candidate needs.
const RIGHTS: &str = "get, create, patch, list and watch on leases.coordination.k8s.io";

pub(super) fn of(error: &Error) -> StoreError {
    if let Some(error) = StoreError::about_tls(error) {
        return error;
    }
    match error {
        Error::Api(status) => answered(status),
        Error::Auth(_) => StoreError::showing(StoreErrorKind::NoCredentials, root(error)),
        Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) => {
            let kind = if is_connecting(error) {
                StoreErrorKind::Unreachable
            } else {
                StoreErrorKind::Disconnected
            };
            StoreError::showing(kind, root(error))
        }
        other => StoreError::showing(StoreErrorKind::UnexpectedReply, other),
    }
}

/// What the server says.
pub(super) fn answered(status: &Status) -> StoreError {
    let Status { code, message, .. } = status;
    match code {
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

fn is_connecting(error: &Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

/// The innermost cause, which says what went wrong.
fn root(error: &Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn causes(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let error: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(error), |error| error.source())
}
