//! The store's errors for errors of the client and of the server.

use std::error::Error as Cause;

use etcd_client::Error;

use crate::store::{StoreError, StoreErrorKind};

/// gRPC's status codes, as far as they matter here.
mod code {
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const FAILED_PRECONDITION: i32 = 9;
    pub(super) const UNIMPLEMENTED: i32 = 12;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

/// A request's error. The client's own text is not shown: it may contain more than the value at
/// fault.
pub(super) fn failed(error: &Error) -> StoreError {
    if let Some(error) = StoreError::about_tls(within(error)) {
        return error;
    }
    match error {
        Error::GRpcStatus(status) => answered(i32::from(status.code()), status.message()),
        Error::TransportError(_) | Error::IoError(_) | Error::EndpointError(_) => {
            StoreError::new(StoreErrorKind::Disconnected, root(error))
        }
        // A stream of keepalives has ended with its connection.
        Error::LeaseKeepAliveError(why) => {
            StoreError::new(StoreErrorKind::Disconnected, why.as_str())
        }
        Error::InvalidArgs(_) | Error::InvalidUri(_) => {
            StoreError::new(StoreErrorKind::Unreachable, root(error))
        }
        other => StoreError::new(StoreErrorKind::UnexpectedReply, other.to_string()),
    }
}

/// The same before a connection has ever worked.
pub(super) fn not_connected(endpoint: &str, error: &Error) -> StoreError {
    let error = failed(error);
    match error.kind() {
        StoreErrorKind::Disconnected => {
            StoreError::new(StoreErrorKind::Unreachable, format!("{endpoint}: {error}"))
        }
        _ => error,
    }
}

/// True if the connection is still usable: the member has answered, and another member would answer
/// the same. Whether the request had an effect is unknown, as after every error. A member without
/// space answers `Full` also to a transaction that it has carried out: `quotaApplierV3` in etcd's
/// `apply.go` applies first.
pub(super) fn leaves_connection_usable(kind: StoreErrorKind) -> bool {
    use StoreErrorKind::{BadRecord, Full, Refused, Ttl};
    matches!(kind, BadRecord | Full | Refused | Ttl)
}

fn answered(code: i32, message: &str) -> StoreError {
    use StoreErrorKind as Kind;
    let of_server = message.starts_with("etcdserver:");
    let about_auth = ["auth", "user", "password"].iter().any(|word| message.contains(word));
    let kind = match code {
        code::UNAUTHENTICATED | code::PERMISSION_DENIED => Kind::Authentication,
        code::INVALID_ARGUMENT | code::FAILED_PRECONDITION if about_auth => Kind::Authentication,
        code::RESOURCE_EXHAUSTED if message.contains("space exceeded") => Kind::Full,
        code::UNIMPLEMENTED => Kind::UnsupportedVersion,
        code::UNAVAILABLE | code::DEADLINE_EXCEEDED if of_server => Kind::NoLeader,
        code::UNAVAILABLE | code::DEADLINE_EXCEEDED => Kind::Disconnected,
        code::UNKNOWN if message.contains("leader") => Kind::NoLeader,
        _ if of_server => Kind::Refused,
        _ => Kind::Disconnected,
    };
    if message.is_empty() {
        return StoreError::new(kind, format!("etcd gave no reason, but gRPC's status {code}"));
    }
    StoreError::new(kind, message)
}

/// The error in an error of the client, which names no source itself.
fn within(error: &Error) -> &(dyn Cause + 'static) {
    match error {
        Error::GRpcStatus(inner) => inner,
        Error::TransportError(inner) => inner,
        Error::IoError(inner) => inner,
        other => other,
    }
}

/// The innermost cause, which is the most specific.
fn root(error: &Error) -> String {
    let mut cause = within(error);
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_ends_is_a_connection_that_ends() {
        let error = failed(&Error::LeaseKeepAliveError("channel closed".to_owned()));
        assert_eq!(error.kind(), StoreErrorKind::Disconnected);
        assert!(error.to_string().contains("channel closed"), "{error}");
    }

    #[test]
    fn errors_of_etcd_have_their_kinds() {
        use StoreErrorKind as Kind;
        for (code, message, kind) in [
            (14, "etcdserver: no leader", Kind::NoLeader),
            (14, "etcdserver: request timed out", Kind::NoLeader),
            (14, "tcp connect error", Kind::Disconnected),
            (8, "etcdserver: mvcc: database space exceeded", Kind::Full),
            (8, "etcdserver: too many requests", Kind::Refused),
            (
                3,
                "etcdserver: authentication failed, invalid user ID or password",
                Kind::Authentication,
            ),
            (3, "etcdserver: user name is empty", Kind::Authentication),
            (7, "etcdserver: permission denied", Kind::Authentication),
            (9, "etcdserver: authentication is not enabled", Kind::Authentication),
            (12, "unknown service", Kind::UnsupportedVersion),
            (13, "h2 protocol error", Kind::Disconnected),
            (5, "etcdserver: requested lease not found", Kind::Refused),
        ] {
            assert_eq!(answered(code, message).kind(), kind, "{message}");
        }
    }
}
