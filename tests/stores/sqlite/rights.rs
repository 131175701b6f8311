//! The access of other users of the host to the files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenure::store::Request;
use tenure::store::sqlite::{Sqlite, SqliteError};

use super::child;
use super::support::{Folder, acquire, call, granted, past_tenure, refuses};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn modes(folder: &Folder) -> [u32; 3] {
    ["", "-wal", "-shm"].map(|suffix| mode(&folder.beside(suffix)))
}

/// With a umask that takes the group's rights away, and with one that takes nothing.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn under_any_umask() {
    if child::file().is_none() {
        return;
    }
    for umask in [0o077, 0o022, 0] {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        for (group, expected) in [(false, 0o600), (true, 0o660)] {
            let folder = Folder::new();
            let store =
                Sqlite::new(folder.config().trust_empty_store(true).share_with_group(group));
            granted(&store, acquire(1, None)).await;
            assert_eq!(modes(&folder), [expected; 3], "umask {umask:03o}");
            let names = fs::read_dir(folder.folder.path()).unwrap().count();
            assert_eq!(names, 3, "nothing else is left behind");
        }
    }
}

/// The umask is the process's, so no other test may run at the same time.
#[test]
fn files_have_the_configured_mode() {
    let folder = Folder::new();
    child::succeeds(child::command("rights::under_any_umask", &folder.file));
}

#[tokio::test]
async fn files_that_exist_keep_their_mode() {
    let folder = Folder::new();
    fs::write(&folder.file, "").unwrap();
    fs::set_permissions(&folder.file, fs::Permissions::from_mode(0o640)).unwrap();
    past_tenure(&folder.store()).await;
    assert_eq!(modes(&folder), [0o640; 3]);
}

/// Any user who can read the folder could hold a lock on it.
#[tokio::test]
async fn a_locked_folder_stops_no_new_file() {
    let folder = Folder::new();
    let locked = fs::File::open(folder.folder.path()).unwrap();
    locked.lock().unwrap();
    granted(&folder.store(), acquire(1, None)).await;
}

/// The file of a process that was killed while it made it.
#[tokio::test]
async fn a_half_made_file_is_made_again() {
    let folder = Folder::new();
    fs::write(folder.beside("-lock"), "").unwrap();
    fs::write(folder.beside("-new"), "half").unwrap();
    granted(&folder.store(), acquire(1, None)).await;
    assert!(!folder.beside("-lock").exists() && !folder.beside("-new").exists());
}

#[tokio::test]
async fn one_process_at_a_time_makes_the_file() {
    let folder = Folder::new();
    let maker = fs::File::create(folder.beside("-lock")).unwrap();
    maker.lock().unwrap();
    let waits = std::time::Duration::from_millis(50);
    let store = Sqlite::new(folder.config().busy_timeout(waits));
    let locked = |error: &SqliteError| matches!(error, SqliteError::Locked { .. });
    refuses(&store, &[Request::Observe], locked).await;
    assert!(!folder.file.exists());
    maker.unlock().unwrap();
    call(&store, Request::Observe).await.unwrap();
}
