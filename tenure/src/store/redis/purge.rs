//! The deletion of the records of long-ended elections: `SCAN` finds records, some at a time, and a
//! script deletes those of the old ones among them that were given back, or that this process has
//! watched.
//!
//! `SCAN` walks through all keys of the database, also those of other programs. It may return a key
//! twice or not at all if keys come and go meanwhile: then the next purge deletes it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::field::Field;
use super::reply::ReplyValue;
use crate::Instant;
use crate::store::watches::Watches;
use crate::store::{Key, StoreError, StoreErrorKind};

/// The places of its table that the server looks at in one step, and so about the most keys that it
/// returns.
pub(super) const COUNT: &str = "100";

/// A scan's place: the server's cursor.
pub(super) struct Cursor(pub(super) String);

impl Default for Cursor {
    /// The begin, and also the end.
    fn default() -> Self {
        Self("0".to_owned())
    }
}

/// The result of one step of a scan.
pub(super) struct Scanned {
    pub(super) keys: Vec<Vec<u8>>,
    /// `None` at the end.
    pub(super) next: Option<Cursor>,
}

/// Reads the answer to `SCAN`.
pub(super) fn scanned<V: ReplyValue>(answer: &V) -> Result<Scanned, StoreError> {
    let text = |value: &V| match value.field() {
        Field::Text(text) => Some(text.to_vec()),
        Field::Number(_) | Field::Other => None,
    };
    let read = || {
        let [cursor, keys] = answer.elements()? else { return None };
        let cursor = String::from_utf8(text(cursor)?).ok()?;
        let keys: Option<Vec<_>> = keys.elements()?.iter().map(text).collect();
        let next = (cursor != "0").then_some(Cursor(cursor));
        Some(Scanned { keys: keys?, next })
    };
    read().ok_or_else(|| StoreError::new(StoreErrorKind::UnexpectedReply, "to SCAN"))
}

/// The marks seen by the purges of this store, by the records' names.
#[derive(Default)]
pub(super) struct Purging(Mutex<Watches<Vec<u8>, String>>);

impl Purging {
    /// These records, each with the mark that was watched for as long as it must.
    pub(super) fn with_marks(
        &self,
        records: Vec<Vec<u8>>,
        now: Instant,
    ) -> Vec<(Vec<u8>, Option<String>)> {
        let watches = self.watches();
        let marked = records.into_iter().map(|record| {
            let mark = watches.watched(&record, now).cloned();
            (record, mark)
        });
        marked.collect()
    }

    /// Takes in what the script has answered, and returns how many records it has deleted. `now` is
    /// after the answer.
    pub(super) fn take_in<V: ReplyValue>(
        &self,
        records: &[(Vec<u8>, Option<String>)],
        answer: &V,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let unexpected =
            || StoreError::new(StoreErrorKind::UnexpectedReply, "to the script that purges");
        let answers = answer.elements().filter(|all| all.len() == records.len());
        let mut deleted = 0;
        for ((record, _), answer) in records.iter().zip(answers.ok_or_else(unexpected)?) {
            let fields: Vec<_> =
                answer.elements().unwrap_or_default().iter().map(V::field).collect();
            match fields[..] {
                [Field::Text(b"purged")] => deleted += 1,
                [Field::Text(b"kept")] => {}
                [Field::Text(b"watch"), Field::Text(mark), Field::Number(demand)] => {
                    let mark = String::from_utf8_lossy(mark).into_owned();
                    let demand = u64::try_from(demand).map_err(|_| unexpected())?;
                    let demand = Duration::from_micros(demand);
                    self.watches().sees(record.clone(), mark, demand, now);
                }
                _ => return Err(unexpected()),
            }
        }
        Ok(deleted)
    }

    /// A purge has gone through all records.
    pub(super) fn ends(&self) {
        self.watches().ends();
    }

    fn watches(&self) -> MutexGuard<'_, Watches<Vec<u8>, String>> {
        // No step panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The elections of these records. A name that no candidate has written is left alone.
pub(super) fn keys(prefix: &str, records: &[Vec<u8>]) -> BTreeSet<Key> {
    let begin = format!("{{{prefix}}}:leader:");
    let key = |record: &Vec<u8>| {
        let key = str::from_utf8(record.strip_prefix(begin.as_bytes())?).ok()?;
        Key::new(key).ok()
    };
    records.iter().filter_map(key).collect()
}

/// Adds what to do to a refusal.
pub(super) fn explained(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Permission => {
            let detail = "besides the rights to take part, a listing needs +scan, and a purge +scan and +del";
            StoreError::new(StoreErrorKind::Permission, detail).with_source(error)
        }
        _ => error,
    }
}

/// A pattern that matches the names of the records of that prefix, and no others.
pub(super) fn pattern(prefix: &str) -> String {
    let mut pattern = "{".to_owned();
    for letter in prefix.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "}:leader:*"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_matched_literally() {
        assert_eq!(pattern("tenure"), "{tenure}:leader:*");
        assert_eq!(pattern("a*[b]?\\"), "{a\\*\\[b\\]\\?\\\\}:leader:*");
    }

    #[test]
    fn elections_are_read_from_names() {
        let names =
            ["{a}:leader:job", "{a}:leader:}:leader:", "{a}:leader:", "{b}:leader:job", "{a}:past"];
        let names = names.map(|name| name.as_bytes().to_vec());
        let found: Vec<_> = keys("a", &names).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["job", "}:leader:"]);
    }
}
