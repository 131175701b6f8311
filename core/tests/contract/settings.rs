//! Settings that contradict the record.

use std::time::Duration;

use tenure_core::{Acquire, HolderId, Token};

use super::support::{ANNA, BERT, Store, by, name};

fn asks(holder: HolderId, seen: Option<Token>, (ttl, quarantine): (u64, u64)) -> Acquire {
    let (ttl, quarantine) = (Duration::from_secs(ttl), Duration::from_secs(quarantine));
    Acquire { ttl, quarantine, ..by(holder, seen) }
}

#[test]
fn a_lease_of_other_settings_is_watched_also_when_given_back() {
    let mut store = Store::whole();
    let token = store.granted(asks(ANNA, None, (10, 12)));
    store.release(ANNA, token);
    for contradicts in [(2, 9), (13, 13), (20, 60)] {
        store.refused(asks(BERT, Some(token), contradicts));
    }
    let mark = Some(store.mark());
    store.granted(Acquire { mark, ..asks(BERT, Some(token), (2, 9)) });
}

#[test]
fn settings_that_cover_each_other_need_no_watch() {
    for agrees in [(2, 10), (12, 12), (10, 60)] {
        let mut store = Store::whole();
        let token = store.granted(asks(ANNA, None, (10, 12)));
        store.release(ANNA, token);
        store.granted(asks(BERT, Some(token), agrees));
    }
}

#[test]
fn the_holder_itself_is_never_refused() {
    let mut store = Store::whole();
    let token = store.granted(asks(ANNA, None, (10, 12)));
    assert_eq!(store.granted(asks(ANNA, None, (2, 12))), token);
}

#[test]
fn a_record_says_how_long_it_is_watched() {
    let mut store = Store::whole();
    let token = store.granted(asks(ANNA, None, (10, 12)));
    let seconds = Duration::from_secs;
    let demands = |store: &Store, ttl, quarantine| {
        let record = store.record.expect("granted");
        record.demands(name(BERT), seconds(ttl), seconds(quarantine)).as_secs()
    };
    assert_eq!(demands(&store, 5, 60), 10, "its own TTL");
    assert_eq!(demands(&store, 13, 60), 12, "the longer of both, if settings contradict");
    store.release(ANNA, token);
    assert_eq!((demands(&store, 5, 60), demands(&store, 13, 60)), (0, 12));
}
