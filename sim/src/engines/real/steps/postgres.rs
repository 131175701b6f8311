//! The steps of a lease table in PostgreSQL, from a trigger that writes down each change of a row.
//!
//! The trigger's entries are part of the transaction that they describe, so what was undone is not
//! among them. A request that changes nothing leaves no entry: looks and refusals are not judged
//! here. The past's stamps are shown instead.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure::store::postgres::LeaseTable;
use tenure_servers::{PostgresServer, ServerError};

use super::{Answers, Past, Record, ServerTime, Stamped, Step, Steps};

const TRIGGERS: &str = "
CREATE TABLE public.changes (id bigserial PRIMARY KEY, at bigint NOT NULL, row_of text NOT NULL, before text, after text);
CREATE FUNCTION public.changed() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO public.changes (at, row_of, before, after) VALUES (
        tenure.leases_micros(clock_timestamp()), TG_TABLE_NAME,
        CASE WHEN TG_OP = 'UPDATE' THEN row_to_json(OLD)::text END, row_to_json(NEW)::text);
    RETURN NULL;
END
$body$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE ON tenure.leases FOR EACH ROW EXECUTE FUNCTION public.changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE ON tenure.leases_past FOR EACH ROW EXECUTE FUNCTION public.changed();
";

/// The observer of a lease table.
#[derive(Debug, Default)]
pub(in super::super) struct Table {
    server: u32,
    clock: ServerTime,
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

/// A row of the lease table.
#[derive(Debug, Deserialize)]
struct LeaseRow {
    token: u64,
    holder: String,
    number: u64,
    ttl: u64,
    quarantine: u64,
    released: bool,
}

/// The row of the past.
#[derive(Debug, Deserialize)]
struct PastRow {
    identity: Option<String>,
    stamp: Option<String>,
    watched: u64,
    longest: u64,
}

/// The state of a replica at its promotion.
#[derive(Clone, Copy)]
pub(in super::super) struct Promoted {
    /// The number of the last entry.
    last: u64,
}

impl Promoted {
    /// Reads it from a replica that no candidate has reached yet.
    pub(in super::super) fn read(replica: &PostgresServer) -> Result<Self, ServerError> {
        let last = replica.sql("SELECT coalesce(max(id), 0) FROM public.changes")?;
        let detail = || format!("{last:?} is no number of an entry");
        let last = last
            .parse()
            .map_err(|_| ServerError::Protocol { port: replica.port(), detail: detail() })?;
        Ok(Self { last })
    }
}

impl Table {
    /// Creates the tables and the triggers in a new cluster.
    pub(in super::super) fn install(server: &PostgresServer) -> Result<(), ServerError> {
        let table = LeaseTable::default();
        server.sql(&(table.schema_sql() + TRIGGERS)).map(drop)
    }

    /// True if the table has a record of any election.
    pub(in super::super) fn has_a_record(server: &PostgresServer) -> Result<bool, ServerError> {
        Ok(server.sql("SELECT count(*) > 0 FROM tenure.leases")? != "f")
    }

    /// Reads the entries that were written since the last time. The server is in use, or is about
    /// to be replaced.
    pub(in super::super) fn read(&mut self, server: &PostgresServer) -> Result<(), ServerError> {
        let entries = server.sql(&format!(
            "SELECT id, at, row_of, coalesce(before, ''), after FROM public.changes WHERE id > {} ORDER BY id",
            self.read
        ))?;
        for entry in entries.lines() {
            self.entry(entry).map_err(|error| {
                let detail = format!("{entry:?} is no entry of the trigger: {error}");
                ServerError::Protocol { port: server.port(), detail }
            })?;
        }
        Ok(())
    }

    /// The server has that clock from now on. What it has carried out before was read.
    pub(in super::super) fn has_clock(&mut self, clock: ServerTime) {
        self.clock = clock;
    }

    /// Another server takes its place: with the same data, or with an empty cluster. Returns
    /// whether a record is to be lost.
    pub(in super::super) fn is_replaced(&mut self, keeps_data: bool) -> bool {
        self.server += 1;
        if keeps_data {
            return false;
        }
        (self.read, self.past) = (0, Past::default());
        std::mem::take(&mut self.has_a_record)
    }

    /// Replaces the server, whose table was read to its end, by that replica. The replica may lack
    /// the last entries, and gives their numbers to others.
    pub(in super::super) fn is_promoted(&mut self, replica: Promoted) {
        self.read = replica.last;
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
        let mut columns = entry.splitn(5, '|');
        let mut column = || columns.next().ok_or("a column is missing");
        let (id, at, row_of) = (column()?.parse()?, column()?.parse()?, column()?);
        let (before, after) = (column()?, column()?);
        // Waits between the reading of the clock and the change do not make the request a later
        // one.
        self.last_at = self.clock.machine(at).max(self.last_at);
        let at = self.last_at;
        if row_of == "leases" {
            let before = if before.is_empty() { None } else { Some(self.record(at, before)?) };
            let after = self.record(at, after)?;
            self.changed(at, before, after);
        } else {
            let PastRow { identity, stamp, watched, longest } = serde_json::from_str(after)?;
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
    fn record(&mut self, at: u64, row: &str) -> Result<Record, Box<dyn std::error::Error>> {
        let LeaseRow { token, holder, number, ttl, quarantine, released } =
            serde_json::from_str(row)?;
        let hex = holder.strip_prefix("\\x").ok_or("a holder is not hexadecimal")?;
        let holder = u128::from_str_radix(hex, 16)?;
        let marked_at = *self.marked.entry((holder, number)).or_insert(at);
        let lease =
            Record { token, holder, number, ttl, quarantine, released, ..Record::default() };
        Ok(Record { marked_at, ..lease })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grant;
    use super::*;
    use crate::trace::{Answer, Asked, Mark};

    fn lease(token: u64, number: u64, released: bool) -> String {
        format!(
            r#"{{"key":"\\x6a","token":{token},"holder":"\\x000000000000000000000000000000ab","number":{number},"released":{released},"reserved_for":null,"reserve":0,"ttl":5000000,"quarantine":5000000,"wanted":null,"asked":null,"told":null,"defer":0,"written":1,"name":"\\x","metadata":"\\x","described_token":0,"described_version":0}}"#
        )
    }

    fn past(identity: &str, stamp: &str, watched: u64) -> String {
        format!(
            r#"{{"only_row":true,"identity":{identity},"stamp":{stamp},"watched":{watched},"longest":5000000,"purged":0}}"#
        )
    }

    fn table(entries: &[String]) -> Table {
        let mut table = Table::default();
        for entry in entries {
            table.entry(entry).expect("an entry");
        }
        table
    }

    #[test]
    fn changes_of_a_row_are_requests() {
        let (new, stamped) = (past("null", "null", 0), past(r#""a""#, r#""s""#, 0));
        let (first, watched) = (lease(7, 3, false), past(r#""a""#, r#""s""#, 5_000_000));
        let (second, back) = (lease(7, 4, false), lease(7, 4, true));
        let mut table = table(&[
            format!("1|2000000|leases_past||{new}"),
            format!("2|2000001|leases_past|{new}|{stamped}"),
            format!("3|2000002|leases||{first}"),
            format!("4|4000000|leases|{first}|{second}"),
            format!("5|4000001|leases_past|{stamped}|{watched}"),
            // Its name has changed.
            format!("6|4500000|leases|{second}|{second}"),
            format!("7|5000000|leases|{second}|{back}"),
        ]);
        let Steps { all: steps, stamped, .. } = table.take(&Answers::default());
        let seen: Vec<_> = steps.iter().map(|step| (step.at, step.request, step.answer)).collect();
        let past_is_watched = false;
        assert_eq!(
            seen,
            [
                (
                    2_000_002,
                    Asked::Acquire { seen: 0, watched: None },
                    Answer::Granted { token: 7 }
                ),
                (4_000_000, Asked::Renew { token: 7 }, Answer::Renewed { past_is_watched }),
                (5_000_000, Asked::Release { token: 7 }, Answer::Released),
            ]
        );
        assert_eq!(steps[0].before, None);
        assert!(steps.windows(2).all(|two| two[1].before == two[0].after));
        let marked = |step: &Step| step.after.map(|after| (after.holder, after.marked_at));
        let marks: Vec<_> = steps.iter().filter_map(marked).collect();
        assert_eq!(marks, [(0xab, 2_000_002), (0xab, 4_000_000), (0xab, 4_000_000)]);
        assert_eq!(stamped, [Stamped { at: 2_000_001, server: 0, knew_more: false }]);
        assert!(table.is_replaced(false), "a record is lost");
    }

    #[test]
    fn a_lease_that_was_not_handed_back_was_watched() {
        let (first, second) = (lease(7, 3, false), lease(8, 1, false));
        let entries = [format!("1|10|leases||{first}"), format!("2|20|leases|{first}|{second}")];
        let mark = Mark { holder: 0xab, number: 3 };
        let taken = |answers: &Answers| table(&entries).take(answers).all[1].request;
        let least = Asked::Acquire { seen: 7, watched: Some(mark) };
        assert_eq!(taken(&Answers::default()), least);
        let request = Asked::Acquire { seen: 7, watched: None };
        for (sent_at, counts) in [(19, true), (21, false)] {
            let mut answers = Answers::default();
            answers.was_granted(8, Grant { at: 30, sent_at, request });
            assert_eq!(taken(&answers), if counts { request } else { least });
        }
    }

    #[test]
    fn a_server_that_is_another_or_has_lost_a_grant_stamps_its_past() {
        let pasts = [("a", "r"), ("b", "s"), ("b", "t"), ("b", "t")]
            .map(|(identity, stamp)| past(&format!("{identity:?}"), &format!("{stamp:?}"), 0));
        let entries: Vec<_> = pasts
            .iter()
            .zip(1..)
            .map(|(row, id)| format!("{id}|{id}|leases_past||{row}"))
            .collect();
        let stamped = table(&entries).take(&Answers::default()).stamped;
        let seen: Vec<_> = stamped.iter().map(|stamped| (stamped.at, stamped.knew_more)).collect();
        assert_eq!(seen, [(1, false), (2, false), (3, true)]);
    }

    #[test]
    fn other_lines_are_errors() {
        for wrong in ["", "1|2|leases|", "1|x|leases||{}", "1|2|leases||{}"] {
            Table::default().entry(wrong).expect_err(wrong);
        }
    }
}
