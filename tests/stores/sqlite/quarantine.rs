//! A file that may lack grants makes its next leaders wait.

use std::time::Duration;

use tenure::Token;
use tenure::store::sqlite::Sqlite;
use tenure::store::{Reply, Request};

use super::child;
use super::support::{
    Folder, acquire, call, config, granted, past_tenure, release, renew, sql, whole,
};

/// Lets the file have been known for longer than the quarantine.
const KNOWN_FOR_LONG: &str = "UPDATE history SET known_since = 1";
const TOKEN: &str = "SELECT token FROM elections";

#[tokio::test]
async fn first_leaders_wait_unless_empty_files_are_trusted() {
    let folder = Folder::new();
    let (token, wait) = granted(&folder.distrustful(), acquire(1, None)).await;
    assert!(whole(wait), "{wait:?}");
    // It is not new any more, but has been known for too short a time.
    call(&folder.distrustful(), release(1, token)).await.unwrap();
    let (_, wait) = granted(&folder.store(), acquire(2, Some(token))).await;
    assert!(whole(wait), "{wait:?}");

    let (_, wait) = granted(&Folder::new().store(), acquire(1, None)).await;
    assert_eq!(wait, Duration::ZERO);
}

#[tokio::test]
async fn histories_of_other_boots_or_files_are_ignored() {
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
        // The lease is still live; its holder waits all the same.
        let (same, wait) = granted(&store, acquire(1, None)).await;
        assert_eq!(same, token);
        assert!(whole(wait), "{identity} and {other}: {wait:?}");
        last = Some(token);
    }
    assert!(last.is_some());
}

#[tokio::test]
async fn a_lost_history_always_causes_a_quarantine() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    folder.execute("DELETE FROM history");
    // This is what an operator does after writing a backup into the file.
    let (_, wait) = granted(&folder.distrustful(), acquire(2, Some(last))).await;
    assert!(whole(wait), "{wait:?}");
    // A candidate that knows a higher token than the file proves that grants are lost.
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

/// In a time namespace whose boot clock is a day ahead.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    // The lease is as live as in the other namespace.
    for request in [Request::Observe, acquire(2, None)] {
        match call(&store, request).await.unwrap() {
            Reply::Held(incumbent) => assert!(whole(incumbent.remaining), "{incumbent:?}"),
            other => panic!("{other:?}"),
        }
    }
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
    // Times that were written there are not believed here either.
    folder.execute(KNOWN_FOR_LONG);
    let (_, wait) = granted(&folder.store(), acquire(1, None)).await;
    assert!(whole(wait), "{wait:?}");
}

#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn renewing_elsewhere_in_time() {
    let Some(file) = child::file() else { return };
    let token: i64 = sql(&file).query_row(TOKEN, [], |row| row.get(0)).unwrap();
    let token = Token::new(token.unsigned_abs()).unwrap();
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
}

/// A renewal resets the file's time if that was of another namespace; it no longer bounds earlier grants.
#[tokio::test]
async fn another_time_namespace_costs_the_history() {
    let folder = Folder::new();
    granted(&folder.store(), acquire(1, None)).await;
    folder.execute(KNOWN_FOR_LONG);
    child::succeeds(child::at_another_time("quarantine::renewing_elsewhere_in_time", &folder.file));
    let (_, wait) = granted(&folder.store(), acquire(1, None)).await;
    assert!(whole(wait), "{wait:?}");
}

/// As after a reboot of a host whose clock was wrong before it, or is wrong now.
#[tokio::test]
async fn a_lease_of_another_boot_lasts_its_ttl() {
    let folder = Folder::new();
    let store = folder.store();
    let (mut token, _) = granted(&store, acquire(1, None)).await;
    for put_off in [-1_i64, 1] {
        let years = put_off * 5 * 365 * 86_400 * 1_000_000;
        let of_then =
            "UPDATE elections SET lease_end = lease_end + ?1, written_at = written_at + ?1";
        folder.sql().execute(of_then, [years]).unwrap();
        folder.execute("UPDATE history SET identity = 'another'");
        match call(&store, Request::Observe).await.unwrap() {
            Reply::Vacant => assert!(put_off < 0),
            Reply::Held(incumbent) => {
                assert!(put_off > 0 && whole(incumbent.remaining), "{incumbent:?}");
            }
            other => panic!("{other:?}"),
        }
        let (next, wait) = granted(&store, acquire(1, Some(token))).await;
        assert!(whole(wait), "{wait:?}");
        token = next;
    }
}
