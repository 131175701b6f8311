//! Requests as one transaction: the contract's own code decides between a read and a write.

use rusqlite::params;
use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{Sight, Stamp};

use super::database::Database;
use super::error::SqliteError;
use super::micros;
use super::record::{DELETE, DESCRIBE, Election, OURS};
use crate::store::{Key, Profile, Reply, Request, Shown};

/// The replies of one transaction. A damaged record is an error of its own, which leaves the others as they are.
pub(super) type Replies = Vec<Result<Reply, SqliteError>>;

/// Carries out one request, or many renewals or looks together, if it begins while they are still awaited.
///
/// The file's place is checked twice: before, so that nothing is written to a file that no other process sees, and
/// after the commit. With the second check, all that is acknowledged was committed before the file was replaced,
/// and so before the next file's first answer: the quarantine there covers it.
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

/// Looks do not lock the file, unless one of them is the first after a loss and has to stamp the past.
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
        if let Some(asked) = request.of_contract() {
            let profile = match request {
                Request::Acquire { profile, .. } => Some(profile),
                _ => None,
            };
            let record = found.as_ref().map(|found| found.record);
            let reply = self.apply(key, record, asked, profile)?;
            return Ok(Reply::of_contract(reply, || found.map(|found| found.profile)));
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

    /// A request of the contract on the record that was read. A repeated grant keeps the profile, which may have been
    /// replaced since.
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
mod tests {
    use std::time::Duration;

    use tenure_core::{Acquire, RequestId};

    use super::*;
    use crate::store::sqlite::SqliteConfig;
    use crate::{HolderId, Token};

    const TTL: Duration = Duration::from_secs(10);

    fn acquire(holder: u128) -> Request {
        let profile = Profile::new("a", "").unwrap();
        let asks = Acquire {
            holder: HolderId::from_bits(holder),
            number: RequestId::new(1).unwrap(),
            seen: None,
            lost: None,
            mark: None,
            stamp: None,
            ttl: TTL,
            quarantine: TTL,
            name: profile.name_id(),
        };
        Request::Acquire { asks, profile }
    }

    fn renew(holder: u128, token: Token) -> Request {
        let number = RequestId::new(2).unwrap();
        Request::Renew { holder: HolderId::from_bits(holder), token, number, stamp: None }
    }

    fn with_file(name: &str, test: impl FnOnce(&Database)) {
        let folder = std::env::temp_dir().join(format!("tenure-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = SqliteConfig::new(folder.join("elections.db")).trust_empty_store(true);
        let database = Database::open(&config).unwrap();
        test(&database);
        drop(database);
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn ask(database: &Database, key: &Key, request: Request) -> Reply {
        step(database, &[(key.clone(), request)], || true).unwrap().remove(0).unwrap()
    }

    fn granted(database: &Database, key: &Key, holder: u128) -> Token {
        match ask(database, key, acquire(holder)) {
            Reply::Granted { token } => token,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_damaged_record_refuses_only_itself() {
        with_file("damaged", |database| {
            let renewals: Vec<_> = (0..5)
                .map(|number| {
                    let key = Key::new(format!("job-{number}")).unwrap();
                    let token = granted(database, &key, number);
                    (key, renew(number, token))
                })
                .collect();
            let damage = "PRAGMA ignore_check_constraints = on;
                UPDATE elections SET ttl = -1 WHERE key = 'job-2'";
            database.handle.connection.execute_batch(damage).unwrap();
            let replies = step(database, &renewals, || true).unwrap();
            for (number, reply) in replies.into_iter().enumerate() {
                match (number, reply) {
                    (2, Err(error @ SqliteError::Damaged { .. })) => {
                        assert!(error.to_string().contains("job-2"), "{error}");
                    }
                    (0 | 1 | 3 | 4, Ok(Reply::Renewed { .. })) => {}
                    (number, other) => panic!("election {number}: {other:?}"),
                }
            }
            for (key, _) in [&renewals[1], &renewals[3]] {
                let Reply::At(shown) = ask(database, key, Request::Observe) else { panic!() };
                assert_eq!(shown.sight.record.unwrap().number.get(), 2);
            }
        });
    }

    #[test]
    fn looks_write_only_a_stamp() {
        with_file("looks", |database| {
            let key = Key::new("job").unwrap();
            let changes = || database.handle.connection.total_changes();
            let before = changes();
            let look = || Request::Look { seen: None, quarantine: TTL };
            ask(database, &key, Request::Observe);
            assert_eq!((changes(), database.past(|| true).unwrap()), (before, None));
            let shown = |reply| match reply {
                Reply::At(shown) => shown.sight.past.unwrap().stamp,
                other => panic!("{other:?}"),
            };
            let stamp = shown(ask(database, &key, look()));
            let stamped = changes();
            assert_ne!(stamped, before);
            let looks = vec![(key.clone(), look()); 3];
            for reply in step(database, &looks, || true).unwrap() {
                assert_eq!(shown(reply.unwrap()), stamp);
            }
            assert_eq!(changes(), stamped);
        });
    }

    #[test]
    fn the_newest_profile_stays_in_its_tenure() {
        with_file("describe", |database| {
            let key = Key::new("job").unwrap();
            let token = granted(database, &key, 1);
            let describe = |of, version, name| {
                let profile = Profile::new(name, "").unwrap();
                let holder = HolderId::from_bits(of);
                ask(database, &key, Request::Describe { holder, token, version, profile })
            };
            let name = || match ask(database, &key, Request::Observe) {
                Reply::At(shown) => shown.profile.unwrap().name().to_owned(),
                other => panic!("{other:?}"),
            };
            assert_eq!(describe(1, 2, "second"), Reply::Described);
            assert_eq!((describe(1, 1, "first"), name()), (Reply::Described, "second".to_owned()));
            assert_eq!((describe(2, 3, "other"), name()), (Reply::NotHeld, "second".to_owned()));
            assert_eq!((granted(database, &key, 1), name()), (token, "second".to_owned()));
        });
    }
}
