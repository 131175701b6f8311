//! Faults of PostgreSQL servers, and of the way to them.

use std::time::Duration;

use tenure_servers::{PgBouncer, PostgresServer, ServerClock};

use super::fakes::{balances, delays, says};
use super::shell::Shell;
use super::{Fault, Planted, each_is_found};

fn url(port: u16, rest: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres{rest}")
}

fn at(server: PostgresServer) -> Planted {
    Planted::at(url(server.port(), "")).keeps(server)
}

fn with(settings: &[&str]) -> Planted {
    at(PostgresServer::start_with(settings).unwrap())
}

/// A server in which elections were, and then this was carried out.
fn used(settings: &[&str], sql: &[&str]) -> (Planted, PostgresServer) {
    let server = PostgresServer::start_with(settings).unwrap();
    let planted = Planted::at(url(server.port(), ""));
    let found = planted.examine();
    assert!(found.status < 69, "{found:#?}");
    for sql in sql {
        server.sql(sql).unwrap();
    }
    (planted, server)
}

fn changed(sql: &[&str]) -> Planted {
    let (planted, server) = used(&[], sql);
    planted.keeps(server)
}

/// A user with all rights that a candidate needs, but for what this takes away.
fn as_app(without: &[&str]) -> Planted {
    let (_, server) = used(&[], &["CREATE ROLE app LOGIN"]);
    for sql in [
        "GRANT USAGE ON SCHEMA tenure TO app",
        "GRANT SELECT, INSERT, UPDATE ON tenure.leases, tenure.leases_past TO app",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON tenure.leases_messages TO app",
    ]
    .iter()
    .chain(without)
    {
        server.sql(sql).unwrap();
    }
    let url = format!("postgres://app@127.0.0.1:{}/postgres", server.port());
    Planted::at(url).keeps(server)
}

/// In a database in which nothing may be created.
fn as_stranger() -> Planted {
    let server = PostgresServer::start().unwrap();
    server.sql("CREATE ROLE app LOGIN").unwrap();
    Planted::at(format!("postgres://app@127.0.0.1:{}/postgres", server.port())).keeps(server)
}

fn with_password(given: &str) -> Planted {
    let server = PostgresServer::start().unwrap();
    server.sql("CREATE ROLE app LOGIN PASSWORD 'secret'").unwrap();
    server.authenticate("host all all 127.0.0.1/32 scram-sha-256").unwrap();
    let url = format!("postgres://app{given}@127.0.0.1:{}/postgres", server.port());
    Planted::at(url).keeps(server)
}

fn no_server() -> Planted {
    let mut server = PostgresServer::start().unwrap();
    server.stop().unwrap();
    at(server)
}

fn a_standby(settings: &[&str]) -> (PostgresServer, PostgresServer) {
    let primary = PostgresServer::start_with(settings).unwrap();
    let standby = primary.replica(&[]).unwrap();
    super::super::hosts::wait_until("a standby", || {
        primary.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'").unwrap()
            == "1"
    });
    (primary, standby)
}

/// Commits wait for a standby that there is not.
fn without_synchronous_standby() -> Planted {
    let (planted, server) = used(
        &[],
        &["ALTER SYSTEM SET synchronous_standby_names = 'far'", "SELECT pg_reload_conf()"],
    );
    planted.keeps(server)
}

/// A lock on the table, for as long as a session lasts.
fn locked(sql: &str) -> Planted {
    let (planted, server) = used(&[], &[]);
    let session = Shell::at(&server, &format!("BEGIN; {sql};"));
    planted.keeps((session, server))
}

/// A transaction that began an hour ago, by the server's clock.
fn a_long_transaction() -> Planted {
    let mut clock = ServerClock::start(0).unwrap();
    let server = PostgresServer::start_with_clock(&[], &clock).unwrap();
    let session = Shell::at(&server, "BEGIN; SELECT 1;");
    clock.step(3_600_000).unwrap();
    at(server).keeps((session, clock))
}

fn with_clock(by_ms: i64) -> Planted {
    let mut clock = ServerClock::start(0).unwrap();
    clock.step(by_ms).unwrap();
    at(PostgresServer::start_with_clock(&[], &clock).unwrap()).keeps(clock)
}

fn behind_pgbouncer() -> Planted {
    let server = PostgresServer::start().unwrap();
    let pooler = PgBouncer::start(&server, 2).unwrap();
    Planted::at(url(pooler.port(), "")).keeps((pooler, server))
}

fn behind_a_balancer() -> Planted {
    let servers = [PostgresServer::start().unwrap(), PostgresServer::start().unwrap()];
    // The first two connections are those for requests and wake-ups.
    let [one, other] = [0, 1].map(|number: usize| servers[number].port());
    let port = balances(vec![one, one, other]);
    Planted::at(url(port, "")).keeps(servers)
}

fn far_away() -> Planted {
    let server = PostgresServer::start().unwrap();
    let port = delays(server.port(), Duration::from_millis(75));
    Planted::at(url(port, "")).keeps(server).set("TENURE_TTL", "2s")
}

fn with_connections(count: usize) -> Planted {
    let server = PostgresServer::start_with(&[
        "max_connections=13",
        "superuser_reserved_connections=0",
        "max_wal_senders=0",
    ])
    .unwrap();
    let sessions: Vec<_> = (0..count).map(|_| Shell::at(&server, "")).collect();
    at(server).keeps(sessions)
}

pub(super) const FAULTS: &[Fault] = &[
    ("no server at the port", "unreachable", no_server),
    ("a name that no server has", "unreachable", || {
        Planted::at("postgres://app@postgres.invalid/app")
    }),
    ("a server that closes each connection", "connection-broken", || {
        Planted::at(url(says(""), ""))
    }),
    ("a web server", "connection-broken", || {
        Planted::at(url(says("HTTP/1.1 400 Bad Request\r\n\r\n"), ""))
    }),
    ("encryption that the server lacks", "tls-refused", || {
        let server = PostgresServer::start().unwrap();
        Planted::at(url(server.port(), "?sslmode=require")).keeps(server)
    }),
    ("no password", "credentials-refused", || with_password("")),
    ("a wrong password", "credentials-refused", || with_password(":wrong")),
    ("a user that does not exist", "credentials-refused", || {
        let server = PostgresServer::start().unwrap();
        Planted::at(format!("postgres://nobody@127.0.0.1:{}/postgres", server.port())).keeps(server)
    }),
    ("a rule against this client", "credentials-refused", || {
        let server = PostgresServer::start().unwrap();
        server.sql("CREATE ROLE app LOGIN").unwrap();
        server.authenticate("host all app 127.0.0.1/32 reject").unwrap();
        Planted::at(format!("postgres://app@127.0.0.1:{}/postgres", server.port())).keeps(server)
    }),
    ("a password to another machine", "password-readable", || {
        Planted::at("postgres://app:secret@postgres.invalid/app")
    }),
    ("a database that does not exist", "elections-missing", || {
        let server = PostgresServer::start().unwrap();
        Planted::at(format!("postgres://postgres@127.0.0.1:{}/nothing", server.port()))
            .keeps(server)
    }),
    ("no right to create the table", "right-missing", as_stranger),
    ("no right to the schema", "right-missing", || {
        as_app(&["REVOKE USAGE ON SCHEMA tenure FROM app"])
    }),
    ("no right to insert", "right-missing", || {
        as_app(&["REVOKE INSERT ON tenure.leases FROM app"])
    }),
    ("no right to update", "right-missing", || {
        as_app(&["REVOKE UPDATE ON tenure.leases FROM app"])
    }),
    ("no right to the past", "right-missing", || {
        as_app(&["REVOKE ALL ON tenure.leases_past FROM app"])
    }),
    ("rows are hidden", "right-missing", || {
        as_app(&["ALTER TABLE tenure.leases_past ENABLE ROW LEVEL SECURITY"])
    }),
    ("a function may not be called", "right-missing", || {
        as_app(&["REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA tenure FROM PUBLIC"])
    }),
    ("a table of an earlier version", "version-unsupported", || {
        changed(&[
            "DROP SCHEMA tenure CASCADE",
            "CREATE SCHEMA tenure",
            "CREATE TABLE tenure.leases (key bytea)",
        ])
    }),
    ("a table of a later version", "version-unsupported", || {
        changed(&[
            "CREATE OR REPLACE FUNCTION tenure.leases_version() RETURNS int LANGUAGE sql AS 'SELECT 99'",
        ])
    }),
    ("only reads by default", "read-only-default", || {
        changed(&["ALTER ROLE postgres SET default_transaction_read_only = on"])
    }),
    ("a standby", "not-primary", || {
        let (primary, standby) = a_standby(&[]);
        at(standby).keeps(primary)
    }),
    ("asynchronous replication", "replication-asynchronous", || {
        let (primary, standby) = a_standby(&[]);
        at(primary).keeps(standby)
    }),
    ("commits wait for a standby: an answer", "no-answer", without_synchronous_standby),
    ("commits wait for a standby: which", "replicas-missing", without_synchronous_standby),
    ("no flush", "not-durable", || with(&["fsync=off"])),
    ("pages are not written in full", "full-page-writes-off", || with(&["full_page_writes=off"])),
    ("an unlogged table", "table-unlogged", || {
        changed(&["ALTER TABLE tenure.leases SET UNLOGGED"])
    }),
    ("no autovacuum", "autovacuum-off", || with(&["autovacuum=off"])),
    ("no autovacuum of the table", "autovacuum-off", || {
        changed(&["ALTER TABLE tenure.leases SET (autovacuum_enabled = false)"])
    }),
    ("a transaction that stays open", "transaction-open", a_long_transaction),
    ("a lock on the table", "locked", || locked("LOCK TABLE tenure.leases")),
    ("locks on the rows", "locked", || {
        locked(
            "SELECT count(*) FROM (SELECT 1 FROM tenure.leases_past FOR UPDATE) AS a; SELECT 1 FROM tenure.leases FOR UPDATE",
        )
    }),
    ("idle sessions end", "idle-connections-end", || with(&["idle_session_timeout=60s"])),
    ("nearly all connections are used", "connections-nearly-used", || with_connections(11)),
    ("all connections are used", "connections-used-up", || with_connections(13)),
    ("the role has one connection", "wake-ups-missing", || {
        as_app(&["ALTER ROLE app CONNECTION LIMIT 1"])
    }),
    ("pgbouncer", "pooler-between", behind_pgbouncer),
    ("two servers at one address", "several-servers", behind_a_balancer),
    ("a clock behind", "clocks-apart", || with_clock(-60_000)),
    ("a long way", "round-trips-slow", far_away),
];

#[test]
fn faults_of_postgres_are_found() {
    each_is_found(FAULTS);
}

#[test]
fn a_healthy_postgres_has_no_problem() {
    let planted = with(&[]);
    // New, and then used.
    planted.is_healthy();
    planted.is_healthy();
    as_app(&[]).is_healthy();
}

#[test]
fn the_holder_of_a_lock_is_named_with_postgres() {
    let found = locked("LOCK TABLE tenure.leases").examine();
    assert!(format!("{found:?}").contains("holds a lock"), "{found:#?}");
}

#[test]
fn secrets_of_postgres_are_not_shown() {
    let found = with_password(":hunter2").examine();
    assert_eq!(found.status, 69);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:#?}");
}
