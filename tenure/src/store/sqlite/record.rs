//! The records in the file. Content that no version writes is damage, and never a vacancy.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Error, OptionalExtension, Row, ToSql, params};
use tenure_core::contract::{History, Record};

use super::database::Database;
use super::error::SqliteError;
use crate::store::key::check;
use crate::store::{Incumbent, Key, Profile};
use crate::{HolderId, Instant, Token};

pub(super) const SELECT_ELECTION: &str = "
    SELECT token, holder, lease_end, ttl, quarantine, released, name, metadata FROM elections
    WHERE key = ?1";

/// Inserts the row of a new election, or replaces all columns of an existing row.
pub(super) const GRANT: &str = "
    INSERT INTO elections
        (key, token, holder, lease_end, ttl, quarantine, released, name, metadata, written_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (key) DO UPDATE SET token = ?2, holder = ?3, lease_end = ?4, ttl = ?5, quarantine = ?6,
        released = ?7, name = ?8, metadata = ?9, written_at = ?10";

pub(super) const CHANGE: &str = "
    UPDATE elections SET lease_end = ?2, ttl = ?3, released = ?4, written_at = ?5 WHERE key = ?1";

pub(super) const SELECT_HISTORY: &str = "
    SELECT identity, known_since, longest_ttl, ahead, purged FROM history WHERE one = 1";

pub(super) const SELECT_RELEASED: &str = "
    SELECT token FROM elections WHERE key = ?1 AND released = 1";

pub(super) const KEEP_HISTORY: &str = "
    INSERT INTO history (one, identity, known_since, longest_ttl, ahead, purged) VALUES (1, ?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (one) DO UPDATE SET identity = ?1, known_since = ?2, longest_ttl = ?3, ahead = ?4, purged = ?5";

/// The latest time that the file has recorded. A renewal may have set the history to begin a TTL after
/// it, and has written down its own time too.
const LAST_KNOWN: &str = "
    SELECT max(0, coalesce((SELECT known_since - longest_ttl FROM history), 0),
        coalesce((SELECT max(written_at) FROM elections), 0))";

/// The file's history, of any writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    /// Written in this boot and time namespace, in the file as it is now.
    pub(super) is_ours: bool,
    pub(super) known_since: Instant,
    pub(super) longest_ttl: Duration,
    /// By how much the file's time is ahead of the writer's `CLOCK_BOOTTIME`, in microseconds.
    pub(super) ahead: i64,
    /// The highest token among the records that were purged.
    pub(super) purged: Option<Token>,
}

/// One election.
#[derive(Debug)]
pub(super) struct Election {
    pub(super) record: Record,
    name: String,
    metadata: Vec<u8>,
}

impl Election {
    /// The holder of a live lease.
    pub(super) fn incumbent(self, now: Instant) -> Option<Incumbent> {
        let Self { record, name, metadata } = self;
        record.is_live(now).then(|| {
            let remaining = record.remaining(now);
            Incumbent::new(record.token, record.holder, name, Bytes::from(metadata), remaining)
                .with_ttl(record.ttl)
        })
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let token = row.get(0)?;
        let record = Record {
            token: u64::try_from(token).ok().and_then(Token::new).ok_or(out_of_range(0, token))?,
            holder: HolderId::from_bits(u128::from_be_bytes(row.get(1)?)),
            lease_end: instant(row, 2)?,
            ttl: duration(row, 3)?,
            quarantine: match row.get_ref(4)? {
                ValueRef::Null => None,
                _ => Some(duration(row, 4)?),
            },
            released: match row.get(5)? {
                0 => false,
                1 => true,
                other => return Err(out_of_range(5, other)),
            },
        };
        within(row, 6, "the name", Profile::NAME_MOST)?;
        within(row, 7, "the metadata", Profile::METADATA_MOST)?;
        Ok(Self { record, name: row.get(6)?, metadata: row.get(7)? })
    }
}

impl Database {
    /// The record of an election. It may wait for a process that has just begun to use the file.
    pub(super) fn election(
        &self,
        key: &Key,
        awaited: impl Fn() -> bool,
    ) -> Result<Option<Election>, SqliteError> {
        self.handle
            .patiently(awaited, || {
                let mut select = self.handle.connection.prepare_cached(SELECT_ELECTION)?;
                select.query_row([key.as_str()], Election::read).optional()
            })
            .map_err(|error| error.about(|| format!("the record of {key:?}")))
    }

    /// The tenure that released the lease, if no candidate has acquired it since.
    pub(super) fn released(&self, key: &Key) -> Result<Option<Token>, SqliteError> {
        let mut select = self
            .handle
            .connection
            .prepare_cached(SELECT_RELEASED)
            .map_err(|error| self.handle.failed(error))?;
        let token = select.query_row([key.as_str()], |row| row.get(0)).optional();
        let token: Option<i64> = token.map_err(|error| self.handle.failed(error))?;
        // An invalid token is damage, which the next request reports.
        Ok(token.and_then(|token| Token::try_from(token).ok()))
    }

    /// A number that changes with each commit of another connection.
    pub(super) fn version(&self) -> Result<i64, SqliteError> {
        self.handle.patiently(
            || true,
            || self.handle.connection.pragma_query_value(None, "data_version", |row| row.get(0)),
        )
    }

    /// Writes the record, and with a grant the profile too.
    pub(super) fn keep_election(
        &self,
        key: &Key,
        record: &Record,
        profile: Option<&Profile>,
        now: Instant,
    ) -> Result<(), SqliteError> {
        let Record { token, holder, lease_end, ttl, quarantine, released } = *record;
        let (key, now) = (key.as_str(), micros(now));
        let (lease_end, ttl) = (micros(lease_end), micros_of(ttl));
        let quarantine = quarantine.map(micros_of);
        let Some(profile) = profile else {
            return self.execute(CHANGE, params![key, lease_end, ttl, released, now]).map(drop);
        };
        let Ok(number) = i64::try_from(token) else {
            let what = format!("{token} is no token that could have been granted");
            return Err(SqliteError::Damaged { path: self.handle.path.clone(), what });
        };
        let holder = holder.to_bits().to_be_bytes();
        let (name, metadata) = (profile.name(), &profile.metadata()[..]);
        let lease =
            params![key, number, holder, lease_end, ttl, quarantine, released, name, metadata, now];
        self.execute(GRANT, lease).map(drop)
    }

    /// The file's history; `None` before the first grant.
    pub(super) fn past(&self, awaited: impl Fn() -> bool) -> Result<Option<Past>, SqliteError> {
        let read = |row: &Row<'_>| {
            let identity: String = row.get(0)?;
            let is_ours = self.place.identity.wrote(&identity);
            let (known_since, longest_ttl) = (instant(row, 1)?, duration(row, 2)?);
            let purged = row.get(4)?;
            let purged = u64::try_from(purged).map_err(|_| out_of_range(4, purged))?;
            let (ahead, purged) = (row.get(3)?, Token::new(purged));
            Ok(Past { is_ours, known_since, longest_ttl, ahead, purged })
        };
        self.handle
            .patiently(awaited, || {
                self.handle
                    .connection
                    .prepare_cached(SELECT_HISTORY)?
                    .query_row([], read)
                    .optional()
            })
            .map_err(|error| error.about(|| "its history".to_owned()))
    }

    /// The latest time that the file has recorded, in microseconds of the file's time.
    pub(super) fn last_known(&self) -> Result<i64, SqliteError> {
        self.handle
            .connection
            .prepare_cached(LAST_KNOWN)
            .and_then(|mut select| select.query_row([], |row| row.get(0)))
            .map_err(|error| self.handle.failed(error))
    }

    /// Writes the history with our identity.
    pub(super) fn keep_history(&self, history: &History, ahead: i64) -> Result<(), SqliteError> {
        let known_since = micros(history.known_since);
        let longest_ttl = micros_of(history.longest_ttl);
        let identity = &self.place.identity.text;
        let purged = history.purged.map_or(0, Token::get);
        // As any token of a record, it came from such a column.
        let purged = i64::try_from(purged).unwrap_or(i64::MAX);
        let history = params![identity, known_since, longest_ttl, ahead, purged];
        self.execute(KEEP_HISTORY, history).map(drop)
    }

    /// Returns how many rows have changed.
    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, SqliteError> {
        self.handle
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|error| self.handle.failed(error))
    }
}

/// An instant in microseconds, as the file keeps it.
pub(super) fn micros(instant: Instant) -> i64 {
    i64::try_from(instant.as_nanos() / 1_000).unwrap_or(i64::MAX)
}

/// The most that a column may hold: as many microseconds as an instant can count.
const MICROS_MOST: u64 = u64::MAX / 1_000;

pub(super) fn micros_of(duration: Duration) -> i64 {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).min(MICROS_MOST);
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// Checks that a part of the profile is not longer than any candidate's.
fn within(row: &Row<'_>, column: usize, what: &'static str, most: usize) -> rusqlite::Result<()> {
    let value = row.get_ref(column)?;
    let length = value.as_bytes_or_null().map_or(0, |bytes| bytes.map_or(0, <[u8]>::len));
    check(what, length, 0, most).map_err(|error| {
        Error::FromSqlConversionFailure(column, value.data_type(), Box::new(error))
    })
}

fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Instant> {
    Ok(Instant::from_nanos(micros_in(row, column)? * 1_000))
}

fn duration(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    micros_in(row, column).map(Duration::from_micros)
}

/// Microseconds that the file keeps.
fn micros_in(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let micros: i64 = row.get(column)?;
    let fits = u64::try_from(micros).ok().filter(|micros| *micros <= MICROS_MOST);
    fits.ok_or(out_of_range(column, micros))
}

fn out_of_range(column: usize, value: i64) -> Error {
    Error::IntegralValueOutOfRange(column, value)
}
