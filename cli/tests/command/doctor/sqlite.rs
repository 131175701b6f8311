//! Faults of SQLite's file and of what surrounds it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::shell::Shell;
use super::{Fault, Found, Planted, each_is_found};

/// The file's own folder.
fn file(planted: &Planted) -> PathBuf {
    PathBuf::from(planted.url.strip_prefix("sqlite://").unwrap())
}

/// No file yet, in a folder of its own.
fn nothing() -> Planted {
    let planted = Planted::at("");
    fs::set_permissions(planted.place.file(""), Permissions::from_mode(0o700)).unwrap();
    let url = format!("sqlite://{}", planted.place.file("elections.db").display());
    Planted { url, ..planted }
}

/// A file in which elections were.
fn used() -> Planted {
    let planted = nothing();
    planted.is_healthy();
    planted
}

/// The shell of SQLite, for what it does by itself.
fn sqlite(path: &Path, sql: &str) {
    let output = Command::new("sqlite3").arg(path).arg(sql).output().unwrap();
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A file that was changed so.
fn changed(sql: &str) -> Planted {
    let planted = used();
    sqlite(&file(&planted), sql);
    planted
}

/// A file that another program has open, in which it has carried out this.
fn held(sql: &str) -> Planted {
    let planted = used();
    let shell = Shell::after(Command::new("sqlite3").arg(file(&planted)), sql);
    planted.keeps(shell)
}

/// Another program has the file open, so that the log and the shared memory stay. It reads what it
/// has written to the log, so that nobody empties that: SQLite gives an empty log the mode of the
/// file when a process opens it.
fn with_mode(suffix: &str, mode: u32) -> Planted {
    let planted = held("CREATE TABLE filling (byte); BEGIN; SELECT count(*) FROM filling;");
    let beside = |suffix| format!("{}{suffix}", file(&planted).display());
    fs::set_permissions(beside(suffix), Permissions::from_mode(mode)).unwrap();
    assert!(fs::metadata(beside("-wal")).unwrap().len() > 0);
    planted
}

fn in_folder_of_mode(mode: u32) -> Planted {
    let planted = nothing();
    fs::set_permissions(planted.place.file(""), Permissions::from_mode(mode)).unwrap();
    planted
}

fn instead(make: impl FnOnce(&Path)) -> Planted {
    let planted = nothing();
    make(&file(&planted));
    planted
}

/// A reader that has the file open while another program writes much: the log can't be emptied.
fn a_long_read() -> Planted {
    let planted = held("BEGIN; SELECT count(*) FROM elections;");
    sqlite(
        &file(&planted),
        "CREATE TABLE filling (bytes BLOB); INSERT INTO filling VALUES (zeroblob(40000000)); DELETE FROM filling;",
    );
    planted
}

/// Another program deletes a file beside the file, again and again.
fn without_shared_memory() -> Planted {
    let planted = used();
    let path = planted.place.file("elections.db-shm");
    std::thread::spawn(move || {
        // Until the folder goes.
        while path.parent().is_some_and(Path::exists) {
            let _ = fs::remove_file(&path);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    planted
}

fn damaged(change: &str) -> Planted {
    let sixteen = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 15)";
    changed(&format!(
        "PRAGMA ignore_check_constraints = on; DELETE FROM elections; {sixteen} {change}"
    ))
}

const ROWS: &str = "INSERT INTO elections (key, token, holder, number, released, ttl, quarantine, written, name, metadata)
    SELECT 'tenure-doctor-' || lower(printf('%x', i)), ";

pub(super) const FAULTS: &[Fault] = &[
    ("no folder", "folder-missing", || Planted::at("sqlite:///no/such/folder/a.db")),
    ("a folder in its place", "not-a-file", || instead(|path| fs::create_dir(path).unwrap())),
    ("a pipe in its place", "not-a-file", || {
        instead(|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()))
    }),
    ("a device in its place", "not-a-file", || Planted::at("sqlite:///dev/null")),
    ("a text in its place", "not-elections", || {
        instead(|path| fs::write(path, "no database. ".repeat(100)).unwrap())
    }),
    ("a database of another program", "not-elections", || {
        instead(|path| sqlite(path, "CREATE TABLE a (b); PRAGMA application_id = 7;"))
    }),
    ("a database without a mark", "not-elections", || {
        instead(|path| sqlite(path, "CREATE TABLE a (b);"))
    }),
    ("an older version", "version-unsupported", || changed("PRAGMA user_version = 2;")),
    ("a newer version", "version-unsupported", || changed("PRAGMA user_version = 99;")),
    ("two names", "hard-links", || {
        let planted = used();
        fs::hard_link(file(&planted), planted.place.file("other.db")).unwrap();
        planted
    }),
    ("the world may read the file", "file-open-to-others", || with_mode("", 0o644)),
    ("the world may write the file", "file-open-to-others", || with_mode("", 0o666)),
    ("the group may write the file", "file-open-to-others", || with_mode("", 0o660)),
    ("the world may write the log", "file-open-to-others", || with_mode("-wal", 0o666)),
    ("the world may read the shared memory", "file-open-to-others", || with_mode("-shm", 0o604)),
    ("the world may write the folder", "folder-open-to-others", || in_folder_of_mode(0o777)),
    ("a folder like /tmp", "folder-open-to-others", || in_folder_of_mode(0o1777)),
    ("the group may write the folder", "folder-open-to-others", || in_folder_of_mode(0o770)),
    ("a journal in the place of the log", "journal-mode", || {
        changed("PRAGMA journal_mode = delete;")
    }),
    ("a lock of another program", "locked", || held("BEGIN IMMEDIATE;")),
    ("an exclusive lock of another program", "locked", || held("BEGIN EXCLUSIVE;")),
    ("the shared memory is deleted", "file-replaced", without_shared_memory),
    ("a read that does not end", "log-large", a_long_read),
    ("a table is missing", "file-fails", || changed("DROP TABLE elections;")),
    ("the past is damaged", "record-damaged", || {
        changed(
            "PRAGMA ignore_check_constraints = on; UPDATE past SET stamp = x'00', watched = -1;",
        )
    }),
    ("a record without a holder", "record-damaged", || {
        damaged(&format!("{ROWS} 1, x'', 1, 1, 1, 1, 1, 'a', x'' FROM n;"))
    }),
    ("a record that is too large", "record-damaged", || {
        damaged(&format!("{ROWS} 1, zeroblob(16), 1, 1, 1, 1, 1, 'a', zeroblob(70000) FROM n;"))
    }),
    ("a broken page", "record-damaged", || {
        let planted = used();
        sqlite(&file(&planted), "PRAGMA wal_checkpoint(TRUNCATE);");
        let mut bytes = fs::read(file(&planted)).unwrap();
        bytes[4096..8192].fill(0x77);
        fs::write(file(&planted), bytes).unwrap();
        planted
    }),
];

#[test]
fn faults_of_a_file_are_found_with_sqlite() {
    each_is_found(FAULTS);
}

#[test]
fn a_healthy_file_has_no_problem_with_sqlite() {
    let planted = nothing();
    // New, and then used.
    planted.is_healthy();
    planted.is_healthy();
}

#[test]
fn the_holder_of_a_lock_is_named_with_sqlite() {
    let found = held("BEGIN IMMEDIATE;").examine();
    assert!(format!("{found:?}").contains("(sqlite3)"), "{found:#?}");
}

/// Runs the command in a mount namespace of its own, after that script, whose `$1` is the folder.
fn after_mounting(script: &str, planted: &Planted, user: Option<&str>) -> Found {
    let mut command = Command::new("unshare");
    let run = match user {
        None => "exec \"$2\" doctor --json --store \"$3\"".to_owned(),
        Some(user) => format!(
            "exec setpriv --reuid {user} --regid {user} --clear-groups \"$2\" doctor --json --store \"$3\""
        ),
    };
    command.args(["--mount", "sh", "-euc", &format!("{script}\n{run}"), "sh"]);
    command.arg(planted.place.file("")).arg(env!("CARGO_BIN_EXE_tenure")).arg(&planted.url);
    Found::by(&mut command)
}

/// Found by a test of their own, which mounts file systems.
pub(super) const MOUNTED: &[&str] =
    &["disk-nearly-full", "storage-full", "mounted-alone", "file-fails"];

#[test]
fn faults_of_file_systems_are_found_with_sqlite() {
    let bound = {
        let planted = used();
        fs::write(planted.place.file("mounted.db"), "").unwrap();
        let url = format!("sqlite://{}", planted.place.file("mounted.db").display());
        Planted { url, ..planted }
    };
    let mut found_ids = Vec::new();
    let bind = "mount --bind \"$1/elections.db\" \"$1/mounted.db\"";
    for (what, id, planted, script) in [
        (
            "hardly any room",
            "disk-nearly-full",
            nothing(),
            "mount -t tmpfs -o size=2m,mode=700 none \"$1\"",
        ),
        ("no room", "storage-full", nothing(), "mount -t tmpfs -o size=64k,mode=700 none \"$1\""),
        (
            "hardly any files",
            "disk-nearly-full",
            nothing(),
            "mount -t tmpfs -o nr_inodes=8,mode=700 none \"$1\"",
        ),
        ("a file mounted by itself", "mounted-alone", bound, bind),
        ("read only", "file-fails", nothing(), "mount -t tmpfs -o ro,mode=700 none \"$1\""),
    ] {
        let found = after_mounting(script, &planted, None);
        assert!(found.level(id).is_some(), "{what}: {id} is not in {found:#?}");
        found_ids.push(id);
    }
    assert!(MOUNTED.iter().all(|id| found_ids.contains(id)));
}

/// Another user may not write the folder.
#[test]
fn a_missing_right_is_found_with_sqlite() {
    let planted = used();
    let found = after_mounting("true", &planted, Some("65534"));
    assert_eq!((found.level("right-missing"), found.status), (Some("unusable"), 69), "{found:#?}");
}
