//! The store's errors for errors of the server and of the client library.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::DbError;

use super::config::PostgresConfig;
use crate::store::error::sanitized;
use crate::store::{StoreError, StoreErrorKind};

// SQLSTATEs, by their names in PostgreSQL's manual or what they mean here.
const READ_ONLY: &str = "25006";
const INVALID_AUTHORIZATION: &str = "28000";
const INVALID_PASSWORD: &str = "28P01";
const UNDEFINED_DATABASE: &str = "3D000";
const UNDEFINED_SCHEMA: &str = "3F000";
const INSUFFICIENT_PRIVILEGE: &str = "42501";
const UNDEFINED_FUNCTION: &str = "42883";
const UNDEFINED_COLUMN: &str = "42703";
const UNDEFINED_TABLE: &str = "42P01";
const ADMIN_SHUTDOWN: &str = "57P01";
const CRASH_SHUTDOWN: &str = "57P02";
const IDLE_SESSION_TIMEOUT: &str = "57P05";
/// A statement that was prepared on the connection is gone, or exists already: only a pooler in
/// between does that.
const UNKNOWN_STATEMENT: &str = "26000";
const DUPLICATE_STATEMENT: &str = "42P05";
const LOCK_NOT_AVAILABLE: &str = "55P03";
const DEADLOCK_DETECTED: &str = "40P01";
const CANNOT_CONNECT_NOW: &str = "57P03";
/// "Feature not supported": a cached plan for a function that was replaced meanwhile, or a function
/// that the server has only by name.
const NOT_SUPPORTED: &str = "0A000";
/// "Object not in prerequisite state".
const NOT_READY: &str = "55000";
/// The names in the refusal of Amazon Aurora unless it writes a log for replicas: the function, or
/// in later versions the setting.
const LOG_POSITION: [&str; 3] = ["pg_current_wal_lsn", "pg_walfile_name", "wal_level"];
const TOO_MANY_CONNECTIONS: &str = "53300";
const OUT_OF_RANGE: &str = "22003";
/// The first two letters of a class of codes.
const DATA_EXCEPTIONS: &str = "22";
const CONSTRAINT_VIOLATIONS: &str = "23";
/// Raised by the functions themselves if the server does not write its log to disk.
const FSYNC_IS_OFF: &str = "TN001";
/// Raised by the functions in a session that is not the one in which the connection began.
const OTHER_SESSION: &str = "TN002";
/// Raised by the functions where a row exists that this user can't see.
const HIDDEN: &str = "TN004";
/// Raised by the functions where the table does not have what they have written.
const ALTERED: &str = "TN006";

pub(super) fn failed(config: &PostgresConfig, error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(error) => refused(config, error),
        // A server may refuse our certificate only after the handshake.
        None => StoreError::about_tls(error)
            .unwrap_or_else(|| StoreError::new(kind_of_client_error(error), with_cause(error))),
    }
}

/// The text of an error of the client, and of its cause.
fn with_cause(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn kind_of_client_error(error: &Error) -> StoreErrorKind {
    if error.is_closed() {
        return StoreErrorKind::Disconnected;
    }
    if let Some(error) = error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        return match error.kind() {
            // The library has read bytes that violate the protocol.
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                StoreErrorKind::UnexpectedReply
            }
            _ => StoreErrorKind::Disconnected,
        };
    }
    // The library does not show its kinds. The second text means that the server needs a password.
    match &*error.to_string() {
        "authentication error" | "invalid configuration" => StoreErrorKind::Authentication,
        _ => StoreErrorKind::UnexpectedReply,
    }
}

fn refused(config: &PostgresConfig, error: &DbError) -> StoreError {
    use StoreErrorKind as Kind;

    let (kind, advice) = match error.code().code() {
        INVALID_PASSWORD | INVALID_AUTHORIZATION => (Kind::Authentication, None),
        INSUFFICIENT_PRIVILEGE => {
            let grants = config.table.grants_on_tables(&config.user);
            let advice =
                format!("LeaseTable::grants_sql has what the user needs: {grants} And EXECUTE ..");
            (Kind::Permission, Some(advice))
        }
        HIDDEN => {
            let table = config.table.object("");
            let advice =
                format!("the user needs a policy on {table} and its past that shows all rows");
            (Kind::Permission, Some(advice))
        }
        ALTERED => {
            let table = config.table.object("");
            let advice = format!(
                "a trigger or a rule on {table} or on its past skips or changes rows: drop it, or have it leave \
                 them as they are"
            );
            (Kind::Refused, Some(advice))
        }
        LOCK_NOT_AVAILABLE => {
            let within = config.lock_timeout;
            let advice = format!(
                "others have kept the election's row, the table or the queue of notifications \
                 locked for longer than the lock_timeout of {within:?}"
            );
            (Kind::Locked, Some(advice))
        }
        DEADLOCK_DETECTED => (Kind::Locked, None),
        UNDEFINED_DATABASE => (Kind::Missing, None),
        UNDEFINED_TABLE | UNDEFINED_FUNCTION | UNDEFINED_SCHEMA => {
            let advice = "LeaseTable::schema_sql has the statements that make it";
            (Kind::Missing, Some(advice.into()))
        }
        UNDEFINED_COLUMN => {
            let advice = "the table was made by another version; drop it, and let LeaseTable::schema_sql make it anew";
            (Kind::Unsupported, Some(advice.into()))
        }
        READ_ONLY => (Kind::NotPrimary, None),
        ADMIN_SHUTDOWN | CRASH_SHUTDOWN | IDLE_SESSION_TIMEOUT => (Kind::Disconnected, None),
        CANNOT_CONNECT_NOW => (Kind::Unreachable, None),
        OTHER_SESSION | UNKNOWN_STATEMENT | DUPLICATE_STATEMENT => {
            let advice = "a pooler in between hands out sessions; connect to the server itself";
            (Kind::Pooler, Some(advice.into()))
        }
        FSYNC_IS_OFF => {
            let advice = "set fsync to on; or, if the hoster reports it off and keeps what it acknowledges all the \
                same, set PostgresConfig::accept_fsync_off (accept_fsync_off=true in the URL)";
            (Kind::NotDurable, Some(advice.into()))
        }
        NOT_SUPPORTED | NOT_READY
            if LOG_POSITION.iter().any(|named| error.message().contains(named)) =>
        {
            let advice = "without the position in its log, a promotion can't be noticed; on Amazon Aurora, set \
                rds.logical_replication to 1 in the parameter group of the cluster, and reboot the writer";
            (Kind::Withheld, Some(advice.into()))
        }
        // Durations are kept far below the highest number, so it is about a token.
        OUT_OF_RANGE => {
            let table = config.table.object("");
            let advice = format!(
                "the highest token that a candidate or {table} knows is {}, and none comes after it: give the \
                 election another name, or another table",
                i64::MAX
            );
            (Kind::BadRecord, Some(advice))
        }
        TOO_MANY_CONNECTIONS => {
            let advice = "each process needs two connections, one of them for wake-ups: raise the role's CONNECTION \
                LIMIT, that of the database, or max_connections";
            (Kind::Refused, Some(advice.into()))
        }
        _ => (Kind::Refused, None),
    };
    let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
    StoreError::new(kind, format!("{} ({}){advice}", error.message(), error.code().code()))
}

/// The error where the table could not be created: it says what a role with more rights has to do.
pub(super) fn not_made(config: &PostgresConfig, error: &Error) -> StoreError {
    let failed = failed(config, error);
    if failed.kind() != StoreErrorKind::Permission {
        return failed;
    }
    let said = error.as_db_error().map_or("", DbError::message);
    let said: String = said.chars().take(100).collect();
    let detail = format!(
        "{said}; a role with more rights must create the table first: LeaseTable::schema_sql has the \
         statements, and LeaseTable::grants_sql \
         what {:?} needs then",
        config.user
    );
    StoreError::new(StoreErrorKind::Permission, detail)
}

/// True if that error is about the values of a row, so that the statement may succeed for other
/// rows.
pub(super) fn is_about_a_row(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        let class = code.code().get(..2);
        class == Some(DATA_EXCEPTIONS) || class == Some(CONSTRAINT_VIOLATIONS)
    })
}

/// The server's words about values for which a statement fails however often it is repeated.
pub(crate) fn refused_values(error: &Error) -> Option<String> {
    let (said, code) = (error.as_db_error()?.message(), error.code()?.code());
    code.starts_with(DATA_EXCEPTIONS).then(|| sanitized(format_args!("{said} ({code})"), 200))
}

/// True if that error says that the connection, or a statement that was prepared on it, is
/// unusable.
pub(super) fn is_fatal(error: &Error) -> bool {
    error.code().is_none_or(|code| {
        matches!(
            code.code(),
            UNDEFINED_TABLE
                | UNDEFINED_FUNCTION
                | UNDEFINED_SCHEMA
                | READ_ONLY
                | ADMIN_SHUTDOWN
                | CRASH_SHUTDOWN
                | IDLE_SESSION_TIMEOUT
                | OTHER_SESSION
                | UNKNOWN_STATEMENT
                | DUPLICATE_STATEMENT
                | NOT_SUPPORTED
        )
    })
}
