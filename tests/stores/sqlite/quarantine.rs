//! The past of a file that may lack grants is watched before anything is granted.

use std::time::Duration;

use tenure::Token;
use tenure::store::sqlite::Sqlite;
use tenure::store::{Key, Reply, Request, Store};

use super::child;
use super::support::{
    Folder, RENEWED, acquire, call, config, granted, granted_after_a_watch, held, is_unwatched,
    past_tenure, release, renew, sql,
};

const TOKEN: &str = "SELECT token FROM elections";

#[tokio::test]
async fn first_leaders_wait_unless_empty_files_are_trusted() {
    let folder = Folder::new();
    assert!(is_unwatched(&folder.distrustful(), acquire(1, None)).await);
    // It is not new any more, and not watched either.
    let token = granted_after_a_watch(&folder.store(), acquire(1, None)).await;
    // One candidate has watched it for all.
    call(&folder.store(), release(1, token)).await.unwrap();
    granted(&folder.distrustful(), acquire(2, Some(token))).await;

    granted(&Folder::new().store(), acquire(1, None)).await;
}

#[tokio::test]
async fn pasts_of_other_boots_or_files_are_not_those_of_this_one() {
    let folder = Folder::new();
    let store = folder.store();
    let token = granted(&store, acquire(1, None)).await;
    let identity: String =
        folder.sql().query_row("SELECT identity FROM past", [], |row| row.get(0)).unwrap();
    // A digit of each part in turn; the folder's and the file's device and inode are parts too.
    let ends: Vec<_> = identity
        .match_indices([' ', ':'])
        .map(|(end, _)| end)
        .chain([identity.len()])
        .filter(|end| identity.as_bytes()[end - 1].is_ascii_digit() || *end == identity.len())
        .collect();
    assert!(ends.len() >= 6, "{identity}");
    for end in ends {
        let mut other = identity.clone().into_bytes();
        other[end - 1] ^= 1;
        let other = String::from_utf8(other).unwrap();
        granted(&store, acquire(1, None)).await;
        folder.sql().execute("UPDATE past SET identity = ?1", [&other]).unwrap();
        // The lease was not given back; its holder has to watch all the same.
        assert!(is_unwatched(&store, acquire(1, None)).await, "{identity} and {other}");
        assert_eq!(granted_after_a_watch(&store, acquire(1, None)).await, token);
    }
}

#[tokio::test]
async fn a_lost_past_is_always_noticed() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    folder.execute("DELETE FROM past");
    // This is what an operator does after writing a backup into the file.
    assert!(is_unwatched(&folder.distrustful(), acquire(2, Some(last))).await);
    // A candidate that knows a higher token than the file proves that grants are lost.
    folder.execute("DELETE FROM past; DELETE FROM elections");
    assert!(is_unwatched(&store, acquire(3, Some(last))).await);
}

#[tokio::test]
async fn tokens_outlive_the_file() {
    let folder = Folder::new();
    let last = past_tenure(&folder.store()).await;
    folder.delete();
    assert!(granted_after_a_watch(&folder.distrustful(), acquire(2, None)).await > last);
    assert_eq!(call(&folder.distrustful(), release(1, last)).await.unwrap(), Reply::NotHeld);
}

/// In another time namespace, whose clock is not the one by which the leader is watched.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn purging_elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1, "the lease that was given back");
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 0, "the other was not watched");
    assert!(is_unwatched(&store, acquire(2, None)).await, "a purge watches no past");
}

#[tokio::test]
async fn a_purge_in_another_boot_keeps_leases_and_tokens() {
    let folder = Folder::new();
    let store = folder.store();
    let released = past_tenure(&store).await;
    let another = Key::new("another").unwrap();
    let leads = store.call(&another, acquire(3, None)).await.unwrap();
    let Reply::Granted { token } = leads else { panic!("{leads:?}") };
    child::succeeds(child::at_another_time("quarantine::purging_elsewhere_in_time", &folder.file));
    let renewed = store.call(&another, renew(3, token)).await.unwrap();
    assert!(matches!(renewed, Reply::Renewed { .. }), "{renewed:?}");
    assert!(is_unwatched(&folder.store(), acquire(4, None)).await);
    let next = granted_after_a_watch(&folder.store(), acquire(4, Some(released))).await;
    assert!(next > released);
}

/// In a time namespace whose boot clock is a day ahead.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    for request in [Request::Observe, acquire(2, None)] {
        held(&store, request).await;
    }
    assert!(is_unwatched(&store, acquire(1, None)).await);
}

#[tokio::test]
async fn another_time_namespace_is_another_writer() {
    let folder = Folder::new();
    let token = granted(&folder.store(), acquire(1, None)).await;
    child::succeeds(child::at_another_time("quarantine::elsewhere_in_time", &folder.file));
    // What was granted there is not known here.
    assert_eq!(granted_after_a_watch(&folder.store(), acquire(1, None)).await, token);
}

#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn renewing_elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let token: i64 = sql(&file).query_row(TOKEN, [], |row| row.get(0)).unwrap();
    let token = Token::new(token.unsigned_abs()).unwrap();
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    match call(&store, renew(1, token)).await.unwrap() {
        Reply::Renewed { past, .. } => assert!(past.is_some(), "the leader is to watch it"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_renewal_in_another_time_namespace_makes_another_past() {
    let folder = Folder::new();
    let token = granted(&folder.store(), acquire(1, None)).await;
    assert_eq!(call(&folder.store(), renew(1, token)).await.unwrap(), RENEWED);
    child::succeeds(child::at_another_time("quarantine::renewing_elsewhere_in_time", &folder.file));
    assert!(is_unwatched(&folder.store(), acquire(1, None)).await);
}
