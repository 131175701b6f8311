//! Poolers, rights that are missing, and functions of another version.

use std::time::Duration;

use tenure::store::postgres::{AdvisoryConfig, LeaseTable, PostgresAdvisory, PostgresConfig};
use tenure::store::{Reply, Request, StoreErrorKind};
use tenure_servers::PgBouncer;

use super::{at, holders};
use crate::postgres::support::{
    acquire, all_requests, call, client, granted, local, release, renew, server, soon,
};

async fn refuses(store: &PostgresAdvisory, kind: StoreErrorKind, says: &str) {
    for request in all_requests() {
        let error = call(store, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler() {
    let server = server();
    let direct = at(server.port());
    granted(&direct, acquire(1, None)).await;
    let pooler = PgBouncer::start(&server, 2).unwrap();
    let store = at(pooler.port());
    refuses(&store, StoreErrorKind::Pooler, "connect to the server itself").await;
    // The settings of shared sessions are unchanged.
    let guest = client(pooler.port()).await;
    let path = guest.simple_query("SHOW search_path").await.unwrap();
    assert!(format!("{path:?}").contains("$user"), "{path:?}");
    assert_eq!(holders(&server).len(), 1);
}

/// The functions themselves refuse a pooler that passes on the numbers of the server's processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_was_not_noticed() {
    let server = server();
    let direct = at(server.port());
    let (token, _) = granted(&direct, acquire(1, None)).await;
    let pooler = PgBouncer::start(&server, 2).unwrap();
    let (one, two) = (client(pooler.port()).await, client(pooler.port()).await);
    one.simple_query("SELECT set_config('tenure.session', 'one', false)").await.unwrap();
    let holder = "decode(repeat('00', 15) || '07', 'hex')";
    let asks = [
        format!(
            "leases_locked_acquire('x', {holder}, 0, 60000000, '', '', 60000000, '', '', true, 7, false, 'one', false)"
        ),
        format!(
            "leases_locked_renew('x', {holder}, {token}, 60000000, NULL, NULL, 7, false, 'one')"
        ),
        format!("leases_locked_release('x', {holder}, {token}, 7, false, 'one')"),
    ];
    // A transaction of another client gets the session that was used last.
    let mut refused = 0;
    two.simple_query("BEGIN").await.unwrap();
    for ask in &asks {
        let asked = one.simple_query(&format!("SELECT * FROM tenure.{ask}")).await;
        let error = asked.unwrap_err();
        assert_eq!(
            error.code().map(tokio_postgres::error::SqlState::code),
            Some("TN002"),
            "{error}"
        );
        refused += 1;
    }
    two.simple_query("COMMIT").await.unwrap();
    assert_eq!((refused, holders(&server).len()), (asks.len(), 1), "and no lock was left behind");

    let says = "CREATE OR REPLACE FUNCTION tenure.leases_lock_check(session text) RETURNS void \
         LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'TN002'; END $$";
    server.sql(says).unwrap();
    let error = call(&at(server.port()), acquire(2, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Pooler, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_and_newer_functions_are_refused() {
    let server = server();
    let config = AdvisoryConfig::new(local(server.port()).create_table(false));
    let store = PostgresAdvisory::new(config);
    refuses(&store, StoreErrorKind::Missing, "LeaseTable::schema_sql").await;
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    refuses(&store, StoreErrorKind::Missing, "LeaseTable::advisory_sql").await;
    // The shipped file, which may be run again.
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure/src/store/postgres/sql/advisory.sql");
    let file = std::fs::read_to_string(file).unwrap();
    server.sql(&file).unwrap();
    let (token, _) = granted(&store, acquire(1, None)).await;
    server.sql(&file).unwrap();
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    let newer = "CREATE OR REPLACE FUNCTION tenure.leases_locked_version() RETURNS integer \
         LANGUAGE sql IMMUTABLE AS 'SELECT 2'";
    server.sql(newer).unwrap();
    let kind = StoreErrorKind::UnsupportedVersion;
    refuses(&at(server.port()), kind, "has version 2; this store knows 1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_need_no_further_rights() {
    let server = server();
    let table =
        LeaseTable::new("elec\"tions", "Leads of at most forty-eight bytes: not one more").unwrap();
    server.sql("CREATE ROLE weak LOGIN; GRANT CONNECT ON DATABASE postgres TO weak").unwrap();
    let weak = PostgresConfig::new("127.0.0.1", server.port(), "weak").database("postgres");
    let weak = weak.table(table.clone()).trust_empty_store(true);
    let weak = weak.connect_timeout(Duration::from_secs(5));
    let store = PostgresAdvisory::new(AdvisoryConfig::new(weak));
    refuses(&store, StoreErrorKind::Permission, "permission denied for database postgres").await;
    server.sql("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC").unwrap();
    server.sql(&table.schema_sql()).unwrap();
    server.sql(&table.advisory_sql()).unwrap();
    let grants = table.grants_sql("weak");
    let grants = format!("{grants}{}", table.advisory_grants_sql("weak"));
    for grant in grants.split_inclusive(';') {
        let error = call(&store, acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
        assert!(error.to_string().contains("GRANT USAGE ON SCHEMA"), "{error}");
        assert!(holders(&server).is_empty());
        server.sql(grant).unwrap();
    }
    let (token, _) = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    assert!(matches!(call(&store, Request::Observe).await.unwrap(), Reply::Held(_)));
    // It may end its own sessions, and takes its lock back.
    let ends =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenure'";
    server.sql_as("weak", "postgres", ends).unwrap();
    let renewed = soon(crate::postgres::support::answered(&store, renew(1, token))).await;
    assert_eq!(renewed, Reply::Renewed);
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    assert!(holders(&server).is_empty());
}
