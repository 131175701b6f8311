//! The steps of an etcd cluster, from a [watch](super::watch) on the keys of the election.
//!
//! It shows the record, its lease's key and the past: grants, releases, ends of leases and stamps,
//! in the order in which they happened, and neither renewals nor refusals. Where a candidate had
//! the answer sooner than the change has arrived, the change is as old as that, and no change is
//! younger than the one after it. A lease that the server has ended ended when its key was deleted;
//! the end of any other is not known.

mod key;

use super::watch::{KeyChange, Keys};
use super::{Answers, Past, Record, Stamped, Step, Steps};
use crate::trace::{Answer, Asked};
use key::{LEADER, PAST, RECORD};

/// The end of a lease whose end is not known, in microseconds.
const NO_END: u64 = u64::MAX / 2_000;

/// The state of the watch so far.
#[derive(Debug, Default)]
pub(in super::super) struct Elections {
    changes: Vec<Change>,
    server: u32,
    record: Option<Record>,
    /// True if the key of its lease was deleted, at the last revision that was shown.
    has_ended: bool,
    past: Past,
    stamped: Vec<Stamped>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// The wall clock in microseconds when it arrived.
    at: u64,
    server: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Granted(Record),
    Released(Record),
    /// Its key was deleted, and it was not handed back.
    Ended(Record),
}

impl What {
    const fn record(self) -> Record {
        match self {
            Self::Granted(record) | Self::Released(record) | Self::Ended(record) => record,
        }
    }
}

impl Keys for Elections {
    const PREFIX: &'static [u8] = b"tenure/";
    const MARK: &'static [u8] = b"tenure/all-was-shown";
    const MARK_IN_BASE_64: &'static str = "dGVudXJlL2FsbC13YXMtc2hvd24=";

    fn shown(&mut self, at: u64, change: &KeyChange) -> Result<(), String> {
        let wrong =
            |value| format!("{} is neither a record nor a past", String::from_utf8_lossy(value));
        match (&*change.key, change.value.as_deref()) {
            (RECORD, Some(value)) => {
                let record = key::record(value, change.revision).ok_or_else(|| wrong(value))?;
                self.record_is(at, record);
            }
            (PAST, Some(value)) => {
                let past = key::past(value).ok_or_else(|| wrong(value))?;
                self.stamped.extend(self.past.becomes(at, past, self.server));
            }
            (LEADER, value) => self.has_ended = value.is_none(),
            _ => {}
        }
        Ok(())
    }

    /// A key that was deleted alone was deleted by the server.
    fn revision_ended(&mut self, at: u64) {
        if std::mem::take(&mut self.has_ended)
            && let Some(record) = self.record.filter(|record| !record.released)
        {
            self.changes.push(Change { at, server: self.server, what: What::Ended(record) });
        }
    }

    fn are_lost(&mut self) -> bool {
        self.server += 1;
        self.past = Past::default();
        self.record.take().is_some()
    }

    fn has_a_record(&self) -> bool {
        self.record.is_some()
    }

    fn steps(&mut self, answers: &Answers) -> Steps {
        let all = steps(std::mem::take(&mut self.changes), answers);
        let stamped = answers.told(std::mem::take(&mut self.stamped));
        Steps { all, stamped, has_gaps: true }
    }
}

impl Elections {
    fn record_is(&mut self, at: u64, record: Record) {
        let before = self.record.replace(record);
        let what = match before.filter(|before| before.token == record.token) {
            None => What::Granted(record),
            Some(before) if record.released && !before.released => What::Released(record),
            // It was granted again, or tells more of its holder.
            Some(_) => return,
        };
        self.changes.push(Change { at, server: self.server, what });
    }
}

/// The steps of these changes.
fn steps(mut changes: Vec<Change>, answers: &Answers) -> Vec<Step> {
    let mut latest = u64::MAX;
    for change in changes.iter_mut().rev() {
        let answered = match change.what {
            What::Granted(record) => answers.granted(record.token),
            What::Released(record) => answers.released(record.token),
            What::Ended(_) => None,
        };
        latest = change.at.min(answered.unwrap_or(u64::MAX)).min(latest);
        change.at = latest;
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut kept: Option<Record> = None;
    // The mark of a lease that the server has ended: it has watched in a candidate's stead.
    let mut ended = None;
    let mut server = 0;
    for (place, Change { at, server: by, what }) in changes.iter().copied().enumerate() {
        if by != server {
            (server, kept, ended) = (by, None, None);
        }
        let before = kept;
        let record = what.record();
        let (request, answer, after) = match what {
            What::Granted(Record { token, .. }) => {
                let ends = changes[place + 1..].iter().find_map(|change| match change.what {
                    What::Ended(record) if record.token == token => Some(change.at),
                    What::Ended(_) | What::Granted(_) | What::Released(_) => None,
                });
                let after =
                    Record { marked_at: at, ends_at: Some(ends.unwrap_or(NO_END)), ..record };
                let seen = before.map_or(0, |before| before.token);
                let asks = Asked::Acquire { seen, watched: ended.take() };
                (asks, Answer::Granted { token }, Some(after))
            }
            What::Released(Record { token, .. }) => {
                let after = before.map(|before| Record { released: true, ..before });
                (Asked::Release { token }, Answer::Released, after)
            }
            What::Ended(_) => {
                ended = before.map(|before| before.mark());
                continue;
            }
        };
        kept = after;
        let holder = record.holder;
        steps.push(Step { at, holder, request, answer, before, after, server });
    }
    steps
}

#[cfg(test)]
mod tests;
