//! Renewals and grants at a server that was restarted with its data.

use std::time::Duration;
use tenure_core::contract::History;
use tenure_core::{Reply, Token};

use crate::support::{ANNA, BERT, QUARANTINE, Store, TTL, renew, seconds};

/// Anna leads at a server that restarts with its data at 1,005.
fn restarted() -> (Store, Token) {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    (store.identity, store.compares, store.at) = (2, true, seconds(1_005));
    (store, token)
}

#[test]
fn the_first_renewal_after_restart_starts_a_history() {
    let (mut store, token) = restarted();
    assert_eq!(store.renew(ANNA, token), Reply::Renewed);
    let known_since = seconds(1_015);
    let history = History { identity: 2, known_since, longest_ttl: TTL, purged: None };
    assert_eq!(store.history, Some(history), "a TTL from then");
    assert_eq!(store.at(1_008).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.history, Some(history), "and the next renewal changes nothing");
}

#[test]
fn a_renewal_leaves_time_for_the_longest_ttl() {
    let (mut store, token) = restarted();
    let longest_ttl = Duration::from_secs(60);
    store.history.as_mut().expect("known").longest_ttl = longest_ttl;
    store.renew(ANNA, token);
    let known_since = seconds(1_065);
    let history = History { identity: 2, known_since, longest_ttl, purged: None };
    assert_eq!(store.history, Some(history));
}

#[test]
fn a_renewal_without_comparison_starts_no_history() {
    let (mut store, token) = restarted();
    store.compares = false;
    let before = store.history;
    assert_eq!(store.renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.history, before);
}

#[test]
fn a_refused_renewal_starts_no_history() {
    let (mut store, token) = restarted();
    assert_eq!(store.refuses(renew(BERT, token)), Reply::Superseded { last: Some(token) });
    let late = store.at(1_010).refuses(renew(ANNA, token));
    assert_eq!(late, Reply::Superseded { last: Some(token) });
}

#[test]
fn a_grant_after_a_restart_waits_one_quarantine() {
    let (mut store, token) = restarted();
    store.renew(ANNA, token);
    store.at(1_007).release(ANNA, token);
    let (next, wait) = store.granted(BERT, Some(token));
    assert_eq!(wait, QUARANTINE, "known since the grant, not since a time in the future");
    assert_eq!(store.history.expect("written").known_since, seconds(1_007));
    store.at(1_012).release(BERT, next);
    assert_eq!(store.granted(ANNA, Some(next)).1, Duration::from_secs(7));
}

#[test]
fn a_handover_long_after_restart_needs_no_wait() {
    let (mut store, token) = restarted();
    store.renew(ANNA, token);
    for at in [1_010, 1_018, 1_026] {
        assert_eq!(store.at(at).renew(ANNA, token), Reply::Renewed);
    }
    store.at(1_026).release(ANNA, token);
    let (next, wait) = store.granted(BERT, Some(token));
    assert_eq!(wait, Duration::from_secs(1), "1,015 and 12");
    store.at(1_027).release(BERT, next);
    assert_eq!(store.granted(ANNA, Some(next)).1, Duration::ZERO);
}
