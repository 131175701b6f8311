//! The store's errors for errors of the server and of the client library.

use std::io;

use mysql_async::{DriverError, Error, IoError, ServerError};

use crate::store::{StoreError, StoreErrorKind};

pub(crate) fn failed(error: &Error) -> StoreError {
    // A server may refuse our certificate only after the handshake.
    if let Some(error) = StoreError::about_tls(error) {
        return error;
    }
    match error {
        Error::Server(error) => StoreError::showing(kind_of(error), said(error)),
        Error::Io(IoError::Io(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                StoreError::new(StoreErrorKind::Unreachable, "refused; nothing listens there")
            }
            _ => StoreError::showing(StoreErrorKind::Disconnected, error),
        },
        Error::Io(error @ IoError::Tls(_)) => StoreError::showing(StoreErrorKind::Tls, error),
        Error::Driver(error) => StoreError::showing(kind_of_driver(error), error),
        Error::Other(error) => StoreError::showing(StoreErrorKind::UnexpectedReply, error),
        Error::Url(error) => StoreError::showing(StoreErrorKind::Refused, error),
    }
}

fn said(error: &ServerError) -> String {
    format!("{} (error {})", error.message, error.code)
}

/// By the numbers of the servers' manuals.
fn kind_of(error: &ServerError) -> StoreErrorKind {
    match error.code {
        // Access denied; no such plugin; a password is needed.
        1045 | 1251 | 1524 | 1698 | 1820 | 1862 | 4151 => StoreErrorKind::Authentication,
        // Of a database, a table, a column, a privilege, a routine.
        1044 | 1142 | 1143 | 1227 | 1370 => StoreErrorKind::Permission,
        // No database, table or column.
        1049 | 1051 | 1054 | 1146 | 1932 => StoreErrorKind::Missing,
        // `read_only` and its kin, a transaction that only reads.
        1290 | 1792 | 1836 => StoreErrorKind::NotPrimary,
        // A wait for a lock, a deadlock or a refused certification, NOWAIT.
        1205 | 1213 | 3572 => StoreErrorKind::Locked,
        // The disk, a table.
        1021 | 1114 => StoreErrorKind::Full,
        // Shutdown, a connection or a statement that was killed.
        1053 | 1079 | 1080 | 1317 | 1927 | 2006 | 2013 => StoreErrorKind::Disconnected,
        // The node has no part in the cluster's majority.
        1047 => StoreErrorKind::NoLeader,
        // Encrypted connections alone are let in.
        3159 | 4263 => StoreErrorKind::Tls,
        _ => StoreErrorKind::Refused,
    }
}

fn kind_of_driver(error: &DriverError) -> StoreErrorKind {
    match error {
        DriverError::ConnectionClosed => StoreErrorKind::Disconnected,
        DriverError::NoClientSslFlagFromServer => StoreErrorKind::Tls,
        DriverError::UnknownAuthPlugin { .. }
        | DriverError::MysqlOldPasswordDisabled
        | DriverError::CleartextPluginDisabled => StoreErrorKind::Authentication,
        _ => StoreErrorKind::UnexpectedReply,
    }
}
