//! Checks of a PostgreSQL server.

use tenure::store::postgres::Postgres;
use tenure::store::{AnyStore, StoreError};

use super::errors;
use super::kind::Kind;
use super::report::Report;

/// So many connections are opened to see whether one server answers all of them.
pub(super) const CONNECTIONS: usize = 3;
/// A part of a limit that is nearly all of it, in percent.
const NEARLY: u64 = 90;
/// In seconds. Longer transactions keep old versions of rows from being removed.
const TRANSACTION_MOST: u64 = 600;

/// Checks the configuration, without asking the server.
pub(super) fn check_configuration(postgres: &Postgres, report: &mut Report) {
    if postgres.is_exposed() {
        report.add(Kind::PasswordReadable, "a password is sent without encryption (sslmode)");
    }
}

/// Asks the server. `again` are other connections to the same address.
pub(super) async fn check(postgres: &Postgres, again: &[AnyStore], report: &mut Report) {
    if let Some(version) = value(postgres, "SHOW server_version", report).await {
        report.add(Kind::ServerVersion, format!("the server's version is {version}"));
    } else {
        return;
    }
    settings(postgres, report).await;
    standbys(postgres, report).await;
    connections(postgres, report).await;
    table(postgres, report).await;
    transactions(postgres, report).await;
    if report.has(Kind::Locked) {
        lock_holders(postgres, report).await;
    }
    identities(postgres, again, report).await;
}

/// Every row of a query; none if the server refuses it.
async fn rows(postgres: &Postgres, query: &str, report: &mut Report) -> Vec<Vec<String>> {
    let mut answer = postgres.ask_server(query).await;
    if answer.as_ref().is_err_and(|error| errors::kind(error) == Kind::ConnectionBroken) {
        // A request before this one was given up, and its connection with it. A query may be
        // repeated.
        answer = postgres.ask_server(query).await;
    }
    answer.unwrap_or_else(|error| {
        refused(&error, report);
        Vec::new()
    })
}

/// Not being allowed to ask is no fault: candidates need no such right.
fn refused(error: &StoreError, report: &mut Report) {
    let kind = errors::kind(error);
    if report.has(kind) {
        return;
    }
    match kind {
        Kind::RightMissing | Kind::RequestRefused => {
            report.add(Kind::NotAsked, format!("a query: {error}"));
        }
        _ => report.failed("a query", error),
    }
}

/// The one value of a query.
async fn value(postgres: &Postgres, query: &str, report: &mut Report) -> Option<String> {
    rows(postgres, query, report).await.into_iter().next()?.into_iter().next()
}

async fn settings(postgres: &Postgres, report: &mut Report) {
    let query = "SELECT name, setting FROM pg_settings WHERE name IN \
                 ('fsync', 'full_page_writes', 'idle_session_timeout', 'autovacuum')";
    for row in rows(postgres, query, report).await {
        let [name, setting] = &row[..] else { continue };
        match (name.as_str(), setting.as_str()) {
            ("full_page_writes", "off") => {
                report.add(Kind::FullPageWritesOff, "full_page_writes is off");
            }
            ("autovacuum", "off") => report.add(Kind::AutovacuumOff, "autovacuum is off"),
            ("idle_session_timeout", time) if time != "0" => {
                let text = format!("idle_session_timeout is {time} ms for this user");
                report.add(Kind::IdleConnectionsEnd, text);
            }
            _ => {}
        }
    }
}

async fn standbys(postgres: &Postgres, report: &mut Report) {
    let query = "SELECT current_setting('synchronous_standby_names'), \
                 count(*) FILTER (WHERE sync_state = 'async'), \
                 count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) \
                 FROM pg_stat_replication";
    let rows = rows(postgres, query, report).await;
    let Some([named, asynchronous, synchronous]) = rows.first().map(Vec::as_slice) else { return };
    if !named.is_empty() && synchronous == "0" {
        let text =
            format!("synchronous_standby_names is {named:?}, and no such standby is connected");
        report.add(Kind::ReplicasMissing, text);
    }
    if asynchronous != "0" {
        let text = format!(
            "{asynchronous} standby(s) replicate asynchronously (synchronous_standby_names is {named:?})"
        );
        report.add(Kind::ReplicationAsynchronous, text);
    }
}

async fn connections(postgres: &Postgres, report: &mut Report) {
    let query = "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
                 current_setting('max_connections')::int \
                     - current_setting('superuser_reserved_connections')::int, \
                 'max_connections' \
                 UNION ALL \
                 SELECT (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user), \
                 rolconnlimit, 'the role''s CONNECTION LIMIT' \
                 FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0";
    for row in rows(postgres, query, report).await {
        let [open, most, limit] = &row[..] else { continue };
        let (Ok(open), Ok(most)) = (open.parse::<u64>(), most.parse::<u64>()) else { continue };
        if open.saturating_mul(100) >= most.saturating_mul(NEARLY) {
            let text = format!("{open} of {most} connections are open ({limit})");
            report.add(Kind::ConnectionsNearlyUsed, text);
        }
    }
}

async fn table(postgres: &Postgres, report: &mut Report) {
    let (table, quoted) = (postgres.table(), postgres.table().replace('\'', "''"));
    let query = format!(
        "SELECT relpersistence, coalesce(array_to_string(reloptions, ' '), '') FROM pg_class \
         WHERE oid = to_regclass('{quoted}')"
    );
    let rows = rows(postgres, &query, report).await;
    let Some([kept, options]) = rows.first().map(Vec::as_slice) else { return };
    if kept == "u" {
        report.add(Kind::TableUnlogged, format!("{table} is unlogged"));
    }
    if options.contains("autovacuum_enabled=false") || options.contains("autovacuum_enabled=off") {
        report.add(Kind::AutovacuumOff, format!("{table} has autovacuum_enabled = false"));
    }
}

async fn transactions(postgres: &Postgres, report: &mut Report) {
    let query = format!(
        "SELECT pid, coalesce(usename, ''), coalesce(application_name, ''), \
         extract(epoch FROM now() - xact_start)::bigint FROM pg_stat_activity \
         WHERE xact_start < now() - interval '{TRANSACTION_MOST} s' AND backend_type = 'client backend'"
    );
    for row in rows(postgres, &query, report).await {
        let [process, user, program, age] = &row[..] else { continue };
        let text = format!(
            "process {process} of user {user:?} ({program:?}) has a transaction open for {age} s"
        );
        report.add(Kind::TransactionOpen, text);
    }
}

async fn lock_holders(postgres: &Postgres, report: &mut Report) {
    let quoted = postgres.table().replace('\'', "''");
    let query = format!(
        "SELECT DISTINCT l.pid, coalesce(a.usename, ''), coalesce(a.application_name, '') \
         FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
         WHERE l.relation = to_regclass('{quoted}') AND l.granted AND l.pid <> pg_backend_pid()"
    );
    for row in rows(postgres, &query, report).await {
        let [process, user, program] = &row[..] else { continue };
        report.add(
            Kind::Locked,
            format!("process {process} of user {user:?} ({program:?}) holds a lock"),
        );
    }
}

/// Checks that all connections reach the same server.
async fn identities(postgres: &Postgres, again: &[AnyStore], report: &mut Report) {
    let query = "SELECT extract(epoch FROM pg_postmaster_start_time())";
    let mut found: Vec<String> = value(postgres, query, report).await.into_iter().collect();
    for store in again {
        let Some(postgres) = store.downcast_ref::<Postgres>() else { continue };
        // A connection that is refused has been reported, where it is the first one.
        let Ok(rows) = postgres.ask_server(query).await else { continue };
        found.extend(rows.into_iter().flatten());
    }
    found.sort_unstable();
    found.dedup();
    if found.len() > 1 {
        let text = format!(
            "{} connections have reached {} servers, by the time of their start: {}",
            again.len() + 1,
            found.len(),
            found.join(", ")
        );
        report.add(Kind::SeveralServers, text);
    }
}
