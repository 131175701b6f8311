//! The steps of a SQLite file, from triggers that write down each change of a row.
//!
//! A trigger's entries are part of the transaction that they describe, so what was undone is not
//! among them. A request that changes nothing leaves no entry: looks and refusals are not judged
//! here. The past's stamps are shown instead.
//!
//! A mark has its time in its row. Any other change has the milliseconds of the trigger's clock,
//! rounded down: a release was carried out no earlier than it was asked for.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::thread;

use rusqlite::Connection;
use serde::Deserialize;
use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure::store::{Request, Store};
use tenure_servers::ServerError;

use super::{Answers, Past, Record, ServerTime, Stamped, Step, Steps};
use crate::engines::real::election::key;
use crate::trace::Asked;

/// A grant and a stamp replace a row, which is there until the new one is inserted.
const TRIGGERS: &str = "
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, millis INTEGER NOT NULL, row_of TEXT NOT NULL, before TEXT,
    after TEXT NOT NULL);
CREATE TRIGGER inserted BEFORE INSERT ON elections BEGIN
    INSERT INTO changes (millis, row_of, before, after)
        VALUES ({NOW}, 'elections', (SELECT {OLD} FROM elections AS old WHERE old.key = NEW.key), {NEW});
END;
CREATE TRIGGER updated AFTER UPDATE ON elections BEGIN
    INSERT INTO changes (millis, row_of, before, after) VALUES ({NOW}, 'elections', {OLD}, {NEW});
END;
CREATE TRIGGER past_inserted BEFORE INSERT ON past BEGIN
    INSERT INTO changes (millis, row_of, before, after) VALUES ({NOW}, 'past', NULL, {PAST});
END;
";
const NOW: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";
const LEASE: &str = "json_object('token', ROW.token, 'holder', hex(ROW.holder), 'number', ROW.number, 'ttl', ROW.ttl, \
    'quarantine', ROW.quarantine, 'released', ROW.released, 'written', ROW.written)";
const PAST: &str = "json_object('identity', NEW.identity, 'stamp', hex(NEW.stamp), 'watched', NEW.watched, \
    'longest', NEW.longest)";

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
        .replace("{PAST}", PAST)
        .replace("{NOW}", NOW);
    let connection = Connection::open(file).map_err(failed)?;
    connection.execute_batch(&triggers).map_err(failed)
}

pub(in super::super) fn failed(error: impl Display) -> ServerError {
    let source = io::Error::other(error.to_string());
    ServerError::Io { doing: "observing a SQLite file", source }
}

/// The observer of the files of a run, one after the other.
#[derive(Debug, Default)]
pub(in super::super) struct Changes {
    /// The clock of the candidates, by which they tell the time.
    clock: ServerTime,
    /// The number of servers that files have stood for before.
    server: u32,
    /// The number of the file's last change that was read.
    read: i64,
    past: Past,
    /// The time of each mark, by its holder and number.
    marked: BTreeMap<(u128, u64), u64>,
    steps: Vec<Step>,
    stamped: Vec<Stamped>,
}

/// A row of `elections`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct LeaseRow<'a> {
    token: u64,
    holder: &'a str,
    number: u64,
    ttl: u64,
    quarantine: u64,
    released: u8,
    written: u64,
}

/// The row of the past.
#[derive(Clone, Debug, Deserialize)]
struct PastRow {
    identity: String,
    stamp: String,
    watched: u64,
    longest: u64,
}

/// A change of a row.
#[derive(Debug)]
struct Change {
    id: i64,
    millis: u64,
    row_of: String,
    before: Option<String>,
    after: String,
}

impl Changes {
    /// True if anything was granted in a file.
    pub(in super::super) fn has_a_record(file: &Path) -> Result<bool, ServerError> {
        let connection = Connection::open(file).map_err(failed)?;
        let count = "SELECT count(*) > 0 FROM elections";
        connection.query_row(count, [], |row| row.get(0)).map_err(failed)
    }

    /// Continues with another file.
    pub(in super::super) fn is_replaced(&mut self) {
        self.is_another_server();
        (self.read, self.past) = (0, Past::default());
    }

    /// The candidates have that clock from now on. What they have written before was read.
    pub(in super::super) fn has_clock(&mut self, clock: ServerTime) {
        self.clock = clock;
    }

    /// Continues with the same file, which counts as another server.
    pub(in super::super) fn is_another_server(&mut self) {
        self.server += 1;
    }

    /// Reads the changes of the file that were not read yet.
    pub(in super::super) fn read(&mut self, file: &Path) -> Result<(), ServerError> {
        let connection = Connection::open(file).map_err(failed)?;
        let select =
            "SELECT id, millis, row_of, before, after FROM changes WHERE id > ?1 ORDER BY id";
        let mut select = connection.prepare(select).map_err(failed)?;
        let change = |row: &rusqlite::Row<'_>| {
            let millis = row.get::<_, i64>(1)?.unsigned_abs();
            let (id, row_of) = (row.get(0)?, row.get(2)?);
            Ok(Change { id, millis, row_of, before: row.get(3)?, after: row.get(4)? })
        };
        for change in select.query_map([self.read], change).map_err(failed)? {
            let change = change.map_err(failed)?;
            self.changed(&change).map_err(failed)?;
            self.read = change.id;
        }
        Ok(())
    }

    pub(in super::super) fn take(&mut self, answers: &Answers) -> Steps {
        let mut all = std::mem::take(&mut self.steps);
        let mut last_at = 0;
        for step in &mut all {
            if let Asked::Release { token } = step.request {
                step.at = step.at.max(answers.asked_for(token).unwrap_or(0));
            }
            step.at = step.at.max(last_at);
            last_at = step.at;
            answers.complete(step);
        }
        Steps { all, stamped: std::mem::take(&mut self.stamped), has_gaps: true }
    }

    fn changed(&mut self, change: &Change) -> Result<(), Box<dyn std::error::Error>> {
        let at = self.clock.machine(change.millis.saturating_mul(1_000));
        if change.row_of == "past" {
            let PastRow { identity, stamp, watched, longest } =
                serde_json::from_str(&change.after)?;
            let (identity, stamp) = (Some(identity), Some(stamp));
            let after = Past { identity, stamp, stamped_at: 0, watched, longest };
            self.stamped.extend(self.past.becomes(at, after, self.server));
            return Ok(());
        }
        let before = change.before.as_deref().map(|row| self.record(row)).transpose()?;
        let after = self.record(&change.after)?;
        let Some((request, answer)) = Record::changed(before, after, &self.past) else {
            return Ok(());
        };
        let at = if matches!(request, Asked::Release { .. }) { at } else { after.marked_at };
        let (holder, server, after) = (after.holder, self.server, Some(after));
        self.steps.push(Step { at, holder, request, answer, before, after, server });
        Ok(())
    }

    fn record(&mut self, row: &str) -> Result<Record, Box<dyn std::error::Error>> {
        let LeaseRow { token, holder, number, ttl, quarantine, released, written } =
            serde_json::from_str(row)?;
        let (holder, released) = (u128::from_str_radix(holder, 16)?, released == 1);
        let clock = self.clock;
        let marked = self.marked.entry((holder, number));
        let marked_at = *marked.or_insert_with(|| clock.machine(written));
        let lease =
            Record { token, holder, number, ttl, quarantine, released, ..Record::default() };
        Ok(Record { marked_at, ..lease })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engines::real::clock::wall_clock;
    use crate::trace::Answer;
    use tenure::HolderId;
    use tenure::store::{Profile, Reply};
    use tenure_core::{Acquire, RequestId};

    #[test]
    fn changes_of_a_row_are_requests() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("elections.db");
        install(&file).expect("a file");
        assert!(!Changes::has_a_record(&file).expect("no record"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let store = Sqlite::new(SqliteConfig::new(&file).trust_empty_store(true));
        let key = key();
        let ask = |request| store.call(&key, request);
        let (holder, ttl) = (HolderId::from_bits(0xab), Duration::from_secs(5));
        let profile = Profile::new("a", "").expect("a profile");
        let number = |number| RequestId::new(number).expect("a number");
        let before = wall_clock();
        let mut again = Acquire::new(holder, number(1), ttl, profile.name_id());
        let (first, last) = runtime.expect("a runtime").block_on(async {
            let acquire = |asks| Request::Acquire { asks, profile: profile.clone() };
            let Ok(Reply::Granted { token }) = ask(acquire(again)).await else { panic!("granted") };
            let renew = Request::Renew { holder, token, number: number(2), stamp: None };
            assert!(matches!(ask(renew).await, Ok(Reply::Renewed { .. })));
            let release = Request::Release { holder, token, reservation: None };
            assert!(matches!(ask(release).await, Ok(Reply::Released)));
            (again.number, again.seen) = (number(3), Some(token));
            let Ok(Reply::Granted { token: last }) = ask(acquire(again)).await else {
                panic!("granted")
            };
            (token.get(), last.get())
        });
        let mut changes = Changes::default();
        changes.read(&file).expect("changes");
        assert!(Changes::has_a_record(&file).expect("a record"));
        let Steps { all: steps, stamped, .. } = changes.take(&Answers::default());
        let seen: Vec<_> = steps.iter().map(|step| (step.request, step.answer)).collect();
        let (watched, token) = (None, first);
        assert_eq!(
            seen,
            [
                (Asked::Acquire { seen: 0, watched }, Answer::Granted { token }),
                (Asked::Renew { token }, Answer::Renewed { past_is_watched: true }),
                (Asked::Release { token }, Answer::Released),
                (Asked::Acquire { seen: first, watched }, Answer::Granted { token: last }),
            ]
        );
        assert!(steps.is_sorted_by_key(|step| step.at));
        assert_eq!(steps[0].before, None);
        assert!(steps.windows(2).all(|two| two[1].before == two[0].after));
        let within = before - 1_000..before + 10_000_000;
        for at in steps.iter().map(|step| step.at).chain(stamped.iter().map(|stamped| stamped.at)) {
            assert!(within.contains(&at), "{at} in {within:?}");
        }
        assert_eq!(stamped.len(), 1);
    }

    #[test]
    fn a_release_is_no_earlier_than_it_was_asked_for() {
        let mut changes = Changes::default();
        let row = |released: u8| {
            format!(
                r#"{{"token":7,"holder":"AB","number":1,"ttl":5,"quarantine":5,"released":{released},"written":900}}"#
            )
        };
        let change = Change {
            id: 1,
            millis: 1,
            row_of: "elections".to_owned(),
            before: Some(row(0)),
            after: row(1),
        };
        changes.changed(&change).expect("a change");
        let mut answers = Answers::default();
        answers.asked_to_release(7, 1_700);
        assert_eq!(changes.take(&answers).all[0].at, 1_700);
    }
}
