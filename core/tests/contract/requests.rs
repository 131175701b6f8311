//! Each request on each state of the record, also late and twice.

use std::time::Duration;
use tenure_core::{Instant, Reply, Request, Token};

use crate::support::{
    ANNA, BERT, QUARANTINE, Store, TTL, acquire, micros, release, renew, seconds,
};

#[test]
fn a_new_key_is_granted_the_clocks_token() {
    let mut store = Store::whole();
    assert_eq!(store.granted(ANNA, None), (micros(1_000), Duration::ZERO));
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn a_repeated_acquire_keeps_the_token_and_extends() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_004).granted(ANNA, None), (token, Duration::ZERO));
    assert_eq!(store.lease_end(), seconds(1_014));
}

#[test]
fn acquire_by_the_live_holder_never_shortens() {
    let mut store = Store::whole();
    store.granted(ANNA, None);
    let ttl = Duration::from_secs(1);
    store.ask(Request::Acquire { holder: ANNA, seen: None, ttl, quarantine: QUARANTINE });
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn acquire_of_a_live_lease_of_another_is_held() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    let reply = store.at(1_003).refuses(acquire(BERT, Some(token)));
    assert_eq!(reply, Reply::Held { token, remaining: Duration::from_secs(7), ttl: TTL });
}

#[test]
fn a_lease_is_live_until_just_before_its_end() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.at = Instant::from_nanos(seconds(1_010).as_nanos() - 1);
    let remaining = Duration::from_nanos(1);
    assert_eq!(
        store.refuses(acquire(BERT, Some(token))),
        Reply::Held { token, remaining, ttl: TTL }
    );
    assert_eq!(store.at(1_010).granted(BERT, Some(token)).0, micros(1_010));
}

#[test]
fn remaining_is_within_ttl_when_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    let reply = store.at(900).refuses(acquire(BERT, None));
    assert_eq!(reply, Reply::Held { token, remaining: TTL, ttl: TTL });
}

#[test]
fn remaining_is_bounded_by_the_leases_own_ttl() {
    let mut store = Store::whole();
    let ttl = Duration::from_secs(2);
    store.ask(Request::Acquire { holder: ANNA, seen: None, ttl, quarantine: QUARANTINE });
    let Reply::Held { remaining, .. } = store.at(900).acquire(BERT, None) else {
        panic!("is held")
    };
    assert_eq!(remaining, ttl);
}

#[test]
fn a_renewal_never_shortens_when_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(990).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn outdated_acquire_is_stale() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_020).refuses(acquire(BERT, None)), Reply::Stale { last: token });
    let older = Token::new(token.get() - 1);
    assert_eq!(store.refuses(acquire(BERT, older)), Reply::Stale { last: token });
}

#[test]
fn acquire_with_the_last_token_gets_a_higher_one() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    // In the same microsecond, where the clock alone would repeat the token.
    assert_eq!(store.granted(BERT, Some(token)), (token.next(), Duration::ZERO));
}

#[test]
fn a_token_increases_when_the_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    assert_eq!(store.at(500).granted(BERT, Some(token)).0, token.next());
}

#[test]
fn a_higher_seen_token_proves_a_loss() {
    let mut store = Store::whole();
    let lost = micros(2_000);
    let (token, wait) = store.granted(ANNA, Some(lost));
    assert_eq!((token, wait), (lost.next(), QUARANTINE));
    assert_eq!(store.history.expect("written").known_since, seconds(1_000));
}

#[test]
fn a_proven_loss_outweighs_a_record() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    let lost = Token::new(token.get() + 5).expect("not zero");
    assert_eq!(store.granted(BERT, Some(lost)), (lost.next(), QUARANTINE));
}

#[test]
fn a_late_duplicate_of_an_acquire_is_never_granted() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    assert_eq!(store.refuses(acquire(ANNA, None)), Reply::Stale { last: token }, "once released");
    let (next, _) = store.granted(BERT, Some(token));
    let reply = store.refuses(acquire(ANNA, None));
    assert!(matches!(reply, Reply::Held { token, .. } if token == next), "while another leads");
    let late = store.at(1_050).refuses(acquire(ANNA, Some(token)));
    assert_eq!(late, Reply::Stale { last: next }, "once the other's lease ended");
}

#[test]
fn repeated_acquire_after_renewal_keeps_the_token() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.at(1_001).renew(ANNA, token);
    assert_eq!(store.at(1_002).granted(ANNA, None), (token, Duration::ZERO));
}

#[test]
fn renew_extends_exactly_that_tenure() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_009).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.lease_end(), seconds(1_019));
}

#[test]
fn renew_of_anything_else_is_superseded() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(renew(ANNA, Token::FIRST)), Reply::Superseded { last: None });
    let (token, _) = store.granted(ANNA, None);
    let over = Reply::Superseded { last: Some(token) };
    assert_eq!(store.refuses(renew(BERT, token)), over, "another holder");
    assert_eq!(store.refuses(renew(ANNA, token.next())), over, "another token");
    assert_eq!(store.at(1_010).refuses(renew(ANNA, token)), over, "an ended lease");
    store.at(1_005).release(ANNA, token);
    assert_eq!(store.refuses(renew(ANNA, token)), over, "a released lease");
}

#[test]
fn release_ends_exactly_that_tenure_once() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.release(ANNA, token), Reply::Released);
    assert_eq!(store.refuses(release(ANNA, token)), Reply::NotHeld);
}

#[test]
fn release_of_anything_else_is_not_held() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(release(ANNA, Token::FIRST)), Reply::NotHeld);
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.refuses(release(BERT, token)), Reply::NotHeld, "another holder");
    assert_eq!(store.refuses(release(ANNA, token.next())), Reply::NotHeld, "another token");
    assert_eq!(store.at(1_010).refuses(release(ANNA, token)), Reply::NotHeld, "an ended lease");
}

#[test]
fn a_late_release_ends_no_later_tenure() {
    let mut store = Store::whole();
    let (first, _) = store.granted(ANNA, None);
    let (second, _) = store.at(1_020).granted(ANNA, Some(first));
    assert_eq!(store.refuses(release(ANNA, first)), Reply::NotHeld);
    assert_eq!(store.renew(ANNA, second), Reply::Renewed);
}
