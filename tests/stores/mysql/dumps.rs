//! Backups that are restored into a server that runs.

use futures_util::StreamExt;
use tenure::store::mysql::Mysql;
use tenure::store::{Request, Store, Watched};

use super::support::{
    acquire, at, call, granted, granted_after_a_watch, held, is_unwatched, job, local, release,
    server, soon,
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

/// A candidate knows of the release from before the dump, and does not read again: the versions that
/// it compares are the dump's.
#[tokio::test]
async fn what_was_read_before_a_dump_was_restored_grants_nothing() {
    let server = server();
    let store = at(server.port());
    let first = granted(&store, acquire(1, None)).await;
    let knows = at(server.port());
    let mut hints = Box::pin(knows.hints(Watched::only([job()])));
    soon(hints.next()).await.expect("the subscription itself");
    call(&store, release(1, first)).await.unwrap();
    soon(hints.next()).await.expect("the release");
    drop(hints);
    let dump = server.dump().unwrap();
    granted(&store, acquire(2, Some(first))).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    server.sql(&dump).unwrap();
    let error = call(&knows, acquire(3, Some(first))).await.unwrap_err();
    assert!(error.to_string().contains("made again"), "{error}");
    assert!(is_unwatched(&knows, acquire(3, Some(first))).await);
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
