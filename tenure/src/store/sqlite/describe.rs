//! Another profile for a tenure: its version is kept beside its token, so that of an earlier tenure does not count.

use rusqlite::params;

use super::database::Database;
use super::error::SqliteError;
use crate::store::{Key, Reply, Request};

const DESCRIBE: &str = "
    UPDATE elections SET name = ?5, metadata = ?6, described_token = ?3, described_version = ?4
    WHERE key = ?1 AND holder = ?2 AND token = ?3 AND (described_token <> ?3 OR described_version < ?4)";

const IS_LAST: &str = "
    SELECT count(*) FROM elections WHERE key = ?1 AND holder = ?2 AND token = ?3";

/// `None` for other requests. It reads no clock: nobody is told of a lease that is over.
pub(super) fn describe(
    database: &Database,
    key: &Key,
    request: &Request,
    awaited: impl Fn() -> bool,
) -> Result<Option<Reply>, SqliteError> {
    let Request::Describe { holder, token, version, profile } = request else { return Ok(None) };
    // No record has a higher token.
    let Ok(token) = i64::try_from(*token) else { return Ok(Some(Reply::NotHeld)) };
    let (key, holder) = (key.as_str(), holder.to_bits().to_be_bytes());
    let version = i64::try_from(*version).unwrap_or(i64::MAX);
    let transaction = database.handle.write(awaited)?;
    let (name, metadata) = (profile.name(), &profile.metadata()[..]);
    database.execute(DESCRIBE, params![key, holder, token, version, name, metadata])?;
    let failed = |error| database.handle.failed(error);
    let mut is_last = database.handle.connection.prepare_cached(IS_LAST).map_err(failed)?;
    let records = is_last.query_row(params![key, holder, token], |row| row.get(0));
    let records: u32 = records.map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(Some(if records == 0 { Reply::NotHeld } else { Reply::Described }))
}
