//! Reads what the statements return.
//!
//! A column of another type than the statement's is an error of the kind `UnexpectedReply`: replies
//! may be out of step with their requests. An impossible value in a column is a damaged record, and
//! its own election's trouble alone.

use std::time::Duration;

use tenure_core::contract::Record;
use tenure_core::{Asked, NameId, RequestId, Reservation, Sight, Stamp, UnwatchedPast, Wish};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::store::{Profile, Reply, Shown, StoreError, StoreErrorKind};
use crate::{HolderId, Instant, Token};

/// The result of a look.
#[derive(Debug)]
pub(super) struct Found {
    record: Option<Record>,
    profile: Option<Profile>,
    past: Option<Past>,
    purged: Option<Token>,
    now: Instant,
}

#[derive(Debug)]
struct Past {
    stamp: Stamp,
    watched: Duration,
    longest: Duration,
}

impl Found {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let record = match column(row, 0)? {
            Some(token) => Some(record(row, token)?),
            None => None,
        };
        let (name, metadata) = (column::<&[u8]>(row, 12)?, column::<&[u8]>(row, 13)?);
        let profile = name.zip(metadata).and_then(|(name, metadata)| {
            Profile::new(String::from_utf8_lossy(name), metadata.to_vec()).ok()
        });
        let past = match column::<&[u8]>(row, 14)? {
            Some(bytes) => Some(Past {
                stamp: Stamp::from_bits(bits("stamp", bytes)?),
                watched: duration("watched", column(row, 15)?)?,
                longest: duration("longest", column(row, 16)?)?,
            }),
            None => None,
        };
        let purged = column(row, 17)?.and_then(token);
        Ok(Self { record, profile, past, purged, now: time(column(row, 18)?) })
    }

    fn last(&self) -> Option<Token> {
        self.record.map_or(self.purged, |record| Some(record.token))
    }

    fn unwatched(&self, quarantine: Duration) -> Option<UnwatchedPast> {
        let past = self.past.as_ref().filter(|past| past.watched < quarantine.max(past.longest))?;
        Some(UnwatchedPast { stamp: past.stamp, longest: past.longest })
    }

    /// The view of a candidate of that quarantine; an observer has none.
    pub(super) fn shown(self, quarantine: Option<Duration>) -> Shown {
        let past = quarantine.and_then(|quarantine| self.unwatched(quarantine));
        let sight = Sight { last: self.last(), record: self.record, past, now: self.now };
        Shown { sight, profile: self.profile }
    }

    /// The answer to a renewal that has changed nothing.
    pub(super) fn not_renewed(
        &self,
        holder: HolderId,
        token: Token,
        number: RequestId,
    ) -> Result<Reply, StoreError> {
        let of_tenure = |one: &Record| !one.released && (one.holder, one.token) == (holder, token);
        match self.record.filter(of_tenure) {
            None => Ok(Reply::Superseded { last: self.last() }),
            Some(Record { asked, wanted, quarantine, number: last, .. }) if last >= number => {
                Ok(Reply::Renewed { asked, wanted, past: self.unwatched(quarantine) })
            }
            // A renewal that finds its tenure is carried out.
            Some(_) => Err(unexpected("a renewal has left its tenure's row as it was")),
        }
    }
}

fn record(row: &Row, last: i64) -> Result<Record, StoreError> {
    let number =
        column::<i64>(row, 2)?.and_then(|number| RequestId::new(u64::try_from(number).ok()?));
    let reserve = duration("reserve", column(row, 5)?)?;
    let reserved_for =
        column::<&[u8]>(row, 4)?.map(|name| bits("reserved_for", name)).transpose()?;
    Ok(Record {
        token: token(last).ok_or_else(|| damaged("token", &last))?,
        holder: HolderId::from_bits(bits("holder", column(row, 1)?.unwrap_or_default())?),
        number: number.ok_or_else(|| damaged("number", &column::<i64>(row, 2)))?,
        released: column(row, 3)?.unwrap_or_default(),
        reservation: reserved_for
            .map(|name| Reservation { name: NameId::from_bits(name), reserve }),
        ttl: duration("ttl", column(row, 6)?)?,
        quarantine: duration("quarantine", column(row, 7)?)?,
        wanted: wish(column(row, 8)?)?,
        asked: asked(column(row, 9)?, column(row, 10)?)?,
        written: time(column(row, 11)?),
    })
}

/// The answer to a renewal, and its place among those that were asked together, from 1 on.
pub(super) fn renewed(row: &Row) -> Result<(usize, Result<Reply, StoreError>), StoreError> {
    let place = column::<i64>(row, 0)?.and_then(|place| usize::try_from(place).ok());
    Ok((place.ok_or_else(|| unexpected("no place"))?, per_row(told(row))?))
}

fn told(row: &Row) -> Result<Reply, StoreError> {
    let past = match column::<&[u8]>(row, 4)? {
        Some(past) => Some(unwatched(past)?),
        None => None,
    };
    let asked = asked(column(row, 1)?, column(row, 2)?)?;
    Ok(Reply::Renewed { asked, wanted: wish(column(row, 3)?)?, past })
}

/// A damaged record is the error of its own row; any other error is that of all rows.
pub(super) fn per_row<T>(read: Result<T, StoreError>) -> Result<Result<T, StoreError>, StoreError> {
    match read {
        Err(error) if error.kind() == StoreErrorKind::BadRecord => Ok(Err(error)),
        read => read.map(Ok),
    }
}

/// A stamp and the longest TTL.
fn unwatched(bytes: &[u8]) -> Result<UnwatchedPast, StoreError> {
    let parts = bytes.split_first_chunk::<16>();
    let longest =
        parts.and_then(|(stamp, longest)| Some((stamp, <[u8; 8]>::try_from(longest).ok()?)));
    let (stamp, longest) = longest.ok_or_else(|| damaged("stamp", &bytes))?;
    let longest = duration("longest", Some(i64::from_be_bytes(longest)))?;
    Ok(UnwatchedPast { stamp: Stamp::from_bits(u128::from_be_bytes(*stamp)), longest })
}

/// A token that may be missing.
pub(super) fn granted(row: &Row) -> Result<Option<Token>, StoreError> {
    column(row, 0)?.map(|last| token(last).ok_or_else(|| damaged("token", &last))).transpose()
}

fn asked(name: Option<&[u8]>, defer: Option<i64>) -> Result<Option<Asked>, StoreError> {
    let Some(name) = name else { return Ok(None) };
    let name = NameId::from_bits(bits("asked", name)?);
    Ok(Some(Asked { name, defer: duration("defer", defer)? }))
}

fn wish(wanted: Option<&[u8]>) -> Result<Option<Wish>, StoreError> {
    Ok(match wanted {
        None => None,
        Some([]) => Some(Wish::Anybody),
        Some(name) => Some(Wish::Name(NameId::from_bits(bits("wanted", name)?))),
    })
}

pub(super) fn column<'a, T: FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<Option<T>, StoreError> {
    row.try_get(index).map_err(|error| unexpected(&error.to_string()))
}

pub(super) fn bits(what: &'static str, bytes: &[u8]) -> Result<u128, StoreError> {
    bytes.try_into().map(u128::from_be_bytes).map_err(|_| damaged(what, &bytes))
}

fn token(value: i64) -> Option<Token> {
    u64::try_from(value).ok().and_then(Token::new)
}

pub(super) fn duration(what: &'static str, micros: Option<i64>) -> Result<Duration, StoreError> {
    let known = micros.and_then(|micros| u64::try_from(micros).ok());
    known.map(Duration::from_micros).ok_or_else(|| damaged(what, &micros))
}

/// A point on the server's clock, which is a hint.
fn time(micros: Option<i64>) -> Instant {
    let micros = micros.and_then(|micros| u64::try_from(micros).ok()).unwrap_or_default();
    Instant::ORIGIN + Duration::from_micros(micros)
}

fn damaged(what: &'static str, value: &dyn std::fmt::Debug) -> StoreError {
    StoreError::showing(StoreErrorKind::BadRecord, format_args!("its {what} is {value:?}"))
}

pub(super) fn unexpected(detail: &str) -> StoreError {
    let detail: String = detail.chars().take(200).collect();
    StoreError::new(StoreErrorKind::UnexpectedReply, detail)
}
