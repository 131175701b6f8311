//! Wishes, asks and reservations.

use std::time::Duration;

use tenure_core::{Acquire, Asked, Reply, Request, Reservation, Token, Wish};

use super::support::{ANNA, BERT, NOTHING, QUARANTINE, Store, by, name};

const CARL: tenure_core::HolderId = tenure_core::HolderId::from_bits(0xc);
const RESERVE: Duration = Duration::from_secs(2);

fn ask(token: Token, who: tenure_core::HolderId) -> Request {
    let asked = Asked { name: name(who), defer: NOTHING };
    Request::Ask { token, asked, seen: Some(token), quarantine: QUARANTINE }
}

fn asked(store: &Store) -> Option<tenure_core::NameId> {
    store.record.and_then(|record| record.asked).map(|asked| asked.name)
}

fn given_back_to_bert() -> (Store, Token) {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let reservation = Some(Reservation { name: name(BERT), reserve: RESERVE });
    let reply = store.ask(Request::Release { holder: ANNA, token, reservation });
    assert_eq!(reply, Reply::Released);
    (store, token)
}

#[test]
fn a_lease_is_kept_for_the_one_it_was_given_to() {
    let (mut store, token) = given_back_to_bert();
    let sight = store.refused(by(CARL, Some(token)));
    let kept = sight.record.expect("told").demands(name(CARL), RESERVE, QUARANTINE);
    assert_eq!(kept, RESERVE);
    store.granted(by(BERT, Some(token)));
    assert_eq!(store.record.expect("granted").reservation, None);
}

#[test]
fn others_may_take_it_once_they_have_watched_it() {
    let (mut store, token) = given_back_to_bert();
    let mark = Some(store.mark());
    store.granted(Acquire { mark, ..by(CARL, Some(token)) });
}

#[test]
fn who_is_wished_for_goes_on_asking() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    store.ask(ask(token, BERT));
    store.ask(ask(token, CARL));
    assert_eq!(asked(&store), Some(name(CARL)), "the last one");
    let wish = Some(Wish::Name(name(CARL)));
    assert_eq!(store.ask(Request::Want { token, wish }), Reply::Noted);
    store.ask(ask(token, BERT));
    assert_eq!(asked(&store), Some(name(CARL)));
    let told = store.renew(ANNA, token, 2);
    let carl = Some(Asked { name: name(CARL), defer: NOTHING });
    assert_eq!(told, Reply::Renewed { asked: carl, wanted: wish, past: None });
    assert_eq!(asked(&store), None, "a renewal clears it, so that the dead ask no more");
    store.renew(ANNA, token, 2);
    assert_eq!(store.record.expect("granted").wanted, wish);
}

#[test]
fn asks_and_wishes_name_their_tenure() {
    let mut store = Store::whole();
    let token = store.granted(by(ANNA, None));
    let want = |token| Request::Want { token, wish: Some(Wish::Anybody) };
    store.refuses(ask(token.next(), BERT));
    assert_eq!(store.refuses(want(token.next())), Reply::NotNoted);
    assert_eq!(store.ask(want(token)), Reply::Noted);
    store.release(ANNA, token);
    store.refuses(ask(token, BERT));
    assert_eq!(store.refuses(want(token)), Reply::NotNoted);
    store.granted(by(BERT, Some(token)));
    assert_eq!(store.record.expect("granted").wanted, None, "a wish lasts until the next grant");
}
