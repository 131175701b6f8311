//! SQLite's files beside its own, deleted or moved under a leader.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tenure::store::sqlite::{Sqlite, SqliteError};
use tenure::store::{Reply, Request, StoreErrorKind};

use super::child::{self, Teller};
use super::support::{
    Folder, SOON, acquire, after_watching, all_requests, call, config, granted,
    granted_after_a_watch, held, is_unwatched, past_tenure, refuses, renew, shown, sql, vacant,
    why,
};

fn replaced(error: &SqliteError) -> bool {
    matches!(error, SqliteError::Replaced { .. })
}

/// Tries to be granted the lease, in a process that shares nothing with the leader's but the files,
/// until it is answered.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn elsewhere() {
    let Some(file) = child::file() else { return };
    let (mut request, mut has_watched, mut errors) = (acquire(2, None), false, 0);
    loop {
        // A new store each time, so that no file stays open.
        match call(&Sqlite::new(config(&file)), request.clone()).await {
            Ok(Reply::Granted { .. }) => {
                assert!(has_watched, "the leader still believes in its lease");
                println!("\ngranted");
                return;
            }
            Ok(Reply::Not(shown)) if shown.incumbent().is_some() => {
                println!("\nheld");
                return;
            }
            Ok(Reply::Not(shown)) => {
                has_watched |= shown.sight.past.is_some();
                request = after_watching(&acquire(2, shown.sight.last), &shown);
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                errors += 1;
                assert!(errors < 1_000, "{error}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// The reply to another process, while the leader's has its files open.
fn another_process_is(folder: &Folder) -> String {
    let mut other = Teller::spawn(child::command("beside::elsewhere", &folder.file));
    loop {
        if let Some(word) = other.reported("") {
            if matches!(&*word, "granted" | "held") {
                return word;
            }
        } else {
            panic!("it failed");
        }
    }
}

/// The leader's renewal, repeated while its outcome is unknown.
async fn renewal(store: &Sqlite, token: tenure::Token) -> Reply {
    for _ in 0..100 {
        match call(store, renew(1, token)).await {
            Ok(reply) => return reply,
            Err(error) => assert!(
                matches!(why(&error), SqliteError::Replaced { .. } | SqliteError::OldLog { .. }),
                "{error}"
            ),
        }
    }
    panic!("no answer within {SOON:?}");
}

#[tokio::test]
async fn a_deleted_log_costs_lease_and_past() {
    for suffixes in [&["-wal", "-shm"][..], &["-wal"]] {
        let folder = Folder::new();
        let leader = folder.store();
        let last = past_tenure(&leader).await;
        // From here on, the data is in the log alone.
        folder.execute("PRAGMA wal_checkpoint(truncate)");
        let token = granted(&leader, acquire(1, Some(last))).await;
        for suffix in suffixes {
            fs::remove_file(folder.beside(suffix)).unwrap();
        }
        // With both gone, others need not wait until the leader has closed what it has open.
        if suffixes.len() == 2 {
            assert_eq!(another_process_is(&folder), "granted");
        }
        // The leader never gets a renewal.
        refuses(&leader, &[renew(1, token)], replaced).await;
        let reply = renewal(&leader, token).await;
        assert!(matches!(reply, Reply::Superseded { .. }), "{suffixes:?}: {reply:?}");
        if suffixes.len() == 1 {
            assert_eq!(another_process_is(&folder), "granted");
        }
    }
}

/// The shared memory that a stopped process has open names parts of the log that was deleted.
#[tokio::test]
async fn a_stopped_process_with_a_deleted_log_is_named() {
    let folder = Folder::new();
    let store = folder.distrustful();
    let last = past_tenure(&folder.store()).await;
    let mut stopped = Teller::spawn(child::command("processes::idle", &folder.file));
    stopped.reported("idle").expect("it got that far");
    stopped.pause();
    shown(&store, Request::Observe).await;
    fs::remove_file(folder.beside("-wal")).unwrap();
    refuses(&store, &[Request::Observe], replaced).await;
    let old_log = |error: &SqliteError| matches!(error, SqliteError::OldLog { .. });
    refuses(&store, &all_requests(), old_log).await;
    let error = call(&store, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    assert!(error.to_string().contains("let it go on, or end it"), "{error}");
    stopped.kill();
    assert!(granted_after_a_watch(&store, acquire(2, Some(last))).await > last);
}

#[tokio::test]
async fn deleted_shared_memory_costs_no_lease() {
    let folder = Folder::new();
    let leader = folder.store();
    let token = granted(&leader, acquire(1, None)).await;
    fs::remove_file(folder.beside("-shm")).unwrap();
    assert_eq!(another_process_is(&folder), "held");
    refuses(&leader, &[renew(1, token)], replaced).await;
    assert!(matches!(renewal(&leader, token).await, Reply::Renewed { .. }));
    // But grants in between can't be ruled out.
    assert!(is_unwatched(&leader, acquire(1, None)).await);
}

#[tokio::test]
async fn each_request_compares_what_is_beside() {
    for suffix in ["-wal", "-shm"] {
        for request in all_requests() {
            let folder = Folder::new();
            let store = folder.store();
            past_tenure(&store).await;
            let away = folder.folder.path().join("away");
            fs::rename(folder.beside(suffix), &away).unwrap();
            refuses(&store, &[request], replaced).await;
            // The next request may find the same files again.
            fs::rename(&away, folder.beside(suffix)).unwrap();
            vacant(&store).await;
        }
    }
}

/// In this process SQLite still uses the shared memory that another store here has open.
#[tokio::test]
async fn shared_memory_is_not_inherited_from_another_store() {
    let folder = Folder::new();
    let (one, two) = (folder.store(), folder.store());
    granted(&one, acquire(1, None)).await;
    granted(&two, acquire(1, None)).await;
    fs::remove_file(folder.beside("-shm")).unwrap();
    refuses(&one, &[Request::Observe, Request::Observe], replaced).await;
    refuses(&two, &[Request::Observe], replaced).await;
    held(&one, Request::Observe).await;
}

/// A restart of all candidates is no loss.
#[tokio::test]
async fn what_is_beside_outlives_its_users() {
    let folder = Folder::new();
    past_tenure(&folder.store()).await;
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    // The last store's thread closes the file.
    for _ in 0..1_000 {
        if size(&folder.beside("-wal")) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop(sql(&folder.file).execute_batch("PRAGMA journal_size_limit = 0; SELECT * FROM past"));
    }
    assert_eq!(size(&folder.beside("-wal")), 0, "nothing that a backup could be mixed with");
    let store = folder.store();
    let last = shown(&store, acquire(2, None)).await.sight.last;
    granted(&store, acquire(2, last)).await;
}
