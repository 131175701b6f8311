//! The deletion of records whose lease ended long ago.

use std::time::Duration;
use tenure_core::contract::purge;
use tenure_core::{Reply, Request, Token};

use crate::support::{ANNA, BERT, QUARANTINE, Store, TTL, acquire, micros, seconds};

/// Longer than the settings of a record bind others.
const AGE: Duration = Duration::from_secs(100);

impl Store {
    fn purge(&mut self, age: Duration) -> bool {
        purge(&mut self.record, &mut self.history, self.at, age)
    }
}

/// A store whose only lease was granted at 1000 and ended at 1010, and its token.
fn ended() -> (Store, Token) {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.at = store.lease_end();
    (store, token)
}

#[test]
fn a_live_lease_is_kept() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert!(!store.at(1_009).purge(Duration::ZERO));
    assert_eq!(store.renew(ANNA, token), Reply::Renewed);
}

#[test]
fn a_record_is_deleted_once_it_is_older() {
    for released in [false, true] {
        let mut store = Store::whole();
        let (token, _) = store.granted(ANNA, None);
        if released {
            store.release(ANNA, token);
        }
        assert!(!store.at(1_110).purge(AGE), "exactly as old");
        assert!(store.at(1_111).purge(AGE));
        assert_eq!((store.record, store.purge(AGE)), (None, false));
    }
}

#[test]
fn settings_that_bind_keep_their_record() {
    let (mut store, _) = ended();
    store.at = store.lease_end() + QUARANTINE;
    assert!(!store.purge(Duration::ZERO));
    assert!(matches!(store.acquire(BERT, None), Reply::Stale { .. }));
    let (mut store, _) = ended();
    store.history.as_mut().expect("known").longest_ttl = AGE;
    assert!(!store.at(1_110).purge(Duration::ZERO), "the longest TTL of any election");
    assert!(store.at(1_111).purge(Duration::ZERO));
}

#[test]
fn without_a_history_nothing_is_deleted() {
    let (mut store, _) = ended();
    store.history = None;
    assert!(!store.at(9_000).purge(AGE));
}

#[test]
fn a_known_purged_token_proves_no_loss() {
    let (mut store, token) = ended();
    assert!(store.at(2_000).purge(AGE));
    assert_eq!(store.granted(BERT, Some(token)), (micros(2_000), Duration::ZERO));
    let (mut store, token) = ended();
    assert!(store.at(2_000).purge(AGE));
    assert_eq!(store.granted(BERT, Some(token.next())).1, QUARANTINE, "and a higher one does");
}

#[test]
fn tokens_rise_after_a_purge_with_any_clock() {
    let (mut store, token) = ended();
    assert!(store.at(2_000).purge(AGE));
    assert_eq!(store.at(900).granted(BERT, None), (token.next(), Duration::ZERO));
}

#[test]
fn the_purged_token_outlives_servers() {
    let (mut store, token) = ended();
    assert!(store.at(2_000).purge(AGE));
    store.identity = 2;
    assert_eq!(store.at(1).granted(BERT, None), (token.next(), QUARANTINE));
    assert_eq!(store.history.and_then(|known| known.purged), Some(token));
    (store.identity, store.compares, store.at) = (3, true, seconds(2));
    assert_eq!(store.renew(BERT, token.next()), Reply::Renewed);
    assert_eq!(store.history.and_then(|known| known.purged), Some(token));
}

/// A token above the clock: the clock was set back, or a candidate knew a higher one.
#[test]
fn a_token_from_the_future_is_kept() {
    let mut store = Store::whole();
    let ahead = micros(5_000);
    let (token, _) = store.granted(ANNA, Some(ahead));
    assert_eq!(token, ahead.next());
    assert!(!store.at(4_000).purge(AGE));
    assert!(store.at(6_000).purge(AGE));
}

/// The stated limit: a duplicate that is older than the record is granted once more, and nobody learns of it.
#[test]
fn a_duplicate_older_than_the_age_is_granted() {
    let (mut store, first) = ended();
    let duplicate: Request = acquire(ANNA, None);
    assert_eq!(store.ask(duplicate), Reply::Stale { last: first });
    assert!(store.at(2_000).purge(AGE));
    let Reply::Granted { token, .. } = store.ask(duplicate) else { panic!("granted") };
    assert!(token > first);
    assert!(matches!(store.acquire(BERT, Some(first)), Reply::Held { remaining: TTL, .. }));
}
