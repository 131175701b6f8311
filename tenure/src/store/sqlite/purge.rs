//! The deletion of the rows of long-ended elections, a few at a time.

use std::time::Duration;

use rusqlite::params;
use tenure_core::contract::Record;
use tenure_core::{Mark, Reply};

use super::database::Database;
use super::error::SqliteError;
use super::micros;
use super::step::Step;
use crate::Instant;
use crate::store::Key;
use crate::store::watches::Watches;

/// The most rows in one transaction: they take a fraction of a millisecond besides its commit.
const ROWS: u16 = 256;

const PAGE: &str = "SELECT key FROM elections WHERE key > ?1 ORDER BY key LIMIT ?2";

/// The result of one step.
pub(super) struct Page {
    pub(super) deleted: u64,
    /// The next one's beginning; `None` after the last one.
    pub(super) next: Option<String>,
}

/// The elections of a few rows.
pub(super) struct Listed {
    pub(super) keys: Vec<Key>,
    /// The next step's beginning; `None` after the last one.
    pub(super) next: Option<String>,
}

/// Those of the next few rows after that key. The file's place is checked as for a request.
pub(super) fn keys(database: &Database, after: &str) -> Result<Listed, SqliteError> {
    database.place.is_kept()?;
    let listed = database.keys(after)?;
    database.place.is_kept()?;
    Ok(listed)
}

/// Deletes the old ones of the next few rows after that key, if it begins while it is still
/// awaited. The file's place is checked as for a request.
pub(super) fn purge(
    database: &Database,
    (seen, clock): (&mut Watches<Key, Mark>, impl Fn() -> Instant),
    after: &str,
    age: Duration,
    awaited: impl Fn() -> bool,
) -> Result<Page, SqliteError> {
    database.place.is_kept()?;
    let snapshot = database.handle.snapshot(&awaited)?;
    let Listed { keys, next } = database.keys(after)?;
    let mut due = Vec::new();
    for key in keys {
        if let Some(record) = readable(database, &key, &awaited)?
            && micros::now().since(record.written) > age
        {
            // The watch begins after the reading: the mark may be as young as that.
            let (mark, now) = (record.mark(), clock());
            seen.sees(key.clone(), mark, record.ttl.max(record.quarantine), now);
            let watched = seen.watched(&key, now) == Some(&mark);
            if watched || record.released {
                due.push((key, tenure_core::Request::Purge { mark, watched }));
            }
        }
    }
    drop(snapshot);
    if next.is_none() {
        seen.ends();
    }
    let deleted = if due.is_empty() { 0 } else { delete(database, &due, &awaited)? };
    database.place.is_kept()?;
    Ok(Page { deleted, next })
}

/// Only now is the file locked; a record may have another mark.
fn delete(
    database: &Database,
    due: &[(Key, tenure_core::Request)],
    awaited: impl Fn() -> bool,
) -> Result<u64, SqliteError> {
    let transaction = database.handle.write(&awaited)?;
    let mut step = Step::begin(database, &awaited)?;
    let mut deleted = 0;
    for (key, purge) in due {
        let record = readable(database, key, &awaited)?;
        deleted += u64::from(step.apply(key, record, *purge, None)? == Reply::Purged);
    }
    if step.end()? {
        transaction.commit().map_err(|error| database.handle.failed(error))?;
    }
    Ok(deleted)
}

/// A damaged record is kept.
fn readable(
    database: &Database,
    key: &Key,
    awaited: impl Fn() -> bool,
) -> Result<Option<Record>, SqliteError> {
    match database.election(key, awaited) {
        Err(SqliteError::Damaged { .. } | SqliteError::TooLarge { .. }) => Ok(None),
        found => Ok(found?.map(|found| found.record)),
    }
}

impl Database {
    fn keys(&self, after: &str) -> Result<Listed, SqliteError> {
        let names =
            self.handle.connection.prepare_cached(PAGE).and_then(|mut page| {
                page.query_map(params![after, ROWS], |row| row.get(0))?.collect()
            });
        let names: Vec<String> = names.map_err(|error| self.handle.failed(error))?;
        let next = names.last().filter(|_| names.len() == usize::from(ROWS)).cloned();
        // Another key is damage.
        Ok(Listed { keys: names.iter().filter_map(|name| Key::new(name).ok()).collect(), next })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::sqlite::SqliteConfig;

    const DEMAND: Duration = Duration::from_secs(10);
    const ROW: &str = "
        INSERT INTO elections (key, token, holder, number, released, ttl, quarantine, written, name, metadata)
        VALUES ('job', 1, zeroblob(16), 1, 0, 10000000, 10000000, 1, 'a', x'')";

    #[test]
    fn a_watch_begins_after_the_reading() {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("elections.db"));
        let database = Database::open(&config).unwrap();
        database.handle.connection.execute_batch(ROW).unwrap();
        let (mut seen, time) = (Watches::default(), Cell::new(Instant::ORIGIN));
        let passes = |duration: Duration| time.set(time.get() + duration);
        let mut deleted = |step_takes: Duration| {
            let awaited = || {
                passes(step_takes);
                true
            };
            let watches = (&mut seen, || time.get());
            purge(&database, watches, "", Duration::ZERO, awaited).unwrap().deleted
        };
        assert_eq!(deleted(DEMAND), 0);
        passes(DEMAND.saturating_sub(Duration::from_nanos(1)));
        assert_eq!(deleted(Duration::ZERO), 0);
        passes(Duration::from_nanos(1));
        assert_eq!(deleted(Duration::ZERO), 1);
    }
}
