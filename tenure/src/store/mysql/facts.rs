//! The properties of a server and its session, without which nothing is granted there.

use std::collections::BTreeMap;

use super::config::MysqlConfig;
use crate::store::{StoreError, StoreErrorKind};

/// The settings that the session must not leave to the server or the user:
///
/// - each statement is a transaction of its own, which may write;
/// - a read shows what is committed, and a change is written to the log of a server that logs
///   statements;
/// - no value is cut, no row is left out, no statement is refused for what it might cost, and the
///   times of tables are shown in one time zone;
/// - a statement does not wait long for a row or a table that others have locked: those that follow
///   on the connection wait too.
pub(super) const SET_UP: &str = "
    SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE;
    SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', innodb_lock_wait_timeout = 1,
        lock_wait_timeout = 1, sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1";

/// The same at a node of Galera: a read shows what other nodes have committed.
pub(super) const SET_UP_NODE: &str = "SET SESSION wsrep_sync_wait = 7";

pub(super) const VARIABLES: &str = "
    SHOW VARIABLES WHERE Variable_name IN (
        'version', 'pseudo_thread_id', 'server_uid', 'server_uuid', 'wsrep_on', 'log_bin', 'binlog_format', 'read_only')";

/// The oldest servers that the statements are written for.
const OLDEST_MARIADB: (u32, u32) = (10, 5);
const OLDEST_MYSQL: (u32, u32) = (8, 0);

/// A server.
#[derive(Debug)]
pub(super) struct Facts {
    /// The connection, by the server's number.
    pub(super) id: u64,
    /// An expression for the server's name, which no other server of a replicated set has.
    pub(super) server: String,
    pub(super) is_node: bool,
}

impl Facts {
    /// Checks the server's variables; `greeted` is the connection's number in the server's
    /// greeting, of which there are 32 bits.
    pub(super) fn check(
        variables: &BTreeMap<String, String>,
        greeted: u32,
    ) -> Result<Self, StoreError> {
        let is_on = |name: &str| variables.get(name).is_some_and(|value| is_on(value));
        let version = variables.get("version").map(String::as_str).unwrap_or_default();
        is_known(version)?;
        let id = variables.get("pseudo_thread_id").and_then(|id| id.parse::<u64>().ok());
        let id = id.ok_or_else(|| {
            StoreError::new(StoreErrorKind::Withheld, "it has no number of the connection")
        })?;
        is_one_session(u64::from(greeted), id & u64::from(u32::MAX))?;
        if is_on("read_only") {
            return Err(read_only());
        }
        if is_on("log_bin") && variables.get("binlog_format").is_some_and(|it| it == "STATEMENT") {
            let detail = "binlog_format is STATEMENT, by which replicas would lack what is compared here: set it to ROW or \
                          MIXED";
            return Err(StoreError::new(StoreErrorKind::Refused, detail));
        }
        let own = ["server_uuid", "server_uid"].into_iter().find(|it| variables.contains_key(*it));
        let own = own.map_or_else(String::new, |name| format!(", @@{name}"));
        let server = format!("CONCAT_WS('/', @@server_id, @@hostname, @@port{own})");
        Ok(Self { id, server, is_node: is_on("wsrep_on") })
    }
}

/// Checks that every table exists, and has the engine on which the comparison rests.
pub(super) fn are_fit(
    config: &MysqlConfig,
    found: &BTreeMap<String, String>,
) -> Result<(), StoreError> {
    for (name, engine) in config.tables.all().iter().zip(["InnoDB", "InnoDB", "MEMORY"]) {
        // Some servers keep names in lower case.
        let found = found.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        let Some((_, other)) = found else {
            let detail = format!(
                "there is no table {name} in the database {} (`tenure migrate` or MysqlTables::schema_sql has the \
                 statements that make it)",
                config.database
            );
            return Err(StoreError::new(StoreErrorKind::Missing, detail));
        };
        if other.is_empty() {
            let detail = format!("the table {name} is being made by others");
            return Err(StoreError::new(StoreErrorKind::Locked, detail));
        }
        if !other.eq_ignore_ascii_case(engine) {
            let detail = format!("the table {name} has the engine {other}; it must have {engine}");
            return Err(StoreError::new(StoreErrorKind::Unsupported, detail));
        }
    }
    Ok(())
}

/// Checks that a statement went to the session that the connection began with.
pub(super) fn is_one_session(began: u64, now: u64) -> Result<(), StoreError> {
    if began == now {
        return Ok(());
    }
    let detail = format!(
        "the session has the number {now}, and the connection began with {began}; connect to the server itself, or by \
         a proxy that passes bytes on"
    );
    Err(StoreError::new(StoreErrorKind::Pooler, detail))
}

pub(super) fn read_only() -> StoreError {
    StoreError::new(StoreErrorKind::NotPrimary, "its read_only is on")
}

pub(crate) fn is_on(value: &str) -> bool {
    !["0", "OFF"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// Such as `10.11.6-MariaDB-log`, `5.5.5-10.4.32-MariaDB` or `8.0.36`.
fn is_known(version: &str) -> Result<(), StoreError> {
    let is_mariadb = version.contains("MariaDB");
    let own = if is_mariadb { version.trim_start_matches("5.5.5-") } else { version };
    let mut parts = own.split(['.', '-']).map(|part| part.parse().unwrap_or_default());
    let found = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (name, oldest) =
        if is_mariadb { ("MariaDB", OLDEST_MARIADB) } else { ("MySQL", OLDEST_MYSQL) };
    if found >= oldest {
        return Ok(());
    }
    let (major, minor) = oldest;
    let detail = format_args!("the server is {name} {own}; it must be {major}.{minor} or later");
    Err(StoreError::showing(StoreErrorKind::UnsupportedVersion, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(changed: (&str, &str)) -> BTreeMap<String, String> {
        let known = [
            ("version", "10.11.6-MariaDB"),
            ("pseudo_thread_id", "7"),
            ("server_uid", "u"),
            ("log_bin", "ON"),
            ("binlog_format", "MIXED"),
            ("read_only", "OFF"),
            changed,
        ];
        known.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn servers_that_would_break_a_promise_are_refused() {
        for (name, value, kind) in [
            ("version", "10.4.32-MariaDB", StoreErrorKind::UnsupportedVersion),
            ("version", "5.5.5-10.4.32-MariaDB", StoreErrorKind::UnsupportedVersion),
            ("version", "5.7.44", StoreErrorKind::UnsupportedVersion),
            ("version", "", StoreErrorKind::UnsupportedVersion),
            ("pseudo_thread_id", "", StoreErrorKind::Withheld),
            ("pseudo_thread_id", "8", StoreErrorKind::Pooler),
            ("read_only", "ON", StoreErrorKind::NotPrimary),
            ("read_only", "NO_LOCK", StoreErrorKind::NotPrimary),
            ("binlog_format", "STATEMENT", StoreErrorKind::Refused),
        ] {
            let error = Facts::check(&variables((name, value)), 7).unwrap_err();
            assert_eq!(error.kind(), kind, "{name} {value}: {error}");
        }
        for version in ["10.5.1-MariaDB-log", "5.5.5-11.4.2-MariaDB", "8.0.36", "8.4.0-cluster"] {
            let facts = Facts::check(&variables(("version", version)), 7).unwrap();
            assert!(facts.server.ends_with("@@server_uid)") && !facts.is_node, "{facts:?}");
        }
    }
}
