//! Backups that are restored into a server that runs.

use tenure::store::Request;
use tenure::store::mysql::Mysql;

use super::support::{
    acquire, at, call, granted, granted_after_a_watch, held, is_unwatched, local, release, server,
};

/// The dump has the row of the MEMORY table too. The tables are made again: one that is a second
/// old has another time of its making.
#[tokio::test]
async fn a_dump_that_makes_the_tables_again_is_noticed() {
    let server = server();
    let store = at(server.port());
    let first = granted(&store, acquire(1, None)).await;
    call(&store, release(1, first)).await.unwrap();
    let dump = server.dump().unwrap();
    assert!(dump.contains("INSERT INTO `tenure_leases_boot`"), "{dump}");
    let second = granted(&store, acquire(2, Some(first))).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    server.sql(&dump).unwrap();
    // Over the connection that was open, and a new one.
    assert!(is_unwatched(&store, acquire(3, Some(first))).await);
    let fresh = at(server.port());
    assert!(is_unwatched(&fresh, acquire(4, Some(first))).await);
    assert!(granted_after_a_watch(&fresh, acquire(5, Some(second))).await > second);
}

/// The remedy of the page for one that does not.
#[tokio::test]
async fn a_truncated_past_is_watched_anew() {
    let server = server();
    let store = at(server.port());
    let mut first = granted(&store, acquire(1, None)).await;
    call(&store, release(1, first)).await.unwrap();
    for table in ["tenure_leases_past", "tenure_leases_boot"] {
        server.sql(&format!("TRUNCATE TABLE {table}")).unwrap();
        let store = Mysql::new(local(server.port()));
        assert!(is_unwatched(&store, acquire(2, Some(first))).await, "{table}");
        granted_after_a_watch(&store, acquire(3, Some(first))).await;
        let token = held(&store, Request::Observe).await.token;
        call(&store, release(3, token)).await.unwrap();
        first = token;
    }
}
