//! Requests to a file, without its thread.

use std::time::Duration;

use tenure_core::{Acquire, RequestId};

use super::*;
use crate::store::sqlite::SqliteConfig;
use crate::{HolderId, Token};

const TTL: Duration = Duration::from_secs(10);

fn acquire(holder: u128) -> Request {
    let profile = Profile::new("a", "").unwrap();
    let (holder, number) = (HolderId::from_bits(holder), RequestId::new(1).unwrap());
    let asks = Acquire::new(holder, number, TTL, profile.name_id());
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
