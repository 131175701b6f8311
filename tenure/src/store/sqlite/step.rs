//! One request, as one transaction.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::contract::{self, Moment};

use super::SqliteError;
use super::database::Database;
use crate::Instant;
use crate::store::{Key, Profile, Reply, Request};

/// Carries out one request, if it begins while it is still awaited.
///
/// That the file is still in its place is asked twice: before, so that nothing is written to a file
/// that nobody else sees; and after the commit. With the second look, whatever is acknowledged was
/// committed before the file was replaced, and so before the next file's first grant: the quarantine
/// there covers it.
pub(super) fn step(
    database: &Database,
    trust_empty_store: bool,
    key: &Key,
    request: &Request,
    awaited: impl Fn() -> bool,
) -> Result<Reply, SqliteError> {
    database.place.is_kept()?;
    let reply = match machines(request) {
        Some((request, profile)) => {
            change(database, trust_empty_store, key, (request, profile), awaited)
        }
        None => observe(database, key, awaited),
    }?;
    database.place.is_kept()?;
    Ok(reply)
}

/// The request as the contract has it, and the profile that is kept if it is granted; `None` for a mere
/// look.
fn machines(request: &Request) -> Option<(tenure_core::Request, Option<&Profile>)> {
    Some(match *request {
        // What is kept is whole microseconds; the store's granularity covers the rest.
        Request::Acquire { holder, seen, ttl, quarantine, ref profile } => {
            let ttl = whole_micros(ttl);
            (tenure_core::Request::Acquire { holder, seen, ttl, quarantine }, Some(profile))
        }
        Request::Renew { holder, token, ttl } => {
            (tenure_core::Request::Renew { holder, token, ttl: whole_micros(ttl) }, None)
        }
        Request::Release { holder, token } => {
            (tenure_core::Request::Release { holder, token }, None)
        }
        Request::Observe | Request::Notify { .. } => return None,
    })
}

fn change(
    database: &Database,
    trust_empty_store: bool,
    key: &Key,
    (request, profile): (tenure_core::Request, Option<&Profile>),
    awaited: impl Fn() -> bool,
) -> Result<Reply, SqliteError> {
    let transaction = database.write(&awaited)?;
    // Whoever has the lock reads the clock: no transaction is later than one that began after it.
    let now = now()?;
    let found = database.election(key, awaited)?;
    let mut record = found.as_ref().map(|election| election.record);
    // Only a grant depends on it.
    let known = if profile.is_some() { database.history()? } else { None };
    let mut history = known;
    let at = Moment { now, identity: 1, trust_empty_store };
    let reply = contract::apply(&mut record, &mut history, at, request);
    let granted = matches!(reply, tenure_core::Reply::Granted { .. });
    let changed =
        granted || matches!(reply, tenure_core::Reply::Renewed | tenure_core::Reply::Released);
    if let Some(record) = record.filter(|_| changed) {
        database.keep_election(key, &record, profile)?;
    }
    if let Some(history) = history.filter(|history| Some(*history) != known) {
        database.keep_history(&history)?;
    }
    if changed {
        transaction.commit().map_err(|error| database.failed(error))?;
    }
    Ok(match reply {
        tenure_core::Reply::Granted { token, wait } => Reply::Granted { token, wait },
        tenure_core::Reply::Held { .. } => {
            found.and_then(|found| found.incumbent(now)).map_or(Reply::Vacant, Reply::Held)
        }
        tenure_core::Reply::Stale { last } => Reply::Stale { last },
        tenure_core::Reply::Renewed => Reply::Renewed,
        tenure_core::Reply::Superseded { last } => Reply::Superseded { last },
        tenure_core::Reply::Released => Reply::Released,
        tenure_core::Reply::NotHeld => Reply::NotHeld,
    })
}

/// Reads the clock first, without a lock. So a lease that is told to be over was over in the file as it
/// was read then; the other way round it might have been renewed in between.
fn observe(
    database: &Database,
    key: &Key,
    awaited: impl Fn() -> bool,
) -> Result<Reply, SqliteError> {
    let now = now()?;
    let found = database.election(key, awaited)?;
    Ok(found.and_then(|found| found.incumbent(now)).map_or(Reply::Vacant, Reply::Held))
}

/// The wall clock, in whole microseconds.
fn now() -> Result<Instant, SqliteError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| SqliteError::Clock)?;
    let micros = u64::try_from(since.as_micros()).map_err(|_| SqliteError::Clock)?;
    micros.checked_mul(1_000).map(Instant::from_nanos).ok_or(SqliteError::Clock)
}

fn whole_micros(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
