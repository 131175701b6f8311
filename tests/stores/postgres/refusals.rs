//! Real servers that are not what they should be, and users that may not do what they should: each
//! says so by a typed error, and grants nothing.

use std::time::Duration;

use tenure::store::postgres::{LeaseTable, Postgres, PostgresConfig};
use tenure::store::{Credentials, Key, Request, Secret, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{
    RENEWED, SOON, acquire, after_watching, all_requests, answered, at, call, client, granted,
    granted_after_a_watch, held, local, port_that_answers, release, renew, server, shown, soon,
    unused_port,
};

const PASSWORD: &str = "correct-horse";

/// Every request fails like that, says that, and does not show the password.
pub(crate) async fn refuses(
    store: &Postgres,
    requests: &[Request],
    kind: StoreErrorKind,
    says: &str,
) {
    for request in requests {
        let error = call(store, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
        let shown = format!("{error} {error:?} {store:?}");
        assert!(shown.contains(says), "{shown}");
        assert!(!shown.contains("horse"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_missing_or_wrong() {
    let server = server();
    server.sql("CREATE ROLE app LOGIN PASSWORD 'correct-horse'").unwrap();
    server.sql("CREATE DATABASE app OWNER app").unwrap();
    for method in ["scram-sha-256", "password"] {
        server.authenticate(&format!("host all all 127.0.0.1/32 {method}")).unwrap();
        let port = server.port();
        let app = || {
            let config = PostgresConfig::new("127.0.0.1", port, "app").trust_empty_store(true);
            config.connect_timeout(Duration::from_secs(5))
        };
        let kind = StoreErrorKind::Authentication;
        refuses(&Postgres::new(app()), &all_requests(), kind, "").await;
        let wrong =
            Postgres::new(app().credentials(Credentials::new("", Secret::new("wrong-horse"))));
        refuses(&wrong, &all_requests(), kind, "28P01").await;
        let url = format!("postgres://nobody:{PASSWORD}@127.0.0.1:{port}/app");
        let nobody = Postgres::new(PostgresConfig::from_url(&url).unwrap());
        refuses(&nobody, &all_requests()[..1], kind, "nobody").await;
        let right = Postgres::new(app().credentials(Credentials::new("", Secret::new(PASSWORD))));
        call(&right, Request::Observe).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_database() {
    let server = server();
    let store = Postgres::new(local(server.port()).database("nowhere"));
    refuses(&store, &all_requests(), StoreErrorKind::Missing, "\"nowhere\" does not exist").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_table_is_not_made_unasked() {
    let server = server();
    let store = Postgres::new(local(server.port()).create_table(false).trust_empty_store(true));
    refuses(&store, &all_requests(), StoreErrorKind::Missing, "LeaseTable::schema_sql").await;
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    granted(&store, acquire(1, None)).await;
    // Under a connection that has seen it.
    server.sql("DROP SCHEMA tenure CASCADE").unwrap();
    let observe = [Request::Observe];
    refuses(&store, &observe, StoreErrorKind::Missing, "LeaseTable::schema_sql").await;
    refuses(&store, &observe, StoreErrorKind::Missing, "LeaseTable::schema_sql").await;
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    granted(&store, acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_another_version() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    let newer = "CREATE OR REPLACE FUNCTION tenure.leases_version() RETURNS integer \
         LANGUAGE sql IMMUTABLE AS 'SELECT 3'";
    server.sql(newer).unwrap();
    let kind = StoreErrorKind::UnsupportedVersion;
    let says = "has version 3; this store knows 2";
    refuses(&at(server.port()), &all_requests(), kind, says).await;
    // Nor does a migration replace it.
    let migrated = at(server.port()).migrate(&LeaseTable::default().schema_sql()).await;
    assert_eq!(migrated.unwrap_err().kind(), kind);
    assert_eq!(server.sql("SELECT tenure.leases_version()").unwrap(), "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_function_is_named_or_made() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    server.sql("DROP FUNCTION tenure.leases_hidden(), tenure.leases_place()").unwrap();
    let strict = Postgres::new(local(server.port()).create_table(false));
    let says = "no leases_place, leases_hidden";
    refuses(&strict, &all_requests(), StoreErrorKind::Missing, says).await;
    assert_eq!(at(server.port()).purge(Duration::ZERO).await.unwrap(), 0);
    // It waits for the next attempt; a question right now would get the last error.
    granted_after_a_watch(&strict, acquire(1, None)).await;
    // Not where another version has other functions.
    server.sql("DROP FUNCTION tenure.leases_hidden()").unwrap();
    let newer = "CREATE OR REPLACE FUNCTION tenure.leases_version() RETURNS integer \
         LANGUAGE sql IMMUTABLE AS 'SELECT 3'";
    server.sql(newer).unwrap();
    let kind = StoreErrorKind::UnsupportedVersion;
    refuses(&at(server.port()), &all_requests(), kind, "has version 3").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_names_and_closed_ports_differ() {
    let unknown = PostgresConfig::new("no-such-host.invalid", 5432, "u");
    let closed = unused_port();
    for (config, says) in [(unknown, "the name was not found"), (local(closed), "refused")] {
        let store = Postgres::new(config);
        refuses(&store, &[Request::Observe], StoreErrorKind::Unreachable, says).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_write_to_disk() {
    let server = PostgresServer::start_with(&["fsync=off"]).unwrap();
    let store = Postgres::new(local(server.port()));
    let kind = StoreErrorKind::NotDurable;
    let past = shown(&store, acquire(1, None)).await;
    let watched = after_watching(&acquire(1, None), &past);
    refuses(&store, &[watched], kind, "set fsync to on").await;
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases").unwrap(), "0");
    granted_after_a_watch(&at(server.port()), acquire(1, None)).await;
}

/// Some hosters report it off, since their storage does the same by other means.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fsync_off_is_accepted_on_request() {
    let server = PostgresServer::start_with(&["fsync=off"]).unwrap();
    let port = server.port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?accept_fsync_off=true");
    let store = Postgres::new(PostgresConfig::from_url(&url).unwrap());
    // The past is watched all the same.
    let token = granted_after_a_watch(&store, acquire(1, None)).await;
    answered(&store, release(1, token)).await;
    // By the plain statement.
    let next = granted(&store, acquire(2, Some(token))).await;
    assert!(next > token);
    // Of this store alone.
    server.sql("ALTER ROLE postgres SET elections.accepts_fsync_off = on").unwrap();
    answered(&store, release(2, next)).await;
    let other = Postgres::new(local(server.port()));
    let kind = StoreErrorKind::NotDurable;
    refuses(&other, &[acquire(3, Some(next))], kind, "PostgresConfig::accept_fsync_off").await;
}

/// Aurora's own words, by a function in the place of the server's: there is no Aurora on this
/// machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hides_its_log_position() {
    let server = PostgresServer::start_with(&["allow_system_table_mods=on"]).unwrap();
    server
        .sql("ALTER FUNCTION pg_catalog.pg_current_wal_lsn() RENAME TO pg_hidden_wal_lsn")
        .unwrap();
    // Later versions say the second one.
    for (says, code) in [
        ("Function pg_current_wal_lsn() is currently not supported for Aurora", "0A000"),
        ("wal_level must be set to ''logical''", "55000"),
    ] {
        let refusal = format!(
            "CREATE OR REPLACE FUNCTION pg_catalog.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION '{says}' USING ERRCODE = '{code}'; END $$"
        );
        server.sql(&refusal).unwrap();
        let store = Postgres::new(local(server.port()));
        let remedy = "set rds.logical_replication to 1";
        refuses(&store, &all_requests(), StoreErrorKind::Withheld, remedy).await;
    }
    let store = Postgres::new(local(server.port()));
    let (back, hidden) = ("pg_current_wal_lsn", "pg_hidden_wal_lsn");
    server.sql(&format!("DROP FUNCTION pg_catalog.{back}()")).unwrap();
    server.sql(&format!("ALTER FUNCTION pg_catalog.{hidden}() RENAME TO {back}")).unwrap();
    granted_after_a_watch(&store, acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fsync_turned_off_during_a_session_is_noticed() {
    let server = server();
    let store = Postgres::new(local(server.port()));
    let token = granted_after_a_watch(&store, acquire(1, None)).await;
    answered(&store, release(1, token)).await;
    for sql in ["ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"] {
        server.sql(sql).unwrap();
    }
    soon(async {
        while server.sql("SHOW fsync").unwrap() != "off" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // The session hears of it by a signal.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let again = [acquire(2, Some(token))];
    refuses(&store, &again, StoreErrorKind::NotDurable, "set fsync to on").await;
    granted(&at(server.port()), acquire(2, Some(token))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby() {
    let primary = server();
    let token = granted(&at(primary.port()), acquire(1, None)).await;
    let standby = primary.replica(&[]).unwrap();
    let store = at(standby.port());
    // It knows an earlier leader, but not the present one.
    refuses(&store, &all_requests(), StoreErrorKind::NotPrimary, "").await;
    standby.promote().unwrap();
    answered(&store, Request::Observe).await;
    assert_eq!(held(&store, Request::Observe).await.token, token);
}

/// The server's own settings for commits and messages do not matter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_its_standby_is_unknown() {
    for (setting, ends) in [
        ("synchronous_commit=off", "pg_cancel_backend"),
        ("synchronous_commit=local", "pg_cancel_backend"),
        ("client_min_messages=error", "pg_cancel_backend"),
        ("lc_messages=C", "pg_terminate_backend"),
    ] {
        let server = PostgresServer::start_with(&[setting]).unwrap();
        let store = at(server.port());
        let token = granted(&store, acquire(1, None)).await;
        server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'").unwrap();
        server.sql("SELECT pg_reload_conf()").unwrap();
        // Until the server has read its settings.
        let asked = tokio::spawn({
            let store = store.clone();
            async move {
                loop {
                    if let Err(error) = call(&store, renew(1, token)).await {
                        return error;
                    }
                }
            }
        });
        let end =
            format!("SELECT count({ends}(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        soon(async {
            while server.sql(&end).unwrap() == "0" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let error = asked.await.unwrap();
        assert_eq!(error.kind(), StoreErrorKind::NotDurable, "{setting}, {ends}: {error}");
        // It was carried out all the same.
        held(&store, Request::Observe).await;
    }
}

/// The role's own settings do not matter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsafe_database_settings_are_overruled() {
    let server = server();
    for setting in ["default_transaction_isolation = 'serializable'", "search_path = 'nowhere'"] {
        server.sql(&format!("ALTER ROLE postgres SET {setting}")).unwrap();
    }
    let store = Postgres::new(local(server.port()).trust_empty_store(true).lock_timeout(SOON));
    let token = granted(&store, acquire(1, None)).await;
    server.sql("ALTER ROLE postgres SET timezone = 'Asia/Tokyo'").unwrap();
    // The server is the same in every session.
    granted(&at(server.port()), acquire(1, None)).await;
    // Under another isolation this would fail instead of waiting.
    let writes = client(server.port()).await;
    writes.batch_execute("BEGIN; UPDATE tenure.leases SET name = 'other'").await.unwrap();
    let asked = tokio::spawn({
        let store = store.clone();
        async move { call(&store, renew(1, token)).await }
    });
    super::support::sessions(&server, "wait_event_type = 'Lock'", 1).await;
    writes.batch_execute("COMMIT").await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_record_is_no_vacancy() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    for damage in ["ttl = -1", "token = -7", "holder = ''", "number = NULL", "released = NULL"] {
        let sql = format!("UPDATE tenure.leases SET {damage}");
        server.sql(&sql).expect_err("the table refuses it");
    }
    server.sql("ALTER TABLE tenure.leases DROP CONSTRAINT leases_holder_check").unwrap();
    server.sql("UPDATE tenure.leases SET holder = 'somebody'").unwrap();
    for request in [acquire(2, None), Request::Observe] {
        let error = call(&store, request).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_beyond_the_column_is_refused() {
    let server = server();
    let store = at(server.port());
    for (seen, kind, says) in [
        (u64::MAX, StoreErrorKind::Refused, "a bigint"),
        (
            i64::MAX.cast_unsigned(),
            StoreErrorKind::BadRecord,
            "is 9223372036854775807, and none comes",
        ),
    ] {
        let request = acquire(1, tenure::Token::new(seen));
        refuses(&store, &[request], kind, says).await;
    }
    call(&store, Request::Observe).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_servers_at_the_port() {
    let key = Key::new("job").unwrap();
    for (says, kinds) in [
        (&b""[..], &[StoreErrorKind::Disconnected][..]),
        (
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
            &[StoreErrorKind::UnexpectedReply, StoreErrorKind::Unreachable],
        ),
        (b"\0\xff\x80garbage", &[StoreErrorKind::UnexpectedReply]),
        (b"N", &[StoreErrorKind::Unreachable]),
    ] {
        let port = port_that_answers(says).await;
        let config = PostgresConfig::new("127.0.0.1", port, "u")
            .credentials(Credentials::new("", Secret::new(PASSWORD)));
        let store = Postgres::new(config.connect_timeout(Duration::from_secs(5)));
        let error = soon(store.call(&key, acquire(1, None))).await.unwrap_err();
        let shown = String::from_utf8_lossy(says);
        assert!(kinds.contains(&error.kind()), "{shown:?}: {:?} {error}", error.kind());
        assert!(!format!("{error} {error:?}").contains("horse"));
    }
}
