//! One request, or many renewals, as one transaction.

use std::time::Duration;

use tenure_core::contract::{self, History, Moment};

use super::database::Database;
use super::describe::describe;
use super::error::SqliteError;
use super::record::Election;
use super::time::{Clocks, FileTime};
use crate::Instant;
use crate::store::{Key, Profile, Reply, Request};

/// The writers of the file's history as identities of the contract: a process of this boot and time namespace, in
/// the file as it is now, or another one. The file's time may jump after another writer, whose grants are not
/// bounded by it.
const OURS: u128 = 1;
const OTHERS: u128 = 0;

/// The replies of one transaction. A damaged record is an error of its own, which leaves the others as they are.
pub(super) type Replies = Vec<Result<Reply, SqliteError>>;

/// A request for the contract, and the profile to keep if it is granted.
type Change<'a> = (&'a Key, tenure_core::Request, Option<&'a Profile>);

/// Carries out one request, or many renewals together, if it begins while they are still awaited.
///
/// The file's place is checked twice: before, so that nothing is written to a file that no other process sees, and
/// after the commit. With the second check, all that is acknowledged was committed before the file was replaced,
/// and so before the next file's first grant: the quarantine there covers it.
pub(super) fn step(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    requests: &[(Key, Request)],
    awaited: impl Fn() -> bool,
) -> Result<Replies, SqliteError> {
    database.place.is_kept()?;
    let replies = match requests {
        [(key, request)] => one(database, clocks, key, request, awaited)?,
        renewals => {
            let changes: Vec<_> =
                renewals.iter().filter_map(|(key, renewal)| change_of(key, renewal)).collect();
            change(database, clocks, &changes, awaited)?
        }
    };
    database.place.is_kept()?;
    Ok(replies)
}

fn one(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    key: &Key,
    request: &Request,
    awaited: impl Fn() -> bool,
) -> Result<Replies, SqliteError> {
    if let Some(held) = held_from(database, &clocks, key, request, &awaited)? {
        return Ok(vec![Ok(held)]);
    }
    if let Some(described) = describe(database, key, request, &awaited)? {
        return Ok(vec![Ok(described)]);
    }
    match change_of(key, request) {
        Some(asked) => change(database, clocks, &[asked], awaited),
        None => Ok(vec![Ok(observe(database, &clocks, key, awaited)?)]),
    }
}

/// `None` for requests that change no lease.
fn change_of<'a>(key: &'a Key, request: &'a Request) -> Option<Change<'a>> {
    let (request, profile) = match *request {
        // The file keeps whole microseconds; the store's granularity covers the rest.
        Request::Acquire { holder, seen, ttl, quarantine, ref profile } => {
            let (ttl, quarantine) = (whole_micros(ttl), whole_micros(quarantine));
            (tenure_core::Request::Acquire { holder, seen, ttl, quarantine }, Some(profile))
        }
        Request::Renew { holder, token, ttl } => {
            (tenure_core::Request::Renew { holder, token, ttl: whole_micros(ttl) }, None)
        }
        Request::Release { holder, token } => {
            (tenure_core::Request::Release { holder, token }, None)
        }
        Request::Describe { .. } | Request::Observe | Request::Notify { .. } => return None,
    };
    Some((key, request, profile))
}

/// Carries out changes under one lock, by one reading of the clock, with one commit. Each is judged alone.
fn change(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    asked: &[Change<'_>],
    awaited: impl Fn() -> bool,
) -> Result<Replies, SqliteError> {
    let transaction = database.handle.write(&awaited)?;
    // The clock is read under the lock, so that the order of readings is that of the transactions.
    let clocks = clocks();
    let past = database.past(&awaited)?;
    let FileTime { now, ahead } = FileTime::of(past.as_ref(), clocks, || database.last_known())?;
    let known = past.map(|past| History {
        identity: if past.is_ours { OURS } else { OTHERS },
        known_since: past.known_since,
        longest_ttl: past.longest_ttl,
        purged: past.purged,
    });
    let mut history = known;
    let trust_empty_store = database.trust_empty_store;
    // The history was read for each request, so comparing it costs nothing.
    let at = Moment { now, identity: OURS, trust_empty_store, compares_identity: true };
    let (mut replies, mut has_changed) = (Replies::with_capacity(asked.len()), false);
    for &(key, request, profile) in asked {
        let found = match database.election(key, &awaited) {
            Err(error @ (SqliteError::Damaged { .. } | SqliteError::TooLarge { .. })) => {
                replies.push(Err(error));
                continue;
            }
            found => found?,
        };
        let mut record = found.as_ref().map(|election| election.record);
        let reply = contract::apply(&mut record, &mut history, at, request);
        if changes(&reply)
            && let Some(record) = record
        {
            // A repeated grant keeps the profile, which may have been replaced since.
            let granted = found.as_ref().is_none_or(|found| found.record.token != record.token);
            database.keep_election(key, &record, profile.filter(|_| granted), now)?;
            has_changed = true;
        }
        let incumbent = || found.and_then(|found| found.incumbent(now));
        replies.push(Ok(Reply::of_contract(reply, incumbent)));
    }
    if has_changed {
        if let Some(history) = history.filter(|_| history != known) {
            database.keep_history(&history, ahead)?;
        }
        transaction.commit().map_err(|error| database.handle.failed(error))?;
    }
    Ok(replies)
}

/// Whether the record has changed.
fn changes(reply: &tenure_core::Reply) -> bool {
    use tenure_core::Reply as To;
    match reply {
        To::Granted { .. } | To::Renewed | To::Released => true,
        To::Held { .. } | To::Refused { .. } | To::Stale { .. } => false,
        To::Superseded { .. } | To::NotHeld => false,
    }
}

/// The answer to an acquire while another candidate holds the lease: a read is enough for it, so that waiting
/// candidates do not lock the file.
fn held_from(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    key: &Key,
    request: &Request,
    awaited: impl Fn() -> bool,
) -> Result<Option<Reply>, SqliteError> {
    let Request::Acquire { holder, ttl, quarantine, .. } = request else { return Ok(None) };
    let (now, found) = look(database, clocks, key, awaited)?;
    let (ttl, quarantine) = (whole_micros(*ttl), whole_micros(*quarantine));
    // A candidate with contradicting settings is refused by the transaction.
    let found = found.filter(|found| !found.record.contradicts(now, ttl, quarantine));
    let incumbent = found.and_then(|found| found.incumbent(now));
    Ok(incumbent.filter(|incumbent| incumbent.holder != *holder).map(Reply::Held))
}

fn observe(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    key: &Key,
    awaited: impl Fn() -> bool,
) -> Result<Reply, SqliteError> {
    let (now, found) = look(database, clocks, key, awaited)?;
    Ok(found.and_then(|found| found.incumbent(now)).map_or(Reply::Vacant, Reply::Held))
}

/// Reads the clock first and then the record, without a lock. So a lease that seems to be over was over in the
/// file as it was then read; the other way round it might have been renewed in between.
fn look(
    database: &Database,
    clocks: impl Fn() -> Clocks,
    key: &Key,
    awaited: impl Fn() -> bool,
) -> Result<(Instant, Option<Election>), SqliteError> {
    let clocks = clocks();
    let _snapshot = database.handle.snapshot(&awaited)?;
    let past = database.past(&awaited)?;
    let FileTime { now, .. } = FileTime::of(past.as_ref(), clocks, || database.last_known())?;
    Ok((now, database.election(key, awaited)?))
}

fn whole_micros(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::sqlite::SqliteConfig;
    use crate::{HolderId, Token};

    const SECOND: i64 = 1_000_000;
    const TTL: Duration = Duration::from_secs(10);

    fn acquire(holder: u128) -> Request {
        let holder = HolderId::from_bits(holder);
        let profile = Profile::new("a", "").unwrap();
        Request::Acquire { holder, seen: None, ttl: TTL, quarantine: TTL, profile }
    }

    #[test]
    fn setting_the_hosts_clock_changes_no_lease() {
        let folder = std::env::temp_dir().join(format!("tenure-step-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = SqliteConfig::new(folder.join("elections.db")).trust_empty_store(true);
        let database = Database::open(&config).unwrap();
        let clocks = Cell::new(Clocks { boot: 60 * SECOND, wall: 1_700_000_000 * SECOND });
        let key = Key::new("job").unwrap();
        let ask = |request| {
            let request = [(key.clone(), request)];
            let mut replies = step(&database, || clocks.get(), &request, || true).unwrap();
            replies.remove(0).unwrap()
        };
        let pass = |seconds, wall| {
            let boot = clocks.get().boot + seconds * SECOND;
            clocks.set(Clocks { boot, wall });
        };
        let token = match ask(acquire(1)) {
            Reply::Granted { token, wait: Duration::ZERO } => token,
            other => panic!("{other:?}"),
        };
        assert_eq!(token.get(), 1_700_000_000_000_000);
        for wall in [0, 1_800_000_000 * SECOND] {
            pass(1, wall);
            assert!(matches!(ask(Request::Observe), Reply::Held(_)));
            assert!(matches!(ask(acquire(2)), Reply::Held(_)));
            let holder = HolderId::from_bits(1);
            assert_eq!(ask(Request::Renew { holder, token, ttl: TTL }), Reply::Renewed);
        }
        pass(10, 0);
        assert_eq!(ask(Request::Observe), Reply::Vacant);
        let Request::Acquire { holder, ttl, quarantine, profile, .. } = acquire(2) else {
            unreachable!("made as one");
        };
        let seen = Some(token);
        match ask(Request::Acquire { holder, seen, ttl, quarantine, profile }) {
            Reply::Granted { token: next, wait: Duration::ZERO } => {
                assert_eq!(Some(next), Token::new(token.get() + 12_000_000));
            }
            other => panic!("{other:?}"),
        }
        drop(database);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_record_refuses_only_itself() {
        let folder = std::env::temp_dir().join(format!("tenure-damaged-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = SqliteConfig::new(folder.join("elections.db")).trust_empty_store(true);
        let database = Database::open(&config).unwrap();
        let ask = |requests: &[_]| step(&database, Clocks::read, requests, || true).unwrap();
        let renewals: Vec<_> = (0..5)
            .map(|number| {
                let key = Key::new(format!("job-{number}")).unwrap();
                let granted = ask(&[(key.clone(), acquire(number))]).remove(0).unwrap();
                let Reply::Granted { token, .. } = granted else { panic!("{granted:?}") };
                (key, Request::Renew { holder: HolderId::from_bits(number), token, ttl: TTL * 3 })
            })
            .collect();
        let damage = "PRAGMA ignore_check_constraints = on;
            UPDATE elections SET lease_end = -1 WHERE key = 'job-2'";
        database.handle.connection.execute_batch(damage).unwrap();
        for (number, reply) in ask(&renewals).into_iter().enumerate() {
            match (number, reply) {
                (2, Err(error @ SqliteError::Damaged { .. })) => {
                    assert!(error.to_string().contains("job-2"), "{error}");
                }
                (0 | 1 | 3 | 4, Ok(Reply::Renewed)) => {}
                (number, other) => panic!("election {number}: {other:?}"),
            }
        }
        for (key, _) in [&renewals[1], &renewals[3]] {
            match ask(&[(key.clone(), Request::Observe)]).remove(0) {
                Ok(Reply::Held(incumbent)) => assert!(incumbent.remaining > TTL * 2),
                other => panic!("{other:?}"),
            }
        }
        drop(database);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
