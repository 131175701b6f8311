//! A file that may lack grants makes its next leaders wait.

use std::time::Duration;

use tenure::store::Reply;
use tenure::store::sqlite::Sqlite;

use super::child;
use super::support::{Folder, acquire, call, config, granted, past_tenure, release, whole};

/// Lets the file have been known for longer than the quarantine.
const KNOWN_FOR_LONG: &str = "UPDATE history SET known_since = 1";

#[tokio::test]
async fn the_first_leader_waits_unless_a_file_without_grants_is_trusted() {
    let folder = Folder::new();
    let (token, wait) = granted(&folder.distrustful(), acquire(1, None)).await;
    assert!(whole(wait), "{wait:?}");
    // It is not new any more, but was known for too short a time.
    call(&folder.distrustful(), release(1, token)).await.unwrap();
    let (_, wait) = granted(&folder.store(), acquire(2, Some(token))).await;
    assert!(whole(wait), "{wait:?}");

    let (_, wait) = granted(&Folder::new().store(), acquire(1, None)).await;
    assert_eq!(wait, Duration::ZERO);
}

#[tokio::test]
async fn a_history_of_another_boot_or_another_file_is_not_believed() {
    let (folder, mut last) = (Folder::new(), None);
    let store = folder.store();
    granted(&store, acquire(1, None)).await;
    let identity: String =
        folder.sql().query_row("SELECT identity FROM history", [], |row| row.get(0)).unwrap();
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
        folder.execute("DELETE FROM elections");
        folder.execute(KNOWN_FOR_LONG);
        let (token, wait) = granted(&store, acquire(1, None)).await;
        assert_eq!(wait, Duration::ZERO);
        let other = String::from_utf8(other).unwrap();
        folder.sql().execute("UPDATE history SET identity = ?1", [&other]).unwrap();
        // The lease is as live as it was; its holder waits like anybody else.
        let (same, wait) = granted(&store, acquire(1, None)).await;
        assert_eq!(same, token);
        assert!(whole(wait), "{identity} and {other}: {wait:?}");
        last = Some(token);
    }
    assert!(last.is_some());
}

#[tokio::test]
async fn a_history_that_is_gone_makes_wait_also_who_trusts_files_without_grants() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    folder.execute("DELETE FROM history");
    // This is what an operator does after writing a backup into the file.
    let (_, wait) = granted(&folder.distrustful(), acquire(2, Some(last))).await;
    assert!(whole(wait), "{wait:?}");
    // Who knows more than the file proves that it lacks something, whatever the file says.
    folder.execute("DELETE FROM history; DELETE FROM elections");
    let (_, wait) = granted(&store, acquire(3, Some(last))).await;
    assert!(whole(wait), "{wait:?}");
}

#[tokio::test]
async fn tokens_outlive_the_file() {
    let folder = Folder::new();
    let last = past_tenure(&folder.store()).await;
    folder.delete();
    let (token, _) = granted(&folder.distrustful(), acquire(2, None)).await;
    assert!(token > last);
    assert_eq!(call(&folder.distrustful(), release(1, last)).await.unwrap(), Reply::NotHeld);
}

#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    let (_, wait) = granted(&store, acquire(1, None)).await;
    assert!(whole(wait), "{wait:?}");
}

#[tokio::test]
async fn another_time_namespace_is_another_writer() {
    let folder = Folder::new();
    granted(&folder.store(), acquire(1, None)).await;
    folder.execute(KNOWN_FOR_LONG);
    let (_, wait) = granted(&folder.store(), acquire(1, None)).await;
    assert_eq!(wait, Duration::ZERO);
    child::succeeds(child::at_another_time("quarantine::elsewhere_in_time", &folder.file));
}
