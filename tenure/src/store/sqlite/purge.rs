//! The deletion of the rows of long-ended elections, a few at a time.

use std::time::Duration;

use rusqlite::types::FromSql;
use rusqlite::{ToSql, params};

use super::database::Database;
use super::error::SqliteError;
use super::record::{Past, micros, micros_of};
use super::time::{Clocks, FileTime};
use crate::Instant;

/// How many rows one transaction looks at: they take a fraction of a millisecond besides its commit.
const ROWS: i64 = 256;

/// The last of the next few keys.
const PAGE: &str = "SELECT key FROM elections WHERE key > ?1 ORDER BY key LIMIT 1 OFFSET ?2 - 1";

/// Whether a lease in that range ended long ago. A row with a negative number is damaged, and kept.
macro_rules! outdated {
    () => {
        "FROM elections WHERE key > ?1 AND (?2 IS NULL OR key <= ?2) AND lease_end >= 0
            AND lease_end + max(?3, ttl, coalesce(quarantine, 0)) < ?4 AND token < ?4"
    };
}

const IS_DUE: &str = concat!("SELECT EXISTS (SELECT 1 ", outdated!(), ")");
/// Notes the highest token first: a history that has none yet has 0.
const NOTE: &str = concat!(
    "UPDATE history SET purged = max(purged, (SELECT max(token) ",
    outdated!(),
    ")) WHERE one = 1"
);
const DELETE: &str = concat!("DELETE ", outdated!());

/// What one step has done.
pub(super) struct Page {
    pub(super) deleted: u64,
    /// Where the next one begins; `None` after the last one.
    pub(super) next: Option<String>,
}

/// Deletes the old ones of the next few rows after that key, if it begins while it is still awaited. The file's place
/// is checked as for a request.
pub(super) fn purge(
    database: &Database,
    after: &str,
    age: Duration,
    awaited: impl Fn() -> bool,
) -> Result<Page, SqliteError> {
    database.place.is_kept()?;
    let page = purge_page(database, after, age, awaited)?;
    database.place.is_kept()?;
    Ok(page)
}

fn purge_page(
    database: &Database,
    after: &str,
    age: Duration,
    awaited: impl Fn() -> bool,
) -> Result<Page, SqliteError> {
    let snapshot = database.handle.snapshot(&awaited)?;
    let next: Option<String> = database.first(PAGE, params![after, ROWS])?;
    let page = |deleted| Page { deleted, next: next.clone() };
    let is_due = |past: Option<Past>| -> Result<Option<(Instant, Duration)>, SqliteError> {
        // The file's time may jump with the next grant after another boot. Until then, nothing is old.
        let Some(past) = past.filter(|past| past.is_ours) else { return Ok(None) };
        let FileTime { now, .. } = FileTime::of(Some(&past), Clocks::read(), || Ok(0))?;
        let age = age.max(past.longest_ttl);
        let due = params![after, next, micros_of(age), micros(now)];
        let is_due: Option<bool> = database.first(IS_DUE, due)?;
        Ok(is_due.unwrap_or_default().then_some((now, age)))
    };
    if is_due(database.past(&awaited)?)?.is_none() {
        return Ok(page(0));
    }
    drop(snapshot);
    // Only now is the file locked; what was read may have changed.
    let transaction = database.handle.write(&awaited)?;
    let Some((now, age)) = is_due(database.past(&awaited)?)? else { return Ok(page(0)) };
    let range = params![after, next, micros_of(age), micros(now)];
    database.execute(NOTE, range)?;
    let deleted = database.execute(DELETE, range)?;
    transaction.commit().map_err(|error| database.handle.failed(error))?;
    Ok(page(u64::try_from(deleted).unwrap_or_default()))
}

impl Database {
    /// The first column of the first row, if there is one.
    fn first<T: FromSql>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
    ) -> Result<Option<T>, SqliteError> {
        use rusqlite::OptionalExtension;

        self.handle
            .connection
            .prepare_cached(sql)
            .and_then(|mut select| select.query_row(values, |row| row.get(0)).optional())
            .map_err(|error| self.handle.failed(error))
    }
}
