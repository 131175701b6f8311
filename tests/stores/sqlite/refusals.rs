//! Files that are not what they should be: each says so by a typed error, and nothing is written
//! there.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenure::Token;
use tenure::store::sqlite::{Sqlite, SqliteConfig, SqliteError};
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};

use super::child;
use super::support::{
    Folder, acquire, after_watching, all_requests, call, config, granted, past_tenure, refuses,
    release, renew, shown, sql, why,
};

#[tokio::test]
async fn a_folder_that_is_missing() {
    let folder = Folder::new();
    let store = Sqlite::new(config(&folder.folder.path().join("missing/elections.db")));
    let missing = |error: &SqliteError| matches!(error, SqliteError::NoFolder { .. });
    refuses(&store, &all_requests(), missing).await;
    let error = call(&store, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    assert!(
        error.to_string().contains("missing/elections.db does not exist: create it"),
        "{error}"
    );
}

#[tokio::test]
async fn folders_pipes_and_devices_are_refused() {
    let folder = Folder::new();
    let pipe = folder.folder.path().join("pipe");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    for path in [folder.folder.path(), &pipe, Path::new("/dev/null")] {
        let no_file = |error: &SqliteError| matches!(error, SqliteError::NotAFile { .. });
        refuses(&Sqlite::new(config(path)), &all_requests(), no_file).await;
    }
}

#[tokio::test]
async fn something_else_in_the_file_is_left_alone() {
    let folder = Folder::new();
    let text = "This is no database. ".repeat(100);
    fs::write(&folder.file, &text).unwrap();
    let other = |error: &SqliteError| matches!(error, SqliteError::NotADatabase { .. });
    refuses(&folder.store(), &all_requests(), other).await;
    assert_eq!(fs::read_to_string(&folder.file).unwrap(), text);
    assert_eq!(fs::read_dir(folder.folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_database_of_another_application_is_left_alone() {
    for theirs in ["PRAGMA application_id = 77", "CREATE TABLE elections (candidate)"] {
        let folder = Folder::new();
        folder.execute(theirs);
        let before = fs::read(&folder.file).unwrap();
        let other = |error: &SqliteError| matches!(error, SqliteError::NotElections { .. });
        refuses(&folder.store(), &all_requests(), other).await;
        assert_eq!(fs::read(&folder.file).unwrap(), before, "{theirs}");
    }
}

#[tokio::test]
async fn another_version_of_the_schema() {
    let folder = Folder::new();
    past_tenure(&folder.store()).await;
    for version in [0, 1, 2] {
        folder.execute(&format!("PRAGMA user_version = {version}"));
        let other = |error: &SqliteError| match error {
            SqliteError::Version { found, known: 3, .. } => *found == version,
            _ => false,
        };
        refuses(&folder.store(), &all_requests(), other).await;
    }
}

#[tokio::test]
async fn damaged_records_are_no_vacancy() {
    let folder = Folder::new();
    let store = folder.store();
    let damaged = |error: &SqliteError| matches!(error, SqliteError::Damaged { .. });
    past_tenure(&store).await;
    for damage in [
        "token = 0",
        "token = -7",
        "holder = x'00'",
        "holder = zeroblob(17)",
        "number = 0",
        "quarantine = -1",
        "written = -1",
        "ttl = -1",
        "released = 2",
        "name = cast(x'ff' AS TEXT)",
    ] {
        folder.execute("DELETE FROM elections");
        let token = granted(&store, acquire(1, None)).await;
        let damage = format!("UPDATE elections SET {damage}");
        folder.execute(&format!("PRAGMA ignore_check_constraints = on; {damage}"));
        let requests =
            [acquire(1, None), acquire(2, None), super::support::renew(1, token), Request::Observe];
        refuses(&store, &requests, damaged).await;
    }
    let error = call(&store, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadRecord);
    assert!(error.to_string().contains("the record of \"job\""), "{error}");
}

#[tokio::test]
async fn a_damaged_past() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    folder.execute("PRAGMA ignore_check_constraints = on; UPDATE past SET watched = -1");
    let damaged = |error: &SqliteError| matches!(error, SqliteError::Damaged { .. });
    refuses(&store, &all_requests(), damaged).await;
    let error = call(&store, acquire(2, Some(last))).await.unwrap_err();
    assert!(error.to_string().contains("its past"), "{error}");
}

#[tokio::test]
async fn missing_tables_and_garbled_pages() {
    let folder = Folder::new();
    let store = folder.store();
    past_tenure(&store).await;
    folder.execute("DROP TABLE elections");
    for request in all_requests() {
        call(&store, request).await.unwrap_err();
    }

    let folder = Folder::new();
    past_tenure(&folder.store()).await;
    let mut bytes = fs::read(folder.copy_to("copy.db")).unwrap();
    // All but the header and the schema.
    bytes[4_096..].fill(0xa5);
    folder.delete();
    fs::write(&folder.file, bytes).unwrap();
    let damaged = |error: &SqliteError| matches!(error, SqliteError::Damaged { .. });
    refuses(&folder.store(), &all_requests(), damaged).await;
}

#[tokio::test]
async fn tokens_beyond_the_column_are_not_granted() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    let beyond = Token::new(i64::MAX as u64 + 1).unwrap();
    let request = acquire(2, Some(beyond));
    let told = shown(&store, request.clone()).await;
    call(&store, after_watching(&request, &told)).await.unwrap_err();
    // The refused request left nothing.
    assert_eq!(shown(&store, acquire(3, None)).await.sight.last, Some(last));
}

#[tokio::test]
async fn what_a_trigger_skips_is_not_granted() {
    let skips = |folder: &Folder, event: &str| {
        let skip = "ON elections BEGIN SELECT RAISE(IGNORE); END";
        folder.execute(&format!("CREATE TRIGGER skips BEFORE {event} {skip}"));
    };
    let skipped = |error: &SqliteError| error.to_string().contains("drop the trigger");
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    skips(&folder, "INSERT");
    refuses(&store, &[acquire(2, Some(last))], skipped).await;

    let folder = Folder::new();
    let store = folder.store();
    let token = granted(&store, acquire(1, None)).await;
    skips(&folder, "UPDATE");
    refuses(&store, &[renew(1, token)], skipped).await;
}

/// A user without rights, on a file that it may read and not write, and on one that it may not
/// make.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn without_rights() {
    let Some(file) = child::file() else { return };
    for path in [file.clone(), file.with_file_name("another.db")] {
        let store = Sqlite::new(SqliteConfig::new(path));
        let denied = |error: &SqliteError| matches!(error, SqliteError::Denied { .. });
        refuses(&store, &[acquire(1, None)], denied).await;
    }
}

#[tokio::test]
async fn missing_rights() {
    let folder = Folder::new();
    past_tenure(&folder.store()).await;
    // Without companions, which would be opened instead.
    let copy = fs::read(folder.copy_to("copy.db")).unwrap();
    folder.delete();
    fs::write(&folder.file, copy).unwrap();
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = folder.folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    allow(&program, 0o555);
    allow(&folder.file, 0o444);
    allow(folder.folder.path(), 0o555);
    let mut command = child::command("refusals::without_rights", &folder.file);
    if rustix::process::geteuid().is_root() {
        // Root is not restrained by rights; so another user tries.
        let mut nobody = std::process::Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&program);
        nobody.args(command.get_args());
        nobody.env("TENURE_SQLITE_FILE", &folder.file);
        command = nobody;
    }
    child::succeeds(command);
    allow(folder.folder.path(), 0o755);
}

/// Acquires lease after lease until the disk is full.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn until_the_disk_is_full() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    let mut granted = Vec::new();
    let error = loop {
        let key = Key::new(format!("job-{}", granted.len())).unwrap();
        match store.call(&key, acquire(1, None)).await {
            Ok(Reply::Granted { token }) => granted.push((key, token)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
        assert!(granted.len() < 100_000, "the disk is not full");
    };
    assert!(matches!(why(&error), SqliteError::Full { .. }), "{error:?}");
    assert!(!granted.is_empty());
    // All grants are there, and nothing more.
    for (key, token) in &granted {
        match store.call(key, Request::Observe).await {
            Ok(Reply::At(shown)) => assert_eq!(shown.incumbent().unwrap().token, *token),
            other => panic!("{key}: {other:?}"),
        }
    }
    let whole: String =
        sql(&file).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
}

#[test]
fn a_full_disk() {
    let folder = Folder::new();
    child::succeeds(child::after_mounting(
        "mount -t tmpfs -o size=256k none \"$1\"",
        "refusals::until_the_disk_is_full",
        folder.folder.path(),
        &folder.file,
    ));
}

/// Fills the file system of that file to the last byte.
fn fill(file: &Path) {
    let path = file.with_file_name("filler");
    let mut filler = fs::File::options().create(true).append(true).open(path).unwrap();
    while filler.write(&[0; 4_096]).is_ok() {}
}

/// Each of these fails for lack of space. A store that closes the file leaves some of it, which
/// another program takes.
async fn refuses_when_full(store: &Sqlite, file: &Path, requests: &[Request]) {
    for request in requests {
        fill(file);
        let full = |error: &SqliteError| matches!(error, SqliteError::Full { .. });
        refuses(store, std::slice::from_ref(request), full).await;
    }
}

/// A lease is still held, and can be renewed.
async fn holds(store: &Sqlite, token: Token) {
    match call(store, Request::Observe).await.unwrap() {
        Reply::At(shown) => assert_eq!(shown.incumbent().unwrap().token, token),
        other => panic!("{other:?}"),
    }
    let renewed = call(store, renew(1, token)).await.unwrap();
    assert!(matches!(renewed, Reply::Renewed { .. }), "{renewed:?}");
}

/// Two stores on a disk that another program fills, and that has space again.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn while_the_disk_is_full() {
    let Some(file) = child::file() else { return };
    let stores = [(); 2].map(|()| Sqlite::new(config(&file).trust_empty_store(true)));
    let token = granted(&stores[0], acquire(1, None)).await;
    holds(&stores[1], token).await;
    for store in &stores {
        refuses_when_full(store, &file, &[renew(1, token), release(1, token)]).await;
    }
    fs::remove_file(file.with_file_name("filler")).unwrap();
    for store in &stores {
        holds(store, token).await;
    }
    assert_eq!(call(&stores[1], release(1, token)).await.unwrap(), Reply::Released);
}

/// A full disk, and a shared memory that was deleted and can't be made again.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn without_space_for_the_memory() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    let token = granted(&store, acquire(1, None)).await;
    refuses_when_full(&store, &file, &[renew(1, token)]).await;
    fs::remove_file(file.with_file_name("elections.db-shm")).unwrap();
    refuses_when_full(&store, &file, &all_requests()).await;
    fs::remove_file(file.with_file_name("filler")).unwrap();
    holds(&store, token).await;
}

#[test]
fn a_disk_that_has_space_again() {
    for test in ["while_the_disk_is_full", "without_space_for_the_memory"] {
        let folder = Folder::new();
        child::succeeds(child::after_mounting(
            "mount -t tmpfs -o size=1m none \"$1\"",
            &format!("refusals::{test}"),
            folder.folder.path(),
            &folder.file,
        ));
    }
}

#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn in_a_mounted_file() {
    let Some(file) = child::file() else { return };
    let alone = |error: &SqliteError| matches!(error, SqliteError::MountedAlone { .. });
    refuses(&Sqlite::new(config(&file)), &all_requests(), alone).await;
}

#[tokio::test]
async fn a_file_that_was_mounted_by_itself() {
    let folder = Folder::new();
    past_tenure(&folder.store()).await;
    fs::write(folder.folder.path().join("mounted.db"), "").unwrap();
    child::succeeds(child::after_mounting(
        "mount --bind \"$1/elections.db\" \"$1/mounted.db\"",
        "refusals::in_a_mounted_file",
        folder.folder.path(),
        &folder.folder.path().join("mounted.db"),
    ));
}

#[tokio::test]
async fn bare_and_special_file_names() {
    let folder = Folder::new();
    for name in ["file:memory?mode=memory", ":memory:", "a b%20#?.db"] {
        let path = folder.folder.path().join(name);
        granted(&Sqlite::new(config(&path).trust_empty_store(true)), acquire(1, None)).await;
        assert!(
            fs::metadata(&path).unwrap().len() > 0
                || path.with_file_name(format!("{name}-wal")).exists()
        );
    }
    call(&Sqlite::new(SqliteConfig::new("")), Request::Observe).await.unwrap_err();
}
