//! The deletion of the records of long-ended elections: `SCAN` finds records, some at a time, and a script deletes the
//! old ones among them.
//!
//! `SCAN` walks through all keys of the database, also those of other programs. It may return a key twice or not at all
//! if keys come and go meanwhile: then the next purge deletes it.

use super::reply::{Field, ReplyValue};
use crate::store::{StoreError, StoreErrorKind};

/// How many places of its table the server looks at in one step, and so about how many keys it returns at most.
pub(super) const COUNT: &str = "100";

/// Where a scan is: the server's cursor.
pub(super) struct Cursor(pub(super) String);

impl Default for Cursor {
    /// The begin, and also the end.
    fn default() -> Self {
        Self("0".to_owned())
    }
}

/// What one step of a scan has found.
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

/// How many records the script has deleted.
pub(super) fn deleted<V: ReplyValue>(answer: &V) -> Result<u64, StoreError> {
    if let Some([word, count]) = answer.elements()
        && let (Field::Text(b"purged"), Field::Number(count)) = (word.field(), count.field())
        && let Ok(count) = u64::try_from(count)
    {
        return Ok(count);
    }
    Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to the script that purges"))
}

/// Adds what to do to a refusal.
pub(super) fn explained(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Authentication => {
            let detail = "to purge, the user needs +scan and +del besides the rights to take part";
            StoreError::new(StoreErrorKind::Authentication, detail).with_source(error)
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
}
