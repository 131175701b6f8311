//! The steps of a lease table in PostgreSQL, from a trigger that writes down each change of a row.
//!
//! The trigger's entries are part of the transaction that they describe, so what was undone is not among them. A request
//! that changes nothing leaves no entry: refusals are not judged here.

use serde::Deserialize;
use tenure::store::postgres::LeaseTable;
use tenure_servers::{PostgresServer, ServerError};

use super::{History, Record, ServerTime, Step};

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
CREATE TRIGGER changed AFTER INSERT OR UPDATE ON tenure.leases_history FOR EACH ROW EXECUTE FUNCTION public.changed();
";

/// A statement that is preempted changes a row at most that long after it has read the clock, in microseconds.
const CHANGED_WITHIN: u64 = 25_000;

/// The observer of a lease table.
#[derive(Debug, Default)]
pub(in super::super) struct Table {
    server: u32,
    clock: ServerTime,
    /// The last entry that was read.
    read: u64,
    history: History,
    has_a_record: bool,
    /// The time of the last step: those of one row are in order.
    last_at: u64,
    steps: Vec<Step>,
}

/// A row of the lease table.
#[derive(Debug, Deserialize)]
struct LeaseRow {
    token: u64,
    holder: String,
    lease_end: u64,
    ttl: u64,
    quarantine: u64,
    released: bool,
}

/// What a replica had when it was promoted.
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

    /// Reads the entries that were written since the last time. The server is in use, or is about to be replaced.
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

    /// Another server takes its place: with the same data, or with an empty cluster. Returns whether a record is lost.
    pub(in super::super) fn is_replaced(&mut self, keeps_data: bool) -> bool {
        self.server += 1;
        if keeps_data {
            return false;
        }
        (self.read, self.history) = (0, History::default());
        std::mem::take(&mut self.has_a_record)
    }

    /// That replica has taken the place of the server, whose table was read to its end. It may lack the last entries, and
    /// gives their numbers to others.
    pub(in super::super) fn is_promoted(&mut self, replica: Promoted) {
        self.read = replica.last;
        self.server += 1;
    }

    pub(in super::super) fn take(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    fn entry(&mut self, entry: &str) -> Result<(), Box<dyn std::error::Error>> {
        let mut columns = entry.splitn(5, '|');
        let mut column = || columns.next().ok_or("a column is missing");
        let (id, at, row_of) = (column()?.parse()?, column()?.parse()?, column()?);
        let (before, after) = (column()?, column()?);
        match row_of {
            "leases" => {
                let record = |row: &str| -> Result<Record, Box<dyn std::error::Error>> {
                    serde_json::from_str::<LeaseRow>(row)?.record()
                };
                let before = if before.is_empty() { None } else { Some(record(before)?) };
                self.changed(at, before, record(after)?);
            }
            _ => self.history = serde_json::from_str::<HistoryRow>(after)?.history(),
        }
        self.read = id;
        Ok(())
    }

    fn changed(&mut self, at: u64, before: Option<Record>, after: Record) {
        // A row is inserted without a tenure, and the same transaction grants the first one.
        if after.token == 0 {
            return;
        }
        self.has_a_record = true;
        let before = before.filter(|before| before.token > 0);
        let read = before.map_or(at, |before| read_before(before, after, at));
        let changed = Record::changed(before, after, self.history, read);
        let Some((now, request, answer)) = changed else { return };
        // Waits between the reading and the change do not make the request a later one.
        let at = self.clock.machine(now).max(self.last_at);
        self.last_at = at;
        let (holder, server, clock) = (after.holder, self.server, self.clock);
        let after = Some(after);
        self.steps.push(Step { at, now, holder, request, answer, before, after, server, clock });
    }
}

/// When the clock was read for a change that was seen at that time. A release leaves no reading in the row: if the lease
/// ended just before the change, it may still have lasted when the clock was read.
fn read_before(before: Record, after: Record, changed: u64) -> u64 {
    let is_released = after.released && !before.released;
    let is_just_over =
        (1..=CHANGED_WITHIN).contains(&(changed + 1).saturating_sub(before.lease_end));
    if is_released && is_just_over { before.lease_end - 1 } else { changed }
}

/// The row of the history.
#[derive(Debug, Deserialize)]
struct HistoryRow {
    known_since: u64,
    longest_ttl: u64,
}

impl HistoryRow {
    fn history(&self) -> History {
        History { known_since: self.known_since, longest_ttl: self.longest_ttl }
    }
}

impl LeaseRow {
    fn record(self) -> Result<Record, Box<dyn std::error::Error>> {
        let hex = self.holder.strip_prefix("\\x").ok_or("a holder is not hexadecimal")?;
        Ok(Record {
            token: self.token,
            holder: u128::from_str_radix(hex, 16)?,
            lease_end: self.lease_end,
            ttl: self.ttl,
            quarantine: self.quarantine,
            released: self.released,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Answer, Asked};

    fn lease(token: u64, lease_end: u64, released: bool) -> String {
        format!(
            r#"{{"key":"\\x6a","token":{token},"holder":"\\x000000000000000000000000000000ab","since":1,"lease_end":{lease_end},"ttl":5000000,"quarantine":5000000,"released":{released},"name":"\\x","metadata":"\\x"}}"#
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
        let history = r#"{"only_row":true,"identity":"a","known_since":1000000,"longest_ttl":5000000,"purged":0}"#;
        let mut table = table(&[
            format!("1|2000000|leases_history||{history}"),
            format!("2|2000001|leases||{}", lease(0, 0, true)),
            format!("3|2000002|leases|{}|{}", lease(0, 0, true), lease(7, 7_000_000, false)),
            format!(
                "4|4000000|leases|{}|{}",
                lease(7, 7_000_000, false),
                lease(7, 9_000_000, false)
            ),
            format!(
                "5|5000000|leases|{}|{}",
                lease(7, 9_000_000, false),
                lease(7, 9_000_000, true)
            ),
        ]);
        let steps = table.take();
        let seen: Vec<_> = steps.iter().map(|step| (step.now, step.request, step.answer)).collect();
        assert_eq!(
            seen,
            [
                (2_000_000, Asked::Acquire { seen: 0 }, Answer::Granted { token: 7, waits: true }),
                (4_000_000, Asked::Renew { token: 7 }, Answer::Renewed),
                (5_000_000, Asked::Release { token: 7 }, Answer::Released),
            ]
        );
        assert_eq!((steps[0].before, steps[1].before), (None, steps[0].after));
        assert_eq!(steps[0].holder, 0xab);
        assert!(table.is_replaced(false), "a record is lost");
    }

    #[test]
    fn a_release_may_be_seen_after_the_end_of_its_lease() {
        let released_at = |at: u64| {
            let (held, over) = (lease(7, 9_000_000, false), lease(7, 9_000_000, true));
            table(&[format!("1|{at}|leases|{held}|{over}")]).take()[0].now
        };
        for (changed, read) in [
            (8_999_999, 8_999_999),
            (9_000_000, 8_999_999),
            (9_002_000, 8_999_999),
            (9_000_000 + CHANGED_WITHIN, 9_000_000 + CHANGED_WITHIN),
        ] {
            assert_eq!(released_at(changed), read);
        }
    }

    #[test]
    fn other_lines_are_errors() {
        for wrong in ["", "1|2|leases|", "1|x|leases||{}", "1|2|leases||{}"] {
            Table::default().entry(wrong).expect_err(wrong);
        }
    }
}
