//! The deletion of records.

use tenure_core::{Acquire, Mark, Reply, Request, Token};

use super::support::{ANNA, BERT, Store, by, id, micros};

fn purge(mark: Mark, watched: bool) -> Request {
    Request::Purge { mark, watched }
}

fn given_back() -> (Store, Token) {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.release(ANNA, token);
    (store, token)
}

#[test]
fn a_lease_that_was_given_back_is_deleted() {
    let (mut store, token) = given_back();
    let mark = store.mark();
    assert_eq!(store.ask(purge(mark, false)), Reply::Purged);
    assert_eq!((store.record, store.past.expect("kept").purged), (None, Some(token)));
    assert_eq!(store.refuses(purge(mark, true)), Reply::Kept, "once");
}

#[test]
fn a_lease_is_deleted_only_if_it_was_watched() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let mark = store.mark();
    assert_eq!(store.refuses(purge(mark, false)), Reply::Kept);
    store.renew(ANNA, token, 2);
    assert_eq!(store.refuses(purge(mark, true)), Reply::Kept, "another mark");
    assert_eq!(store.ask(purge(Mark { number: id(2), ..mark }, true)), Reply::Purged);
}

#[test]
fn without_a_past_nothing_is_deleted() {
    let (mut store, _) = given_back();
    store.past = None;
    assert_eq!(store.refuses(purge(store.mark(), true)), Reply::Kept);
}

#[test]
fn tokens_rise_after_a_purge_with_any_clock() {
    let (mut store, token) = given_back();
    store.ask(purge(store.mark(), false));
    assert_eq!(store.at(900).granted(by(BERT, Some(token))), token.next(), "and no loss is seen");
    let (mut store, token) = given_back();
    store.ask(purge(store.mark(), false));
    store.refused(by(BERT, Some(token.next())));
}

#[test]
fn a_duplicate_from_before_is_refused() {
    let (mut store, token) = given_back();
    store.ask(purge(store.mark(), false));
    let sight = store.refused(by(ANNA, None));
    assert_eq!((sight.last, sight.record), (Some(token), None));
}

#[test]
fn the_purged_token_outlives_servers() {
    let (mut store, token) = given_back();
    store.ask(purge(store.mark(), false));
    store.identity = 2;
    store.refused(by(BERT, Some(token)));
    let watched = Acquire { stamp: store.watched(12), ..by(BERT, Some(token)) };
    assert_eq!(store.at(1).granted(watched), token.next());
    assert_ne!(store.past.expect("kept").purged, Some(micros(1)));
    assert_eq!(store.past.expect("kept").purged, Some(token));
}
