//! Files for every row of the store contract.

use std::sync::Mutex;
use std::time::Duration;

use rusqlite::Connection;
use tenure::store::sqlite::Sqlite;
use tenure_sim::conformance::{Data, Mishap, Row};

use super::support::{Folder, Place};

/// A file that may be replaced under a connection that has it open: nothing takes its place, or a
/// copy that has all.
pub(crate) fn place() -> Place {
    of(Folder::distrustful)
}

/// The same, with stores that wait for a second at most for each other's writes.
pub(crate) fn impatient() -> Place {
    of(|folder| Sqlite::new(folder.config().busy_timeout(Duration::from_secs(1))))
}

fn of(connect: fn(&Folder) -> Sqlite) -> Place {
    let replace = |folder: &mut Folder, data| match data {
        Data::Lost => folder.delete(),
        Data::Kept => {
            let copy = folder.copy_to("copy.db");
            folder.delete();
            std::fs::rename(copy, &folder.file).unwrap();
        }
    };
    // A transaction that has begun to write excludes all others.
    let writer: Mutex<Option<Connection>> = Mutex::default();
    let slow = move |folder: &mut Folder, is_slow: bool| {
        let mut writer = writer.lock().unwrap();
        *writer = is_slow.then(|| {
            let own = folder.sql();
            own.execute_batch("BEGIN IMMEDIATE").unwrap();
            own
        });
    };
    Place::of(Folder::new(), connect)
        .replaced(replace)
        .suffering(&Mishap::ALL, suffer)
        .slowed(slow)
        // It has none.
        .skipping(&[Row::Messages, Row::OwnMessages, Row::NoLeader, Row::LeastTtl])
        .place()
}

/// One that is trusted when it has no grants in it.
pub(crate) fn trusting() -> Place {
    Place::of(Folder::new(), Folder::store).suffering(&Mishap::ALL, suffer).trusting().place()
}

fn suffer(folder: &mut Folder, mishap: Mishap) {
    if !folder.file.exists() {
        // Before the first request, there is no data to change.
        return;
    }
    folder.execute(match mishap {
        Mishap::RecordsLost => "DELETE FROM elections",
        Mishap::OtherServer => "UPDATE past SET identity = 'another'",
        Mishap::PastLost => "DELETE FROM past",
        Mishap::AllLost => "DELETE FROM elections; DELETE FROM past",
    });
}
