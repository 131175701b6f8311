//! The records in the file. Content that no version writes is damage, and never a vacancy.

use std::time::Duration;

use rusqlite::{Error, OptionalExtension, Row, ToSql, params};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, NameId, RequestId, Reservation, Stamp, Wish};

use super::database::Database;
use super::error::SqliteError;
use super::micros::MOST;
use crate::store::{Key, Profile};
use crate::{HolderId, Instant, Token};

pub(super) const SELECT_ELECTION: &str = "
    SELECT token, holder, number, released, reserved_for, reserve, ttl, quarantine, wanted, asked, defer, written,
        name, metadata
    FROM elections WHERE key = ?1";

/// Replaces the row of the tenure before, if there is one, with all that was noted about it.
pub(super) const GRANT: &str = "
    REPLACE INTO elections (key, token, holder, number, released, ttl, quarantine, written, name, metadata)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

pub(super) const CHANGE: &str = "
    UPDATE elections SET number = ?2, released = ?3, reserved_for = ?4, reserve = ?5, wanted = ?6, asked = ?7,
        defer = ?8, written = ?9
    WHERE key = ?1";

/// The statement of a renewal, which runs most.
pub(super) const RENEW: &str = "
    UPDATE elections SET number = ?2, asked = NULL, defer = NULL, written = ?3 WHERE key = ?1";

/// A version counts within its tenure.
pub(super) const DESCRIBE: &str = "
    UPDATE elections SET name = ?3, metadata = ?4, described = ?2 WHERE key = ?1 AND described < ?2";

pub(super) const DELETE: &str = "DELETE FROM elections WHERE key = ?1";

pub(super) const SELECT_PAST: &str = "
    SELECT identity, stamp, watched, longest, purged FROM past WHERE one = 1";

pub(super) const SELECT_HINT: &str = "
    SELECT token, released, wanted FROM elections
    WHERE key = ?1 AND (released = 1 OR wanted IS NOT NULL)";

pub(super) const KEEP_PAST: &str = "
    REPLACE INTO past (one, identity, stamp, watched, longest, purged) VALUES (1, ?1, ?2, ?3, ?4, ?5)";

/// The identities in the file as the contract compares them: of this boot, this time namespace and
/// the file as it is now, or another one.
pub(super) const OURS: u128 = 1;
const OTHERS: u128 = 0;

/// The lease of this tenure was released, or another leader is wished for. The next hint follows
/// only once this has changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hint {
    token: i64,
    released: bool,
    wanted: Option<Vec<u8>>,
}

/// One election.
#[derive(Debug)]
pub(super) struct Election {
    pub(super) record: Record,
    pub(super) profile: Profile,
}

impl Election {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let record = Record {
            token: Token::new(number(row, 0)?).ok_or(out_of_range(0, 0))?,
            holder: HolderId::from_bits(u128::from_be_bytes(row.get(1)?)),
            number: RequestId::new(number(row, 2)?).ok_or(out_of_range(2, 0))?,
            released: match row.get(3)? {
                0 => false,
                1 => true,
                other => return Err(out_of_range(3, other)),
            },
            reservation: named(row, 4, |name, reserve| Reservation { name, reserve })?,
            ttl: duration(row, 6)?,
            quarantine: duration(row, 7)?,
            wanted: wish(row, 8)?,
            asked: named(row, 9, |name, defer| Asked { name, defer })?,
            written: Instant::ORIGIN + duration(row, 11)?,
        };
        Ok(Self { record, profile: profile(row)? })
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
            .patiently(awaited, || self.first(SELECT_ELECTION, &[&key.as_str()], Election::read))
            .map_err(|error| error.about(|| format!("the record of {key:?}")))
    }

    /// A reason for candidates that wait to ask, if any.
    pub(super) fn hint(&self, key: &Key) -> Result<Option<Hint>, SqliteError> {
        let read = |row: &Row<'_>| {
            Ok(Hint { token: row.get(0)?, released: row.get(1)?, wanted: row.get(2)? })
        };
        let hint = self.first(SELECT_HINT, &[&key.as_str()], read);
        hint.map_err(|error| self.handle.failed(error))
    }

    /// A number that changes with each commit of another connection.
    pub(super) fn version(&self) -> Result<i64, SqliteError> {
        self.handle.patiently(
            || true,
            || self.handle.connection.pragma_query_value(None, "data_version", |row| row.get(0)),
        )
    }

    /// Writes the record of a grant with its profile.
    pub(super) fn grant(
        &self,
        key: &Key,
        record: &Record,
        profile: &Profile,
    ) -> Result<(), SqliteError> {
        let Record { token, holder, number, released, ttl, quarantine, written, .. } = *record;
        let (token, number) = (self.column(token.get())?, self.column(number.get())?);
        let holder = holder.to_bits().to_be_bytes();
        let (ttl, quarantine, written) = (micros(ttl), micros(quarantine), instant(written));
        let (key, name, metadata) = (key.as_str(), profile.name(), &profile.metadata()[..]);
        let row =
            params![key, token, holder, number, released, ttl, quarantine, written, name, metadata];
        self.write(GRANT, row)
    }

    pub(super) fn renew(&self, key: &Key, renewed: &Record) -> Result<(), SqliteError> {
        let number = self.column(renewed.number.get())?;
        let row = params![key.as_str(), number, instant(renewed.written)];
        self.write(RENEW, row)
    }

    /// Writes all that may change during a tenure.
    pub(super) fn change(&self, key: &Key, record: &Record) -> Result<(), SqliteError> {
        let Record { number, released, reservation, wanted, asked, written, .. } = *record;
        let number = self.column(number.get())?;
        let bytes = |name: NameId| name.to_bits().to_be_bytes();
        let (reserved_for, reserve) =
            reservation.map(|kept| (bytes(kept.name), micros(kept.reserve))).unzip();
        let wanted = wanted.map(|wish| match wish {
            Wish::Anybody => Vec::new(),
            Wish::Name(name) => bytes(name).to_vec(),
        });
        let (asked, defer) = asked.map(|asked| (bytes(asked.name), micros(asked.defer))).unzip();
        let (key, written) = (key.as_str(), instant(written));
        let row =
            params![key, number, released, reserved_for, reserve, wanted, asked, defer, written];
        self.write(CHANGE, row)
    }

    /// The file's past; `None` before the first request.
    pub(super) fn past(&self, awaited: impl Fn() -> bool) -> Result<Option<Past>, SqliteError> {
        let read = |row: &Row<'_>| {
            let identity: String = row.get(0)?;
            Ok(Past {
                identity: if identity == self.place.identity { OURS } else { OTHERS },
                stamp: Stamp::from_bits(u128::from_be_bytes(row.get(1)?)),
                watched: duration(row, 2)?,
                longest: duration(row, 3)?,
                purged: Token::new(number(row, 4)?),
            })
        };
        self.handle
            .patiently(awaited, || self.first(SELECT_PAST, &[], read))
            .map_err(|error| error.about(|| "its past".to_owned()))
    }

    /// Writes the past of our identity.
    pub(super) fn keep_past(&self, past: &Past) -> Result<(), SqliteError> {
        let Past { stamp, watched, longest, purged, .. } = *past;
        let (stamp, purged) = (stamp.to_bits().to_be_bytes(), purged.map_or(0, Token::get));
        let purged = self.column(purged)?;
        let row = params![self.place.identity, stamp, micros(watched), micros(longest), purged];
        self.write(KEEP_PAST, row)
    }

    /// Writes one row: what is granted is what the file has, not what a statement meant.
    fn write(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), SqliteError> {
        if self.execute(sql, values)? == 1 {
            return Ok(());
        }
        let what = "a row was not written: drop the trigger that skips it".to_owned();
        Err(SqliteError::Damaged { path: self.handle.path.clone(), what })
    }

    /// Returns how many rows have changed.
    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, SqliteError> {
        self.handle
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|error| self.handle.failed(error))
    }

    /// The first row, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.handle.connection.prepare_cached(sql)?.query_row(values, read).optional()
    }

    /// Columns are signed: a higher number is refused rather than kept as another one.
    fn column(&self, number: u64) -> Result<i64, SqliteError> {
        i64::try_from(number).map_err(|_| {
            let what = format!("{number} is above all numbers that it can keep ({})", i64::MAX);
            SqliteError::Damaged { path: self.handle.path.clone(), what }
        })
    }
}

fn instant(instant: Instant) -> i64 {
    micros(instant.since(Instant::ORIGIN))
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| out_of_range(column, number))
}

fn duration(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    let micros = number(row, column)?;
    let fits = Some(micros).filter(|micros| *micros <= MOST).map(Duration::from_micros);
    fits.ok_or(out_of_range(column, i64::try_from(micros).unwrap_or(i64::MAX)))
}

fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<NameId>> {
    let bits = row.get::<_, Option<[u8; 16]>>(column)?;
    Ok(bits.map(|bits| NameId::from_bits(u128::from_be_bytes(bits))))
}

/// A name with the duration in the next column.
fn named<T>(
    row: &Row<'_>,
    column: usize,
    of: impl FnOnce(NameId, Duration) -> T,
) -> rusqlite::Result<Option<T>> {
    let Some(name) = name(row, column)? else { return Ok(None) };
    Ok(Some(of(name, duration(row, column + 1)?)))
}

/// A wish for any candidate is kept as an empty name.
fn wish(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Wish>> {
    match row.get_ref(column)?.as_blob_or_null()? {
        Some([]) => Ok(Some(Wish::Anybody)),
        None | Some(_) => Ok(name(row, column)?.map(Wish::Name)),
    }
}

/// Checks that the profile is not longer than any candidate's.
fn profile(row: &Row<'_>) -> rusqlite::Result<Profile> {
    let (name, metadata): (String, Vec<u8>) = (row.get(12)?, row.get(13)?);
    Profile::new(name, metadata).map_err(|error| {
        Error::FromSqlConversionFailure(12, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn out_of_range(column: usize, value: i64) -> Error {
    Error::IntegralValueOutOfRange(column, value)
}
