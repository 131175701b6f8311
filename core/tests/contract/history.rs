//! The quarantine: which grants wait, and for how long.

use std::time::Duration;
use tenure_core::contract::History;
use tenure_core::{Reply, Token};

use crate::support::{ANNA, BERT, QUARANTINE, Store, TTL, micros, seconds};

#[test]
fn the_first_leader_of_a_new_prefix_waits() {
    let mut store = Store::empty();
    assert_eq!(store.granted(ANNA, None), (micros(1_000), QUARANTINE));
}

#[test]
fn trust_empty_store_removes_the_first_wait() {
    let mut store = Store { trusted: true, ..Store::empty() };
    assert_eq!(store.granted(ANNA, None).1, Duration::ZERO);
}

#[test]
fn trust_empty_store_does_not_excuse_a_loss() {
    let mut proven = Store { trusted: true, ..Store::empty() };
    assert_eq!(proven.granted(ANNA, Some(Token::FIRST)).1, QUARANTINE, "the candidate knows more");
    let mut replaced = Store { trusted: true, identity: 2, ..Store::whole() };
    assert_eq!(replaced.granted(ANNA, None).1, QUARANTINE, "another server wrote the history");
}

#[test]
fn a_repeated_grant_carries_the_remaining_wait() {
    let mut store = Store::empty();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_005).granted(ANNA, None), (token, Duration::from_secs(7)));
}

#[test]
fn the_quarantine_belongs_to_the_store() {
    let mut store = Store::empty();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    let (next, wait) = store.at(1_004).granted(BERT, Some(token));
    assert_eq!(wait, Duration::from_secs(8), "the next one waits out the rest");
    store.release(BERT, next);
    assert_eq!(
        store.at(1_012).granted(ANNA, Some(next)).1,
        Duration::ZERO,
        "and no later one does"
    );
}

#[test]
fn a_changed_identity_starts_a_quarantine() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.identity = 2;
    assert_eq!(store.at(1_005).renew(ANNA, token), Reply::Renewed, "the leader leads on");
    assert_eq!(store.at(1_020).granted(BERT, Some(token)).1, QUARANTINE);
    let known_since = seconds(1_020);
    let history = History { identity: 2, known_since, longest_ttl: TTL, purged: None };
    assert_eq!(store.history, Some(history));
}

#[test]
fn a_live_holder_waits_after_an_identity_change() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.identity = 2;
    assert_eq!(store.at(1_001).granted(ANNA, None), (token, QUARANTINE));
}

#[test]
fn a_known_prefix_grants_new_keys_at_once() {
    let mut store = Store::whole();
    store.granted(ANNA, None);
    store.record = None;
    assert_eq!(store.granted(BERT, None).1, Duration::ZERO);
}
