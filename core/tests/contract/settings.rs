//! Settings that contradict the record, and leases of different lengths.

use std::time::Duration;
use tenure_core::{HolderId, Reply, Request, Token};

use crate::support::{ANNA, BERT, QUARANTINE, Store, TTL, micros};

/// A lease of that TTL, by a candidate that declares that quarantine.
fn lease_of(ttl: u64, quarantine: u64) -> Store {
    let mut store = Store::whole();
    store.ask(asks(ANNA, None, (ttl, quarantine)));
    store
}

fn asks(holder: HolderId, seen: Option<Token>, (ttl, quarantine): (u64, u64)) -> Request {
    let (ttl, quarantine) = (Duration::from_secs(ttl), Duration::from_secs(quarantine));
    Request::Acquire { holder, seen, ttl, quarantine }
}

fn refused(ttl: u64, quarantine: u64) -> Reply {
    let quarantine = Some(Duration::from_secs(quarantine));
    Reply::Refused { ttl: Duration::from_secs(ttl), quarantine }
}

#[test]
fn settings_that_contradict_the_record_are_refused() {
    let mut store = lease_of(10, 12);
    for settings in [(2, 9), (13, 13), (20, 60)] {
        assert_eq!(store.refuses(asks(BERT, None, settings)), refused(10, 12), "{settings:?}");
    }
    for settings in [(2, 10), (12, 12), (10, 60)] {
        let reply = store.refuses(asks(BERT, None, settings));
        assert!(matches!(reply, Reply::Held { .. }), "{settings:?}: {reply:?}");
    }
}

#[test]
fn settings_are_compared_until_old_ones_expire() {
    let mut store = lease_of(10, 12);
    store.release(ANNA, micros(1_000));
    let other = asks(BERT, Some(micros(1_000)), (2, 9));
    assert_eq!(store.at(1_021).refuses(other), refused(10, 12), "12 s beyond the lease's end");
    assert!(matches!(store.at(1_022).ask(other), Reply::Granted { .. }));
}

#[test]
fn a_record_without_quarantine_compares_ttls_only() {
    let mut store = lease_of(10, 12);
    store.record.as_mut().expect("granted").quarantine = None;
    let reply = store.refuses(asks(BERT, None, (2, 9)));
    assert_eq!(reply, Reply::Refused { ttl: TTL, quarantine: None });
    let reply = store.refuses(asks(BERT, None, (60, 60)));
    assert!(matches!(reply, Reply::Held { .. }), "{reply:?}");
}

#[test]
fn the_holder_itself_is_never_refused() {
    let mut store = lease_of(10, 12);
    assert!(matches!(store.ask(asks(ANNA, None, (2, 2))), Reply::Granted { .. }));
}

#[test]
fn the_longest_ttl_ever_granted_is_waited_out() {
    let mut store = lease_of(10, 12);
    store.identity = 2;
    // No candidate with the settings of the long lease is left.
    store.at(1_060);
    let short = |seen| asks(BERT, seen, (2, 3));
    let Reply::Granted { token, wait } = store.ask(short(Some(micros(1_000)))) else {
        panic!("granted")
    };
    assert_eq!(wait, TTL, "and not its own 3 s");
    store.release(BERT, token);
    let reply = store.at(1_064).ask(asks(ANNA, Some(token), (2, 2)));
    assert!(matches!(reply, Reply::Granted { wait, .. } if wait.as_secs() == 6), "{reply:?}");
    assert_eq!(store.history.expect("written").longest_ttl, TTL);
}

#[test]
fn equal_ttls_wait_at_most_one_quarantine() {
    let mut store = Store::empty();
    assert_eq!(store.granted(ANNA, None).1, QUARANTINE);
    let mut store = Store::whole();
    assert_eq!(store.granted(ANNA, None).1, Duration::ZERO);
}
