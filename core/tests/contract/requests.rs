//! Each request on each state of the record, also late and twice.

use tenure_core::{Acquire, Reply};

use super::support::{ANNA, BERT, Store, by, id, micros, release, renew};

#[test]
fn a_new_key_is_granted_the_clocks_token() {
    let mut store = Store::whole();
    assert_eq!(store.granted(by(ANNA, None)), micros(1_000));
    let record = store.record.expect("granted");
    assert_eq!((record.holder, record.number, record.released), (ANNA, id(1), false));
}

#[test]
fn a_repeated_acquire_keeps_the_token() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let again = Acquire { number: id(3), ..by(ANNA, None) };
    assert_eq!(store.at(1_004).granted(again), token);
    assert_eq!(store.mark().number, id(3), "and has a mark of its own");
    assert_eq!(store.granted(by(ANNA, None)), token);
    assert_eq!(store.mark().number, id(3), "which a late duplicate does not set back");
}

#[test]
fn a_lease_is_taken_by_its_mark_alone() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.renew(ANNA, token, 5);
    let mark = store.mark();
    for other in [None, Some(tenure_core::Mark { number: id(1), ..mark })] {
        let sight = store.at(9_000).refused(Acquire { mark: other, ..by(BERT, Some(token)) });
        assert_eq!((sight.last, sight.record), (Some(token), store.record));
    }
    let next = store.at(1_000).granted(Acquire { mark: Some(mark), ..by(BERT, None) });
    assert_eq!(next, token.next(), "whatever the clock shows");
    assert_eq!(store.renew(ANNA, token, 6), Reply::Superseded { last: Some(next) });
}

#[test]
fn a_mark_that_was_renewed_is_not_taken() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let watched = Acquire { mark: Some(store.mark()), ..by(BERT, Some(token)) };
    store.renew(ANNA, token, 2);
    store.refused(watched);
    store.release(ANNA, token);
    let next = store.granted(by(BERT, Some(token)));
    store.refused(Acquire { holder: ANNA, ..watched });
    assert!(next > token);
}

#[test]
fn a_lease_that_was_given_back_needs_no_watch() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.release(ANNA, token);
    // In the same microsecond, where the clock alone would repeat the token.
    assert_eq!(store.granted(by(BERT, Some(token))), token.next());
}

#[test]
fn a_late_duplicate_of_an_acquire_is_never_granted() {
    let mut store = Store::whole();
    let first = by(ANNA, None);
    let token = store.granted(first);
    store.release(ANNA, token);
    assert_eq!(store.refused(first).last, Some(token), "once released");
    let next = store.granted(by(BERT, Some(token)));
    assert_eq!(store.refused(first).last, Some(next), "while another leads");
    store.release(BERT, next);
    assert_eq!(store.refused(by(ANNA, Some(token))).last, Some(next), "once that one has led");
}

#[test]
fn a_token_rises_when_the_clock_is_set_back() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.release(ANNA, token);
    assert_eq!(store.at(500).granted(by(BERT, Some(token))), token.next());
}

#[test]
fn a_clock_that_shows_no_time_makes_no_token() {
    let mut store = Store::whole();
    // Beyond 2^52 microseconds: in the year 2112.
    assert_eq!(store.at(4_503_600_000).granted(by(ANNA, None)).get(), 1);
}

#[test]
fn a_renewal_writes_a_new_mark_once() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let renewed = Reply::Renewed { asked: None, wanted: None, past: None };
    assert_eq!(store.renew(ANNA, token, 4), renewed);
    assert_eq!(store.mark().number, id(4));
    let before = store.record;
    for late in [2, 4] {
        assert_eq!(store.at(2_000).renew(ANNA, token, late), renewed);
        assert_eq!(store.record, before, "an older renewal changes nothing");
    }
}

#[test]
fn renew_of_anything_else_is_superseded() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(renew(ANNA, micros(1), 1)), Reply::Superseded { last: None });
    let token = store.granted(by(ANNA, None));
    let over = Reply::Superseded { last: Some(token) };
    assert_eq!(store.refuses(renew(BERT, token, 2)), over, "another holder");
    assert_eq!(store.refuses(renew(ANNA, token.next(), 2)), over, "another token");
    store.release(ANNA, token);
    assert_eq!(store.refuses(renew(ANNA, token, 2)), over, "given back");
}

#[test]
fn release_ends_exactly_that_tenure_once() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(release(ANNA, micros(1))), Reply::NotHeld);
    let token = store.granted(by(ANNA, None));
    assert_eq!(store.refuses(release(BERT, token)), Reply::NotHeld, "another holder");
    assert_eq!(store.refuses(release(ANNA, token.next())), Reply::NotHeld, "another token");
    let mark = store.mark();
    assert_eq!(store.release(ANNA, token), Reply::Released);
    assert_eq!(store.mark(), mark, "a release keeps the mark");
    assert_eq!(store.refuses(release(ANNA, token)), Reply::NotHeld);
}

#[test]
fn a_late_release_ends_no_later_tenure() {
    let mut store = Store::whole();
    let first = store.granted(by(ANNA, None));
    let mark = Some(store.mark());
    let second = store.granted(Acquire { number: id(2), mark, ..by(BERT, Some(first)) });
    assert_eq!(store.refuses(release(ANNA, first)), Reply::NotHeld);
    assert!(matches!(store.renew(BERT, second, 3), Reply::Renewed { .. }));
}

#[test]
fn a_look_changes_nothing_and_tells_the_record() {
    let mut store = Store::whole();
    store.granted(by(ANNA, None));
    let before = (store.record, store.past);
    let sight = store.at(1_007).look();
    assert_eq!((sight.record, sight.past), (before.0, None));
    assert_eq!((store.record, store.past), before);
    let age = sight.now.since(sight.record.expect("granted").written);
    assert_eq!(age.as_secs(), 7, "a hint");
}
