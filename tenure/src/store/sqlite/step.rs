//! Requests as one transaction: the contract's own code decides between a read and a write.

use rusqlite::params;
use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{Sight, Stamp};

use super::database::Database;
use super::error::SqliteError;
use super::micros;
use super::record::{DELETE, DESCRIBE, Election, OURS};
use crate::store::{Key, Profile, Reply, Request, Shown};

/// The replies of one transaction. A damaged record is an error of its own, which leaves the others
/// as they are.
pub(super) type Replies = Vec<Result<Reply, SqliteError>>;

/// Carries out one request, or many renewals or looks together, if it begins while they are still
/// awaited.
///
/// The file's place is checked twice: before, so that nothing is written to a file that no other
/// process sees, and after the commit. With the second check, all that is acknowledged was
/// committed before the file was replaced, and so before the next file's first answer: the
/// quarantine there covers it.
pub(super) fn step(
    database: &Database,
    requests: &[(Key, Request)],
    awaited: impl Fn() -> bool,
) -> Result<Replies, SqliteError> {
    database.place.is_kept()?;
    let replies = in_transaction(database, requests, awaited)?;
    database.place.is_kept()?;
    Ok(replies)
}

/// Looks do not lock the file, unless one of them is the first after a loss and has to stamp the
/// past.
fn in_transaction(
    database: &Database,
    requests: &[(Key, Request)],
    awaited: impl Fn() -> bool,
) -> Result<Replies, SqliteError> {
    let reads = |request: &Request| matches!(request, Request::Look { .. } | Request::Observe);
    if requests.iter().all(|(_, request)| reads(request)) {
        let _snapshot = database.handle.snapshot(&awaited)?;
        let mut step = Step::begin(database, &awaited)?;
        let replies = step.all(requests)?;
        if !step.has_changed() {
            return Ok(replies);
        }
    }
    let transaction = database.handle.write(&awaited)?;
    let mut step = Step::begin(database, &awaited)?;
    let replies = step.all(requests)?;
    if step.end()? {
        transaction.commit().map_err(|error| database.handle.failed(error))?;
    }
    Ok(replies)
}

/// Requests by one reading of the clock and of the past.
pub(super) struct Step<'a, F> {
    database: &'a Database,
    awaited: F,
    at: Moment,
    before: Option<Past>,
    past: Option<Past>,
    has_changed: bool,
}

impl<'a, F: Fn() -> bool> Step<'a, F> {
    pub(super) fn begin(database: &'a Database, awaited: F) -> Result<Self, SqliteError> {
        let past = database.past(&awaited)?;
        let at = Moment {
            now: micros::now(),
            identity: OURS,
            fresh: Stamp::from_bits(0),
            // The past is read with each request, so comparing its identity costs nothing.
            first: true,
            trust_empty_store: database.trust_empty_store,
        };
        Ok(Self { database, awaited, at, before: past, past, has_changed: false })
    }

    fn has_changed(&self) -> bool {
        self.has_changed || self.past != self.before
    }

    /// Writes the past if it has changed. Returns whether there is something to commit.
    pub(super) fn end(self) -> Result<bool, SqliteError> {
        if let Some(past) = self.past.filter(|_| self.past != self.before) {
            self.database.keep_past(&past)?;
        }
        Ok(self.has_changed())
    }

    /// Each is judged alone.
    fn all(&mut self, requests: &[(Key, Request)]) -> Result<Replies, SqliteError> {
        let replies = requests.iter().map(|(key, request)| match self.one(key, request) {
            Err(error @ (SqliteError::Damaged { .. } | SqliteError::TooLarge { .. })) => {
                Ok(Err(error))
            }
            replied => replied.map(Ok),
        });
        replies.collect()
    }

    fn one(&mut self, key: &Key, request: &Request) -> Result<Reply, SqliteError> {
        let found = self.database.election(key, &self.awaited)?;
        if let Some(asked) = request.to_contract() {
            let profile = match request {
                Request::Acquire { profile, .. } => Some(profile),
                _ => None,
            };
            let record = found.as_ref().map(|found| found.record);
            let reply = self.apply(key, record, asked, profile)?;
            return Ok(Reply::from_contract(reply, || found.map(|found| found.profile)));
        }
        if let Request::Describe { holder, token, version, profile } = request {
            let is_last = |record: Record| (record.holder, record.token) == (*holder, *token);
            if !found.is_some_and(|found| is_last(found.record)) {
                return Ok(Reply::NotHeld);
            }
            let version = i64::try_from(*version).unwrap_or(i64::MAX);
            let (name, metadata) = (profile.name(), &profile.metadata()[..]);
            let row = params![key.as_str(), version, name, metadata];
            self.has_changed |= self.database.execute(DESCRIBE, row)? > 0;
            return Ok(Reply::Described);
        }
        let (record, profile) = found.map(|Election { record, profile }| (record, profile)).unzip();
        let purged = || self.past.and_then(|past| past.purged);
        let last = record.map_or_else(purged, |record| Some(record.token));
        Ok(Reply::At(Shown {
            sight: Sight { last, record, past: None, now: self.at.now },
            profile,
        }))
    }

    /// A request of the contract on the record that was read. A repeated grant keeps the profile,
    /// which may have been replaced since.
    pub(super) fn apply(
        &mut self,
        key: &Key,
        before: Option<Record>,
        asked: tenure_core::Request,
        profile: Option<&Profile>,
    ) -> Result<tenure_core::Reply, SqliteError> {
        self.at.fresh = fresh(self.database)?;
        let (mut after, mut past) = (before, self.past);
        let reply = contract::apply(&mut after, &mut past, self.at, micros::whole(asked));
        if after != before {
            let is_granted = |after: Record| before.is_none_or(|one| one.token != after.token);
            match (after, profile) {
                (Some(after), Some(profile)) if is_granted(after) => {
                    self.database.grant(key, &after, profile)?;
                }
                (Some(after), _) if matches!(asked, tenure_core::Request::Renew { .. }) => {
                    self.database.renew(key, &after)?;
                }
                (Some(after), _) => self.database.change(key, &after)?,
                (None, _) => drop(self.database.execute(DELETE, &[&key.as_str()])?),
            }
            self.has_changed = true;
        }
        self.past = past;
        Ok(reply)
    }
}

fn fresh(database: &Database) -> Result<Stamp, SqliteError> {
    let mut bits = [0; 16];
    let drawn = getrandom::fill(&mut bits).map_err(Into::into);
    let failed = |error| SqliteError::io(&database.handle.path, "drawing a random stamp", error);
    drawn.map_err(failed).map(|()| Stamp::from_bits(u128::from_ne_bytes(bits)))
}

#[cfg(test)]
mod tests;
