//! The past of a store that may have lost grants: who watches it, and for how long.

use std::time::Duration;

use tenure_core::contract::FOREVER;
use tenure_core::{Acquire, Loss, Reply, Token, UnwatchedPast};

use super::support::{ANNA, BERT, NOTHING, Store, TTL, by, id, micros};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Anna's acquire after she has watched the stamp for so long.
fn after(store: &Store, watched: u64, seen: Option<Token>) -> Acquire {
    Acquire { stamp: store.watched(watched), ..by(ANNA, seen) }
}

#[test]
fn a_new_prefix_is_watched_for_a_quarantine() {
    let mut store = Store::empty();
    let sight = store.refused(by(ANNA, None));
    let stamp = store.stamp().expect("stamped");
    assert_eq!(sight.past, Some(UnwatchedPast { stamp, longest: NOTHING }));
    assert_eq!((sight.last, sight.record), (None, None));
    assert_eq!(store.refused(after(&store, 11, None)).past, sight.past);
    store.granted(after(&store, 12, None));
}

#[test]
fn one_watches_for_all_who_must_watch_as_long() {
    let mut store = Store::empty();
    store.refused(by(ANNA, None));
    let token = store.granted(after(&store, 12, None));
    store.release(ANNA, token);
    let longer = Acquire { quarantine: seconds(30), ..by(BERT, Some(token)) };
    assert!(store.refused(longer).past.is_some(), "a longer quarantine");
    assert_eq!(store.granted(by(BERT, Some(token))), token.next());
}

#[test]
fn a_watch_of_another_stamp_counts_for_nothing() {
    let mut store = Store::empty();
    store.refused(by(ANNA, None));
    let of_the_old = after(&store, 100, None);
    store.identity = 2;
    assert!(store.refused(of_the_old).past.is_some());
    assert_eq!(store.past.expect("stamped").watched, NOTHING);
}

#[test]
fn trust_empty_store_needs_no_watch() {
    let mut store = Store { trusted: true, ..Store::empty() };
    store.granted(by(ANNA, None));
    assert_eq!(store.past.expect("stamped").watched, FOREVER);
    let mut proven = Store { trusted: true, ..Store::empty() };
    proven.refused(by(ANNA, Some(Token::FIRST)));
    let mut replaced = Store { trusted: true, identity: 2, ..Store::whole() };
    replaced.refused(by(ANNA, None));
}

#[test]
fn another_server_is_another_past() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.identity = 2;
    let before = store.stamp();
    assert!(matches!(store.renew(ANNA, token, 2), Reply::Renewed { past: None, .. }));
    assert_eq!(store.stamp(), before, "no comparison, over the same connection");
    store.first = true;
    let Reply::Renewed { past: Some(told), .. } = store.renew(ANNA, token, 3) else {
        panic!("the leader leads on, and is told")
    };
    assert_eq!((Some(told.stamp), told.longest), (store.stamp(), TTL));
    assert_ne!(store.stamp(), before);
}

#[test]
fn a_look_stamps_over_a_new_connection() {
    let mut store = Store { first: true, ..Store::empty() };
    assert!(store.look().past.is_some());
    let stamp = store.stamp();
    assert!(store.look().past.is_some());
    assert_eq!(store.stamp(), stamp, "once for a server");
}

#[test]
fn the_holder_itself_watches_too() {
    let mut store = Store::whole();
    store.granted(by(ANNA, None));
    store.identity = 2;
    assert!(store.refused(Acquire { number: id(2), ..by(ANNA, None) }).past.is_some());
}

#[test]
fn a_leader_tells_what_it_has_watched() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    (store.identity, store.first) = (2, true);
    store.renew(ANNA, token, 2);
    let renew = |store: &Store, number, watched| tenure_core::Request::Renew {
        holder: ANNA,
        token,
        number: id(number),
        stamp: store.watched(watched),
    };
    let told = store.ask(renew(&store, 3, 11));
    assert!(matches!(told, Reply::Renewed { past: Some(_), .. }), "{told:?}");
    let told = store.ask(renew(&store, 3, 12));
    assert!(matches!(told, Reply::Renewed { past: Some(_), .. }), "a late duplicate: {told:?}");
    let told = store.ask(renew(&store, 4, 12));
    assert!(matches!(told, Reply::Renewed { past: None, .. }), "{told:?}");
    store.release(ANNA, token);
    store.granted(by(BERT, Some(token)));
}

#[test]
fn the_longest_ttl_ever_granted_is_watched() {
    let mut store = Store::whole();
    let token =
        store.granted(Acquire { ttl: seconds(60), quarantine: seconds(60), ..by(ANNA, None) });
    store.release(ANNA, token);
    (store.identity, store.record) = (2, None);
    let sight = store.refused(after(&store, 12, Some(token)));
    assert_eq!(sight.past.map(|past| past.longest), Some(seconds(60)));
    let lost = Some(Loss { last: None });
    store.refused(Acquire { lost, ..after(&store, 59, Some(token)) });
    store.granted(Acquire { lost, ..after(&store, 60, Some(token)) });
}

#[test]
fn a_token_that_the_store_lost_is_a_loss() {
    let mut store = Store::whole();
    let (before, lost) = (store.stamp(), micros(2_000));
    let sight = store.refused(by(ANNA, Some(lost)));
    let stamp = store.stamp();
    assert!(stamp != before && sight.past.map(|past| past.stamp) == stamp, "a new stamp");
    store.refused(by(BERT, Some(lost.next())));
    assert_eq!(store.stamp(), stamp, "one for all who notice at about the same time");
    store.refused(after(&store, 12, Some(lost)));
    assert_eq!(store.past.expect("stamped").watched, NOTHING, "news: its watch may be older");
    let told = |last| Acquire { lost: Some(Loss { last }), ..after(&store, 12, Some(lost)) };
    let (other, same) = (told(Some(micros(1))), told(None));
    store.refused(other);
    assert_eq!(store.granted(same), lost.next());
}

#[test]
fn a_store_that_was_rolled_back_is_one_that_lost() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.release(ANNA, token);
    let lost = Token::new(token.get() + 5).expect("not zero");
    store.refused(by(BERT, Some(lost)));
    let watched = Acquire { stamp: store.watched(12), ..by(BERT, Some(lost)) };
    assert_eq!(
        store.granted(Acquire { lost: Some(Loss { last: Some(token) }), ..watched }),
        lost.next()
    );
}
