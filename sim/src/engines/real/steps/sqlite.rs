//! The steps of a SQLite file, from triggers that write down each change of a row.
//!
//! A trigger's entries are part of the transaction that they describe, so what was undone is not among them. Each has
//! the reading of the clock by which its request was judged. A request that changes nothing leaves no entry: refusals
//! are not judged here.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::thread;

use rusqlite::Connection;
use serde::Deserialize;
use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure::store::{Request, Store};
use tenure_servers::ServerError;

use super::{History, Record, ServerTime, Step};
use crate::engines::real::clock::{TrueTime, WallClock};
use crate::engines::real::election::key;

const TRIGGERS: &str = "
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, row_of TEXT NOT NULL, before TEXT, after TEXT NOT NULL);
CREATE TRIGGER inserted AFTER INSERT ON elections BEGIN
    INSERT INTO changes (row_of, before, after) VALUES ('elections', NULL, {NEW});
END;
CREATE TRIGGER updated AFTER UPDATE ON elections BEGIN
    INSERT INTO changes (row_of, before, after) VALUES ('elections', {OLD}, {NEW});
END;
CREATE TRIGGER history_inserted AFTER INSERT ON history BEGIN
    INSERT INTO changes (row_of, before, after) VALUES ('history', NULL, {HISTORY});
END;
CREATE TRIGGER history_updated AFTER UPDATE ON history BEGIN
    INSERT INTO changes (row_of, before, after) VALUES ('history', NULL, {HISTORY});
END;
";
const LEASE: &str = "json_object('token', ROW.token, 'holder', hex(ROW.holder), 'lease_end', ROW.lease_end, 'ttl', ROW.ttl, \
    'quarantine', ROW.quarantine, 'released', ROW.released, 'written_at', ROW.written_at)";
const HISTORY: &str = "json_object('known_since', NEW.known_since, 'longest_ttl', NEW.longest_ttl, 'ahead', NEW.ahead)";

/// Creates a file, as a candidate would, and its triggers.
pub(in super::super) fn install(file: &Path) -> Result<(), ServerError> {
    let looks = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let store = Sqlite::new(SqliteConfig::new(file));
        runtime.block_on(store.call(&key(), Request::Observe))?;
        Ok(())
    };
    // In a thread of its own, since this one may already belong to a runtime.
    let looked = thread::scope(|scope| scope.spawn(looks).join());
    looked.map_err(|_| failed("a panic"))?.map_err(failed)?;
    let lease_of = |row| LEASE.replace("ROW", row);
    let triggers = TRIGGERS
        .replace("{NEW}", &lease_of("NEW"))
        .replace("{OLD}", &lease_of("OLD"))
        .replace("{HISTORY}", HISTORY);
    let connection = Connection::open(file).map_err(failed)?;
    connection.execute_batch(&triggers).map_err(failed)
}

pub(in super::super) fn failed(error: impl Display) -> ServerError {
    let source = io::Error::other(error.to_string());
    ServerError::Io { doing: "observing a SQLite file", source }
}

/// The observer of the files of a run, one after the other.
#[derive(Debug)]
pub(in super::super) struct Changes {
    /// The boot clock, by which the files' time is counted, compared with the wall clock.
    wall: WallClock,
    /// The number of servers that files have stood for before.
    server: u32,
    file: Read,
    steps: Vec<Step>,
}

/// What was read of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    /// The number of its last change.
    last: i64,
    history: HistoryRow,
    /// By how much its time was ahead of the boot clock at first.
    ahead: Option<i64>,
}

/// A row of `elections`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct LeaseRow<'a> {
    token: u64,
    holder: &'a str,
    lease_end: u64,
    ttl: u64,
    quarantine: u64,
    released: u8,
    written_at: u64,
}

/// The row of the history.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct HistoryRow {
    known_since: u64,
    longest_ttl: u64,
    /// By how much the file's time is ahead of the boot clock, in microseconds.
    ahead: i64,
}

/// A change of a lease, and the history after it.
#[derive(Debug)]
struct Change {
    before: Option<String>,
    after: String,
    history: HistoryRow,
}

impl Default for Changes {
    fn default() -> Self {
        let wall = WallClock::compare(TrueTime::since(0));
        Self { wall, server: 0, file: Read::default(), steps: Vec::new() }
    }
}

impl Changes {
    /// Whether anything was granted in a file.
    pub(in super::super) fn has_a_record(file: &Path) -> Result<bool, ServerError> {
        let connection = Connection::open(file).map_err(failed)?;
        let count = "SELECT count(*) > 0 FROM elections";
        connection.query_row(count, [], |row| row.get(0)).map_err(failed)
    }

    /// What follows is another file.
    pub(in super::super) fn is_replaced(&mut self) {
        self.is_another_server();
        self.file = Read::default();
    }

    /// What follows is the same file, which counts as another server.
    pub(in super::super) fn is_another_server(&mut self) {
        self.server += 1;
    }

    /// Reads the changes of the file that were not read yet.
    pub(in super::super) fn read(&mut self, file: &Path) -> Result<(), ServerError> {
        let connection = Connection::open(file).map_err(failed)?;
        let mut select = connection
            .prepare("SELECT id, row_of, before, after FROM changes WHERE id > ?1 ORDER BY id")
            .map_err(failed)?;
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let rows = select.query_map([self.file.last], row).map_err(failed)?;
        let mut changes = Vec::new();
        for row in rows {
            let (id, row_of, before, after): (i64, String, Option<String>, String) =
                row.map_err(failed)?;
            self.file.last = id;
            if row_of == "elections" {
                changes.push(Change { before, after, history: self.file.history });
                continue;
            }
            // A transaction writes the history after the row that has changed it.
            let history: HistoryRow = serde_json::from_str(&after).map_err(failed)?;
            self.file.history = history;
            self.file.ahead.get_or_insert(history.ahead);
            if let Some(change) = changes.last_mut() {
                change.history = history;
            }
        }
        for change in changes {
            self.changed(&change).map_err(failed)?;
        }
        Ok(())
    }

    pub(in super::super) fn take(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    fn changed(
        &mut self,
        Change { before, after, history }: &Change,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let before: Option<LeaseRow<'_>> =
            before.as_deref().map(serde_json::from_str).transpose()?;
        let after: LeaseRow<'_> = serde_json::from_str(after)?;
        let by = |ahead: i64, micros: u64| self.wall.of_boot(micros.saturating_add_signed(-ahead));
        // The file's time jumps where its identity changes, by as much as the wall clock has gone another way than the boot
        // clock since then: microseconds. Leases end by the first offset here, so that their ends stay the same.
        let time = |micros| by(self.file.ahead.unwrap_or(0), micros);
        let written_at = by(history.ahead, after.written_at);
        let before = before.map(|row| row.record(time)).transpose()?;
        let after = after.record(time)?;
        let known_since = time(history.known_since);
        let history = History { known_since, longest_ttl: history.longest_ttl };
        let changed = Record::changed(before, after, history, written_at);
        let Some((now, request, answer)) = changed else { return Ok(()) };
        let (at, holder, server, after) = (written_at, after.holder, self.server, Some(after));
        let clock = ServerTime::default();
        self.steps.push(Step { at, now, holder, request, answer, before, after, server, clock });
        Ok(())
    }
}

impl LeaseRow<'_> {
    fn record(self, time: impl Fn(u64) -> u64) -> Result<Record, std::num::ParseIntError> {
        Ok(Record {
            token: self.token,
            holder: u128::from_str_radix(self.holder, 16)?,
            lease_end: time(self.lease_end),
            ttl: self.ttl,
            quarantine: self.quarantine,
            released: self.released == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engines::real::clock::wall_clock;
    use crate::trace::{Answer, Asked};
    use tenure::HolderId;
    use tenure::store::{Profile, Reply};

    #[test]
    fn changes_of_a_row_are_requests() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("elections.db");
        install(&file).expect("a file");
        assert!(!Changes::has_a_record(&file).expect("no record"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let store = Sqlite::new(SqliteConfig::new(&file));
        let key = key();
        let ask = |request| store.call(&key, request);
        let (holder, ttl) = (HolderId::from_bits(0xab), Duration::from_secs(5));
        let profile = Profile::new("a", "").expect("a profile");
        let before = wall_clock();
        let token = runtime.expect("a runtime").block_on(async {
            let acquire = Request::Acquire { holder, seen: None, ttl, quarantine: ttl, profile };
            let Ok(Reply::Granted { token, .. }) = ask(acquire).await else { panic!("granted") };
            let renew = Request::Renew { holder, token, ttl };
            assert!(matches!(ask(renew).await, Ok(Reply::Renewed)));
            assert!(matches!(ask(Request::Release { holder, token }).await, Ok(Reply::Released)));
            token.get()
        });
        let mut changes = Changes::default();
        changes.read(&file).expect("changes");
        assert!(Changes::has_a_record(&file).expect("a record"));
        let steps = changes.take();
        let seen: Vec<_> = steps.iter().map(|step| (step.request, step.answer)).collect();
        assert_eq!(
            seen,
            [
                (Asked::Acquire { seen: 0 }, Answer::Granted { token, waits: true }),
                (Asked::Renew { token }, Answer::Renewed),
                (Asked::Release { token }, Answer::Released),
            ]
        );
        assert!(steps.is_sorted_by_key(|step| step.at));
        assert_eq!((steps[0].before, steps[1].before), (None, steps[0].after));
        let lease_end = steps[0].after.map(|record| record.lease_end);
        assert_eq!(lease_end, Some(steps[0].now + 5_000_000));
        let within = before..before + 10_000_000;
        assert!(within.contains(&steps[0].at), "{} in {within:?}", steps[0].at);
    }
}
