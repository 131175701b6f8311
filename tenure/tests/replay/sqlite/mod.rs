//! Random requests to a SQLite file: the store answers and keeps what the contract says, as plain
//! SQL reads it.

mod file;
mod rounded;

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure_core::Request;
use tenure_core::contract::Record;

use super::compare::{Examines, Kept, Subject, compare};
use super::draw::{Draw, Values};
use file::File;

/// The highest number that a column can keep.
const HIGHEST: u64 = i64::MAX.unsigned_abs();
/// Equal, too short by less than a microsecond, contradicting, and over at once.
const TIMES: &[u64] =
    &[10_000_000_000, 10_000_000_001, 9_999_999_999, 12_000_000_000, 30_000_000_000, 900_000];
const VALUES: Values = Values {
    ttls: TIMES,
    times: TIMES,
    watched: TIMES,
    // The first is above what a floating-point number keeps exactly.
    tokens: &[(1 << 53) + 1, HIGHEST - 1, HIGHEST, HIGHEST + 1],
    numbers: &[u64::MAX],
};

struct Replay {
    store: Sqlite,
    /// Opened with the first reading, when the store has made it.
    file: Option<File>,
    files: u32,
    folder: TempDir,
}

fn open(path: &Path, trusted: bool) -> Sqlite {
    Sqlite::new(SqliteConfig::new(path).trust_empty_store(trusted))
}

impl Replay {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = open(&folder.path().join("0.db"), true);
        Self { store, file: None, files: 0, folder }
    }

    fn file(&mut self) -> &mut File {
        let path = self.folder.path().join("0.db");
        self.file.get_or_insert_with(|| File::open(&path))
    }

    /// Goes on with a copy of the file, as a backup makes it.
    fn restore(&mut self) {
        self.files += 1;
        let path = self.folder.path().join(format!("{}.db", self.files));
        self.file().copied(&path);
        self.store = open(&path, self.trusts());
        self.file().moved(&path);
    }
}

impl Subject for Replay {
    type Store = Sqlite;
    const PURGE_EXAMINES: Examines = Examines::WithDeletions;
    const EACH_IS_FIRST: bool = true;
    const REPEATS_KEYS: bool = true;
    const CLOCK: Duration = Duration::ZERO;

    fn store(&self) -> &Sqlite {
        &self.store
    }

    /// Each other file is opened so.
    fn trusts(&self) -> bool {
        self.files.is_multiple_of(2)
    }

    fn kept(&mut self) -> Kept {
        self.file().kept()
    }

    fn disturb(&mut self, draw: &mut Draw, before: &Kept) -> bool {
        let rows = match draw.below(8) {
            0 | 1 => "DELETE FROM elections; DELETE FROM past",
            2 | 3 => "DELETE FROM elections WHERE key = 'a'",
            4 => "UPDATE past SET identity = 'boot:another'",
            _ => {
                if before.past.is_some() {
                    self.restore();
                }
                return before.past.is_some();
            }
        };
        self.file().lose(rows);
        false
    }

    fn rounded(request: Request) -> Request {
        rounded::whole(request)
    }

    fn refuses(record: Option<Record>) -> bool {
        record.is_some_and(|kept| kept.token.get() > HIGHEST || kept.number.get() > HIGHEST)
    }
}

#[tokio::test]
async fn the_file_follows_the_contract() {
    compare("sqlite", Replay::new(), VALUES).await;
}
