//! Files that do not stay where they were.

use std::time::{Duration, Instant, SystemTime};

use futures_util::future::join;
use tenure::store::sqlite::{Sqlite, SqliteError};
use tenure::store::{Reply, Request, StoreErrorKind};

use super::support::{
    Folder, SOON, acquire, all_requests, call, config, granted, granted_after_a_watch,
    is_unwatched, past_tenure, refuses, release, renew, sql, why,
};

fn replaced(error: &SqliteError) -> bool {
    matches!(error, SqliteError::Replaced { .. })
}

/// A mishap of a file that a store has open, and the grants that are lost by it.
async fn is_noticed(what: impl Fn(&Folder)) {
    for request in all_requests() {
        let folder = Folder::new();
        let store = folder.store();
        let last = past_tenure(&store).await;
        let token = granted(&store, acquire(1, Some(last))).await;
        what(&folder);
        // Not even the holder gets an answer from a file that others do not see.
        let request =
            if matches!(request, Request::Renew { .. }) { renew(1, token) } else { request };
        refuses(&store, &[request], replaced).await;
        // The next request opens the file that is there now. What was granted in it is unknown, so
        // all candidates watch.
        let next = granted_after_a_watch(&folder.distrustful(), acquire(2, None)).await;
        assert!(next > token);
        let answer = call(&store, renew(1, token)).await.unwrap();
        assert_eq!(answer, Reply::Superseded { last: Some(next) });
    }
}

#[tokio::test]
async fn a_deleted_file() {
    is_noticed(Folder::delete).await;
}

#[tokio::test]
async fn a_deleted_file_that_leaves_its_companions_behind() {
    is_noticed(|folder| std::fs::remove_file(&folder.file).unwrap()).await;
}

#[tokio::test]
async fn a_file_that_was_moved_away() {
    is_noticed(|folder| {
        std::fs::rename(&folder.file, folder.folder.path().join("away.db")).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_backup_in_place_of_the_file() {
    is_noticed(|folder| {
        let backup = folder.copy_to("backup.db");
        sql(&backup).execute_batch("UPDATE elections SET released = 1").unwrap();
        folder.delete();
        std::fs::rename(backup, &folder.file).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_backup_with_the_same_inode_is_detected() {
    let folder = Folder::new();
    let token = past_tenure(&folder.store()).await;
    let backup = std::fs::read(folder.copy_to("backup.db")).unwrap();
    // No store has it open, so the number of its inode is free.
    folder.delete();
    std::fs::write(&folder.file, backup).unwrap();
    assert!(is_unwatched(&folder.store(), acquire(2, Some(token))).await);
}

#[tokio::test]
async fn a_symbolic_link_that_points_elsewhere() {
    let (one, other) = (Folder::new(), Folder::new());
    let link = one.folder.path().join("link.db");
    std::os::unix::fs::symlink(&one.file, &link).unwrap();
    past_tenure(&one.store()).await;
    past_tenure(&other.store()).await;
    let store = Sqlite::new(config(&link));
    call(&store, Request::Observe).await.unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other.file, &link).unwrap();
    refuses(&store, &[Request::Observe], replaced).await;
    call(&store, Request::Observe).await.unwrap();
}

#[tokio::test]
async fn a_file_under_another_name_has_another_past() {
    let folder = Folder::new();
    let token = past_tenure(&folder.store()).await;
    let mut token = granted(&folder.store(), acquire(2, Some(token))).await;
    // In this test the file is whole; but a log may have been left behind unseen.
    folder.execute("PRAGMA wal_checkpoint(truncate)");
    let inner = folder.folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut last = folder.file.clone();
    for moved in [folder.folder.path().join("moved.db"), inner.join("moved.db")] {
        std::fs::rename(&last, &moved).unwrap();
        let store = Sqlite::new(config(&moved));
        let began = Instant::now();
        // Connections of this process that are still open have the shared memory under the old
        // name, for new ones too.
        while let Err(error) = call(&store, Request::Observe).await {
            assert_eq!(error.kind(), StoreErrorKind::Disconnected, "{error:?}");
            assert!(began.elapsed() < SOON, "{error:?}");
        }
        token = granted_after_a_watch(&store, acquire(2, Some(token))).await;
        call(&store, release(2, token)).await.unwrap();
        sql(&moved).execute_batch("PRAGMA wal_checkpoint(truncate)").unwrap();
        last = moved;
    }
}

#[tokio::test]
async fn a_second_name_is_refused_and_forgiven() {
    let folder = Folder::new();
    let store = folder.store();
    granted(&store, acquire(1, None)).await;
    let other = folder.folder.path().join("other.db");
    std::fs::hard_link(&folder.file, &other).unwrap();
    let linked = |error: &SqliteError| matches!(error, SqliteError::HardLinks { links: 2, .. });
    refuses(&store, &all_requests(), linked).await;
    refuses(&Sqlite::new(config(&other)), &all_requests(), linked).await;
    std::fs::remove_file(&other).unwrap();
    granted(&store, acquire(1, None)).await;
}

#[tokio::test]
async fn a_file_replaced_during_requests_acknowledges_nothing() {
    for request in [0, 1, 2].map(|which| all_requests()[which].clone()) {
        let folder = Folder::new();
        let store = folder.store();
        let last = past_tenure(&store).await;
        let token = granted(&store, acquire(1, Some(last))).await;
        let request = match request {
            Request::Renew { .. } => renew(1, token),
            Request::Release { .. } => release(1, token),
            other => other,
        };
        // It waits for the lock when the file is replaced, and gets it then.
        let lock = folder.sql();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            folder.delete();
            lock.execute_batch("ROLLBACK").unwrap();
        };
        let (answer, ()) = join(call(&store, request.clone()), meanwhile).await;
        let error = answer.expect_err("nobody else sees what it did");
        assert!(replaced(why(&error)), "{request:?}: {error}");
    }
}

#[tokio::test]
async fn the_clock_is_read_under_the_lock() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    let lock = folder.sql();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        lock.execute_batch("ROLLBACK").unwrap();
        u64::try_from(before.as_micros()).unwrap()
    };
    let (token, unlocked) = join(granted(&store, acquire(2, Some(last))), meanwhile).await;
    assert!(token.get() >= unlocked, "{token} was granted by a clock of before {unlocked}");
}

#[tokio::test]
async fn a_file_moved_away_is_not_written() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    std::fs::rename(&folder.file, folder.folder.path().join("away.db")).unwrap();
    let log = folder.folder.path().join("elections.db-wal");
    let size = || std::fs::metadata(&log).unwrap().len();
    let before = size();
    refuses(&store, &[acquire(2, Some(last))], replaced).await;
    assert_eq!(size(), before);
}
