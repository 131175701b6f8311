//! Servers and tables on which the promises would not hold.

use std::time::Duration;

use tenure::store::mysql::{Mysql, MysqlTables};
use tenure::store::{Credentials, Request, Secret, Store, StoreError, StoreErrorKind};
use tenure_servers::MariadbServer;

use super::support::{
    acquire, at, call, granted, granted_in_the_end, leads_all, local, release, renew, server,
    unused_port, with_tables,
};

async fn refused(store: &impl Store) -> StoreError {
    call(store, acquire(1, None)).await.unwrap_err()
}

fn assert_says(error: &StoreError, kind: StoreErrorKind, words: &str) {
    assert!(error.kind() == kind && error.to_string().contains(words), "{error:?}");
}

#[tokio::test]
async fn statements_that_are_logged_as_such_are_refused() {
    let server = MariadbServer::start_with(&["--log-bin", "--binlog-format=STATEMENT"]).unwrap();
    assert_says(&refused(&at(server.port())).await, StoreErrorKind::Refused, "ROW or MIXED");
}

#[tokio::test]
async fn tables_of_other_engines_are_refused() {
    let server = with_tables();
    server.sql("ALTER TABLE tenure_leases_boot ENGINE = InnoDB").unwrap();
    let error = refused(&at(server.port())).await;
    assert_says(&error, StoreErrorKind::Unsupported, "it must have MEMORY");
}

#[tokio::test]
async fn missing_tables_are_named() {
    let server = server();
    let store = Mysql::new(local(server.port()).create_tables(false));
    assert_says(&refused(&store).await, StoreErrorKind::Missing, "no table tenure_leases ");
    let other = MysqlTables::new("leads").unwrap();
    server.sql(&other.schema_sql()).unwrap();
    let store = Mysql::new(local(server.port()).create_tables(false).tables(other));
    granted_in_the_end(&store, acquire(1, None)).await;
}

/// A user with the rights of the page, and without one of them.
#[tokio::test]
async fn few_rights_are_enough() {
    let server = with_tables();
    let grants = MysqlTables::default().grants_sql("app");
    server.sql(&format!("CREATE USER 'app'@'%' IDENTIFIED BY 'hunter2'; {grants}")).unwrap();
    let config = |password: &str| {
        let login = Credentials::new("app", Secret::new(password));
        local(server.port()).credentials(login)
    };
    let store = Mysql::new(config("hunter2"));
    let token = granted_in_the_end(&store, acquire(1, None)).await;
    assert_eq!(store.keys().await.unwrap().len(), 1);
    let error = refused(&Mysql::new(config("hunter3"))).await;
    assert_says(&error, StoreErrorKind::Authentication, "Access denied");
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
    server.sql("REVOKE UPDATE ON tenure_leases FROM 'app'@'%'").unwrap();
    let error = call(&Mysql::new(config("hunter2")), acquire(1, None)).await.unwrap_err();
    assert_says(&error, StoreErrorKind::Permission, "UPDATE");
    server.sql("GRANT UPDATE ON tenure_leases TO 'app'@'%'").unwrap();
    call(&store, release(1, token)).await.unwrap();
    let error = store.purge(Duration::ZERO).await.unwrap_err();
    assert_says(&error, StoreErrorKind::Permission, "needs: GRANT DELETE ON `tenure_leases`");
    server.sql("GRANT DELETE ON tenure_leases TO 'app'@'%'").unwrap();
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1);
}

/// Settings of the server that would break a statement or an answer, if the session left them.
#[tokio::test]
async fn odd_servers_are_used() {
    let odd = [
        "--autocommit=0",
        "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_ZERO_DATE",
        "--transaction-isolation=READ-UNCOMMITTED",
        "--character-set-server=utf8mb3",
        "--default-time-zone=+09:00",
        "--innodb-lock-wait-timeout=1000",
        "--transaction-read-only=1",
    ];
    let server = MariadbServer::start_with(&odd).unwrap();
    server
        .sql(
            "SET GLOBAL sql_select_limit = 1; SET GLOBAL sql_safe_updates = 1; SET GLOBAL sql_big_selects = 0; \
             SET GLOBAL max_join_size = 1",
        )
        .unwrap();
    let store = at(server.port());
    leads_all(&store, 3).await;
    assert_eq!(store.keys().await.unwrap().len(), 3);
    let token = granted(&store, acquire(1, None)).await;
    // Another session sees it: it is committed.
    let rows = server.sql("SET sql_big_selects = 1; SELECT COUNT(*) FROM tenure_leases").unwrap();
    assert_eq!(rows, "4");
    call(&at(server.port()), Request::Observe).await.unwrap();
    call(&store, renew(1, token)).await.unwrap();
    call(&store, release(1, token)).await.unwrap();
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1);
}

/// They are compared as the server compares them.
#[tokio::test]
async fn names_may_be_kept_in_lower_case() {
    let server = MariadbServer::start_with(&["--lower-case-table-names=1"]).unwrap();
    let tables = MysqlTables::new("Leads").unwrap();
    let store = Mysql::new(local(server.port()).tables(tables));
    granted_in_the_end(&store, acquire(1, None)).await;
}

/// A connection makes them, so the one that has met it is not kept.
#[tokio::test]
async fn tables_that_were_dropped_are_made_again() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    server.sql("DROP DATABASE app; CREATE DATABASE app").unwrap();
    let error = call(&store, acquire(2, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing, "{error}");
    granted_in_the_end(&store, acquire(3, None)).await;
}

#[tokio::test]
async fn a_closed_port_is_named() {
    let port = unused_port();
    let error = refused(&at(port)).await;
    assert_says(&error, StoreErrorKind::Unreachable, &port.to_string());
}

#[tokio::test]
async fn encryption_that_is_not_offered_is_refused() {
    let server = server();
    let tls = tenure::tls::TlsConfig::system().unwrap();
    let store = Mysql::new(local(server.port()).tls(tls));
    let error = refused(&store).await;
    assert_eq!(error.kind(), StoreErrorKind::Tls, "{error:?}");
}
