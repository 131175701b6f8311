//! The past in the table: when the server is compared with it, and what plain grants read of it.

use std::time::Duration;

use tenure::store::postgres::Postgres;
use tenure_servers::PostgresServer;

use super::support::{
    RENEWED, TTL, acquire, at, call, client, granted, granted_after_a_watch, is_unwatched, local,
    look, release, renew, server, shown,
};

/// Makes the past that of another server.
fn of_another_server(server: &PostgresServer) {
    let sql = "UPDATE tenure.leases_past SET identity = 'another', watched = 4503599627370496";
    server.sql(sql).unwrap();
}

fn is_of_another_server(server: &PostgresServer) -> bool {
    server.sql("SELECT identity FROM tenure.leases_past").unwrap() == "another"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_over_a_connection_compares_the_server() {
    let server = server();
    let token = granted(&at(server.port()), acquire(1, None)).await;
    for first in [renew(1, token), release(9, token), look(None)] {
        of_another_server(&server);
        let store = at(server.port());
        call(&store, first.clone()).await.unwrap();
        assert!(!is_of_another_server(&server), "{first:?}");
        assert_eq!(server.sql("SELECT watched FROM tenure.leases_past").unwrap(), "0");
        // The next one over this connection does not ask.
        of_another_server(&server);
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        assert!(is_of_another_server(&server));
    }
}

/// A pooler may not have been noticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_makes_no_past() {
    let server = server();
    granted(&at(server.port()), acquire(1, None)).await;
    of_another_server(&server);
    let sql = "SELECT tenure.leases_examine(tenure.leases_identity(), '1/1')";
    let error = client(server.port()).await.batch_execute(sql).await.unwrap_err();
    assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some("TN002"), "{error}");
    assert!(is_of_another_server(&server));
}

/// Another one begins, which nobody has watched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_past_is_none() {
    let server = server();
    let store = Postgres::new(local(server.port()));
    let mut last = granted_after_a_watch(&store, acquire(1, None)).await;
    for (number, missing) in (2..).zip(["stamp", "identity"]) {
        call(&store, release(number - 1, last)).await.unwrap();
        server.sql(&format!("UPDATE tenure.leases_past SET {missing} = NULL")).unwrap();
        assert_eq!(shown(&store, look(None)).await.sight.past, None, "{missing}");
        last = granted_after_a_watch(&store, acquire(number, Some(last))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_follow_the_past() {
    let server = server();
    let store = at(server.port());
    let mut last = granted(&store, acquire(1, None)).await;
    let almost = TTL.saturating_sub(Duration::from_micros(1));
    for (number, (watched, longest, is_watched)) in (2..).zip([
        (TTL, TTL, true),
        (almost, TTL, false),
        (TTL, 2 * TTL, false),
        (2 * TTL, 2 * TTL, true),
        // A shorter one is replaced.
        (TTL, almost, true),
    ]) {
        call(&store, release(number - 1, last)).await.unwrap();
        let (watched, longest) = (watched.as_micros(), longest.as_micros());
        let past =
            format!("UPDATE tenure.leases_past SET watched = {watched}, longest = {longest}");
        server.sql(&past).unwrap();
        let request = acquire(number, Some(last));
        last = if is_watched {
            granted(&store, request).await
        } else {
            assert!(is_unwatched(&store, request.clone()).await, "{watched}, {longest}");
            granted_after_a_watch(&store, request).await
        };
        let kept = server.sql("SELECT longest FROM tenure.leases_past").unwrap();
        assert_eq!(kept, longest.max(TTL.as_micros()).to_string());
        let declared = server.sql("SELECT quarantine FROM tenure.leases").unwrap();
        assert_eq!(declared, TTL.as_micros().to_string());
    }
}
