//! The steps of the tables in MariaDB, from triggers that write down each change of a row.
//!
//! A trigger's entries are part of the transaction that they describe, so what was undone is not
//! among them. A request that changes nothing leaves no entry: looks and refusals are not judged
//! here. The past's stamps are shown instead.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure::store::mysql::MysqlTables;
use tenure_servers::{MariadbServer, ServerError};

use super::{Answers, Past, Record, Stamped, Step, Steps};

/// A row of an election is inserted empty, and replaced in the same message.
const TRIGGERS: &str = "
CREATE TABLE changes (id BIGINT AUTO_INCREMENT PRIMARY KEY, at BIGINT NOT NULL, session BIGINT NOT NULL,
    watched BIGINT, old_value MEDIUMBLOB NOT NULL, new_value MEDIUMBLOB NOT NULL) ENGINE=InnoDB;
CREATE TRIGGER changed AFTER UPDATE ON tenure_leases FOR EACH ROW INSERT INTO changes
    VALUES (NULL, UNIX_TIMESTAMP(SYSDATE(6)) * 1000000, CONNECTION_ID(), NULL, OLD.value, NEW.value);
CREATE TRIGGER past_changed AFTER UPDATE ON tenure_leases_past FOR EACH ROW INSERT INTO changes
    VALUES (NULL, UNIX_TIMESTAMP(SYSDATE(6)) * 1000000, CONNECTION_ID(), NEW.watched, OLD.value, NEW.value);
";

/// The observer of the tables.
#[derive(Debug, Default)]
pub(in super::super) struct Tables {
    server: u32,
    /// The last entry that was read.
    read: u64,
    past: Past,
    has_a_record: bool,
    /// The time of each mark, by its holder and number.
    marked: BTreeMap<(u128, u64), u64>,
    /// The time of the last step: those of one row are in order.
    last_at: u64,
    steps: Vec<Step>,
    stamped: Vec<Stamped>,
}

/// The content of a row.
#[derive(Debug, Deserialize)]
struct Row {
    tenant: Option<LeaseText>,
    past: Option<PastText>,
}

#[derive(Debug, Deserialize)]
struct LeaseText {
    token: u64,
    holder: String,
    number: u64,
    ttl_ns: u64,
    quarantine_ns: u64,
    released: bool,
}

#[derive(Debug, Deserialize)]
struct PastText {
    identity: String,
    stamp: String,
    longest_ns: u64,
}

/// The number of the last entry.
pub(in super::super) fn last_entry(server: &MariadbServer) -> Result<u64, ServerError> {
    let last = server.sql("SELECT COALESCE(MAX(id), 0) FROM changes")?;
    let detail = || format!("{last:?} is no number of an entry");
    last.parse().map_err(|_| ServerError::Protocol { port: server.port(), detail: detail() })
}

impl Tables {
    /// Creates the tables and the triggers at a new server.
    pub(in super::super) fn install(server: &MariadbServer) -> Result<(), ServerError> {
        server.sql(&(MysqlTables::default().schema_sql() + TRIGGERS)).map(drop)
    }

    /// True if the tables have a record of any election.
    pub(in super::super) fn has_a_record(server: &MariadbServer) -> Result<bool, ServerError> {
        Ok(server.sql("SELECT COUNT(*) FROM tenure_leases WHERE value <> ''")? != "0")
    }

    /// Reads the entries that were written since the last time. The server is about to be
    /// replaced, or is not in use any more.
    pub(in super::super) fn read(&mut self, server: &MariadbServer) -> Result<(), ServerError> {
        let entries = server.sql(&format!(
            "SELECT id, at, COALESCE(watched, ''), old_value, new_value FROM changes WHERE id > {} ORDER BY id",
            self.read
        ))?;
        for entry in entries.lines() {
            self.entry(entry).map_err(|error| {
                let detail = format!("{entry:?} is no entry of the triggers: {error}");
                ServerError::Protocol { port: server.port(), detail }
            })?;
        }
        Ok(())
    }

    /// Another server takes its place: with the same data, or without any. Returns whether a record
    /// is to be lost.
    pub(in super::super) fn is_replaced(&mut self, keeps_data: bool) -> bool {
        self.server += 1;
        if keeps_data {
            return false;
        }
        (self.read, self.past) = (0, Past::default());
        std::mem::take(&mut self.has_a_record)
    }

    /// Replaces the server, whose tables were read to their end, by a replica whose last entry was
    /// that one. It gives the numbers of those that it lacks to others.
    pub(in super::super) fn is_promoted(&mut self, last: u64) {
        self.read = last;
        self.server += 1;
    }

    pub(in super::super) fn take(&mut self, answers: &Answers) -> Steps {
        let mut all = std::mem::take(&mut self.steps);
        for step in &mut all {
            answers.complete(step);
        }
        Steps { all, stamped: std::mem::take(&mut self.stamped), has_gaps: true }
    }

    fn entry(&mut self, entry: &str) -> Result<(), Box<dyn std::error::Error>> {
        let mut columns = entry.split('\t');
        let mut column = || columns.next().ok_or("a column is missing");
        let (id, at, watched) = (column()?.parse()?, column()?.parse()?, column()?);
        let (before, after) = (row(column()?)?, row(column()?)?);
        // Waits between the reading of the clock and the commit do not make the request a later one.
        self.last_at = self.last_at.max(at);
        let at = self.last_at;
        if watched.is_empty() {
            let mut record =
                |row: Option<Row>| row.and_then(|row| row.tenant).map(|it| self.record(at, &it));
            let (before, after) = (record(before).transpose()?, record(after).transpose()?);
            self.changed(at, before, after.ok_or("a row has lost its lease")?);
        } else if let Some(PastText { identity, stamp, longest_ns }) =
            after.and_then(|row| row.past)
        {
            let (identity, stamp) = (Some(identity), Some(stamp));
            let (watched, longest) = (watched.parse::<u64>()? / 1_000, longest_ns / 1_000);
            let after = Past { identity, stamp, stamped_at: 0, watched, longest };
            self.stamped.extend(self.past.becomes(at, after, self.server));
        }
        self.read = id;
        Ok(())
    }

    fn changed(&mut self, at: u64, before: Option<Record>, after: Record) {
        self.has_a_record = true;
        let Some((request, answer)) = Record::changed(before, after, &self.past) else { return };
        let (holder, server, after) = (after.holder, self.server, Some(after));
        self.steps.push(Step { at, holder, request, answer, before, after, server });
    }

    /// The record of a row that was written then, unless its mark was written before.
    fn record(&mut self, at: u64, lease: &LeaseText) -> Result<Record, std::num::ParseIntError> {
        let LeaseText { token, number, released, .. } = *lease;
        let holder = u128::from_str_radix(&lease.holder, 16)?;
        let [ttl, quarantine] = [lease.ttl_ns, lease.quarantine_ns].map(|nanos| nanos / 1_000);
        let marked_at = *self.marked.entry((holder, number)).or_insert(at);
        let lease =
            Record { token, holder, number, ttl, quarantine, released, ..Record::default() };
        Ok(Record { marked_at, ..lease })
    }
}

/// The content of a row in a line of the client, which doubles backslashes. An empty one has
/// nothing in it.
fn row(column: &str) -> Result<Option<Row>, serde_json::Error> {
    let text = column.replace(r"\\", r"\");
    (!text.is_empty()).then(|| serde_json::from_str(&text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Answer, Asked};

    fn lease(token: u64, number: u64, released: bool) -> String {
        let tenant = serde_json::json!({
            "name": "a \\\" b", "metadata": "", "version": 0, "token": token, "number": number,
            "holder": "000000000000000000000000000000ab", "written_ns": 1, "ttl_ns": 5_000_000_000_u64,
            "quarantine_ns": 5_000_000_000_u64, "released": released, "kept_for": null, "wanted": null, "asked": null,
        });
        let text = serde_json::json!({ "format": "tenure1", "past": null, "tenant": tenant });
        text.to_string().replace('\\', r"\\")
    }

    fn past(identity: &str, stamp: &str) -> String {
        let past = serde_json::json!({
            "identity": identity, "stamp": stamp, "watched_ns": 0, "longest_ns": 5_000_000_000_u64, "purged": null,
        });
        serde_json::json!({ "format": "tenure1", "past": past, "tenant": null }).to_string()
    }

    fn tables(entries: &[String]) -> Tables {
        let mut tables = Tables::default();
        for entry in entries {
            tables.entry(entry).expect("an entry");
        }
        tables
    }

    #[test]
    fn changes_of_a_row_are_requests() {
        let (stamped, first) = (past("a", "s"), lease(7, 3, false));
        let (second, back) = (lease(7, 4, false), lease(7, 4, true));
        let mut tables = tables(&[
            format!("2\t2000001\t0\t\t{stamped}"),
            format!("3\t2000002\t\t\t{first}"),
            format!("4\t4000000\t\t{first}\t{second}"),
            format!("5\t4000001\t5000000000\t{stamped}\t{stamped}"),
            // Its name has changed.
            format!("6\t4500000\t\t{second}\t{second}"),
            format!("7\t5000000\t\t{second}\t{back}"),
        ]);
        let Steps { all: steps, stamped, .. } = tables.take(&Answers::default());
        let seen: Vec<_> = steps.iter().map(|step| (step.at, step.request, step.answer)).collect();
        let acquire = Asked::Acquire { seen: 0, watched: None };
        let renewed = Answer::Renewed { past_is_watched: false };
        assert_eq!(
            seen,
            [
                (2_000_002, acquire, Answer::Granted { token: 7 }),
                (4_000_000, Asked::Renew { token: 7 }, renewed),
                (5_000_000, Asked::Release { token: 7 }, Answer::Released),
            ]
        );
        assert_eq!(steps[0].before, None);
        assert!(steps.windows(2).all(|two| two[1].before == two[0].after));
        let marked = |step: &Step| step.after.map(|after| (after.holder, after.marked_at));
        let marks: Vec<_> = steps.iter().filter_map(marked).collect();
        assert_eq!(marks, [(0xab, 2_000_002), (0xab, 4_000_000), (0xab, 4_000_000)]);
        assert_eq!(stamped, [Stamped { at: 2_000_001, server: 0, knew_more: false }]);
        assert_eq!(tables.past.watched, 5_000_000);
        assert!(tables.is_replaced(false), "a record is lost");
    }

    #[test]
    fn a_server_that_is_another_or_has_lost_a_grant_stamps_its_past() {
        let pasts = [("a", "r"), ("b", "s"), ("b", "t"), ("b", "t")].map(|(a, b)| past(a, b));
        let entries: Vec<_> =
            pasts.iter().zip(1..).map(|(row, id)| format!("{id}\t{id}\t0\t\t{row}")).collect();
        let stamped = tables(&entries).take(&Answers::default()).stamped;
        let seen: Vec<_> = stamped.iter().map(|stamped| (stamped.at, stamped.knew_more)).collect();
        assert_eq!(seen, [(1, false), (2, false), (3, true)]);
    }

    #[test]
    fn other_lines_are_errors() {
        for wrong in ["", "1\t2\t\t", "1\tx\t\t\t{}", "1\t2\t\t\t{}", "1\t2\t\t\t"] {
            Tables::default().entry(wrong).expect_err(wrong);
        }
    }
}
