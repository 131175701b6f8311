//! The rights that a role needs, and those that other roles have on the table.

use std::time::Duration;

use tenure::store::postgres::{LeaseTable, Postgres, PostgresConfig};
use tenure::store::{Reply, Request, Store, StoreErrorKind};

use super::refusals::refuses;
use super::support::{
    RENEWED, acquire, all_requests, at, call, granted, held, local, release, renew, server,
    unix_micros,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_names_the_missing_rights() {
    let server = server();
    let table = LeaseTable::new("elec\"tions", "Leads").unwrap();
    server
        .sql("CREATE ROLE \"wee'k\" LOGIN; GRANT CONNECT ON DATABASE postgres TO \"wee'k\"")
        .unwrap();
    let weak = || {
        let config = PostgresConfig::new("127.0.0.1", server.port(), "wee'k").database("postgres");
        config.table(table.clone()).trust_empty_store(true).connect_timeout(Duration::from_secs(5))
    };
    let (kind, store) = (StoreErrorKind::Permission, Postgres::new(weak()));
    // It may not make the table, and grants on one that is not there would not help.
    let says = "permission denied for database postgres";
    refuses(&store, &all_requests(), kind, says).await;
    refuses(&store, &all_requests()[..1], kind, "LeaseTable::schema_sql").await;
    // As cautious administrators set it up.
    server.sql("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC").unwrap();
    server.sql(&table.schema_sql()).unwrap();
    // Nor use it before its rights are granted.
    let grants = table.grants_sql("wee'k");
    for grant in grants.split_inclusive(';') {
        let error = call(&store, acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("GRANT USAGE ON SCHEMA \"elec\"\"tions\""), "{error}");
        server.sql(grant).unwrap();
    }
    // The grants that the error names are enough for everything but purging.
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    held(&store, Request::Observe).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    let error = store.purge(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), kind);
    assert!(error.to_string().contains("GRANT DELETE ON \"elec\"\"tions\".\"Leads\""), "{error}");
    // And for nothing else.
    let drop = server.sql_as("wee'k", "postgres", "DROP TABLE \"elec\"\"tions\".\"Leads\"");
    drop.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_is_read_only_stays_so() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    server.sql("ALTER ROLE postgres SET default_transaction_read_only = on").unwrap();
    let says = "default_transaction_read_only is on";
    refuses(&at(server.port()), &all_requests(), StoreErrorKind::Refused, says).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_security_that_hides_the_row_is_named() {
    let server = server();
    server.sql("CREATE ROLE app LOGIN").unwrap();
    let table = LeaseTable::default();
    server.sql(&(table.schema_sql() + &table.grants_sql("app"))).unwrap();
    granted(&at(server.port()), acquire(1, None)).await;
    let app = || {
        let config = PostgresConfig::new("127.0.0.1", server.port(), "app").database("postgres");
        Postgres::new(config.trust_empty_store(true))
    };
    let hides = "CREATE POLICY writes ON tenure.{} FOR INSERT WITH CHECK (true); \
         ALTER TABLE tenure.{} ENABLE ROW LEVEL SECURITY";
    for hidden in ["leases_past", "leases"] {
        server.sql(&hides.replace("{}", hidden)).unwrap();
        // Bounded, so that the server does not wait for ever.
        let seen = tenure::Token::new(unix_micros() + 1_000_000_000);
        server.sql("UPDATE tenure.leases SET released = true").unwrap();
        let error = call(&app(), acquire(2, seen)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Permission, "{hidden}: {error}");
        assert!(error.to_string().contains("row security hides a row"), "{hidden}: {error}");
        assert!(error.to_string().contains("a policy on"), "{hidden}: {error}");
    }
}

/// Its functions would run with the rights of every user that calls them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_of_a_stranger_are_not_called() {
    let server = server();
    server
        .sql("CREATE ROLE stranger LOGIN; GRANT CREATE ON DATABASE postgres TO stranger")
        .unwrap();
    let trap = "CREATE SCHEMA tenure; CREATE FUNCTION tenure.leases_version() RETURNS integer \
         LANGUAGE sql AS 'ALTER ROLE stranger SUPERUSER; SELECT 1'";
    server.sql_as("stranger", "postgres", trap).unwrap();
    let kind = StoreErrorKind::Permission;
    let says = "belongs to the role stranger";
    refuses(&at(server.port()), &all_requests(), kind, says).await;
    let rights = "SELECT rolsuper FROM pg_roles WHERE rolname = 'stranger'";
    assert_eq!(server.sql(rights).unwrap(), "f");
    // A table or a function of its own in a schema of ours is no better.
    server.sql("DROP SCHEMA tenure CASCADE; CREATE SCHEMA tenure").unwrap();
    server.sql("GRANT ALL ON SCHEMA tenure TO stranger").unwrap();
    let late =
        "CREATE FUNCTION tenure.leases_hidden() RETURNS text LANGUAGE sql AS 'SELECT 1::text'";
    server.sql_as("stranger", "postgres", late).unwrap();
    let says = "the function leases_hidden belongs to the role stranger";
    refuses(&at(server.port()), &all_requests()[..1], kind, says).await;
    // A store that relies on the role says so, or its user is a member of it.
    server.sql("DROP SCHEMA tenure CASCADE; GRANT stranger TO postgres").unwrap();
    server.sql("CREATE ROLE app LOGIN; GRANT stranger TO app").unwrap();
    server.sql_as("stranger", "postgres", &LeaseTable::default().schema_sql()).unwrap();
    let app = PostgresConfig::new("127.0.0.1", server.port(), "app").database("postgres");
    call(&Postgres::new(app), Request::Observe).await.unwrap();
    let relies = Postgres::new(local(server.port()).create_table(false));
    call(&relies, Request::Observe).await.unwrap();
}
