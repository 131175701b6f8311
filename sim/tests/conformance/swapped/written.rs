//! Writes: no value twice, and nothing that brings a past back.

use std::collections::BTreeSet;

use tenure::store::cas::{Cas as _, CasStore, Election};
use tenure::store::contract::{WatchedStamp, Wish};
use tenure::store::{Key, Reply, Request, Store as _};

use super::{Values, acquire, granted};

/// A late duplicate of the request that creates a value can't bring a past back that was watched.
#[tokio::test]
async fn a_value_begins_empty() {
    let values = Values::new();
    let mut changes = values.0.changes.subscribe();
    let store = CasStore::new(values.clone());
    let key = Key::new("job").unwrap();
    store.call(&key, acquire(1, None)).await.unwrap();
    let [created, stamped] = [changes.recv().await.unwrap(), changes.recv().await.unwrap()]
        .map(|change| Election::read(&key, &change.found.unwrap().value).unwrap());
    assert_eq!(created, Election::default());
    assert!(stamped.past.is_some());
}

/// After a loss, late duplicates of the requests that began an election can't bring a past back
/// that was watched: the server draws a new version for the first, which the second does not have.
#[tokio::test]
async fn late_duplicates_bring_no_past_back() {
    let values = Values::new();
    let mut changes = values.0.changes.subscribe();
    let (store, key) = (CasStore::new(values.clone()), Key::new("job").unwrap());
    let told = store.call(&key, acquire(1, None)).await.unwrap();
    let Reply::Not(shown) = told else { panic!("{told:?}") };
    let stamp = shown.sight.past.expect("a new past").stamp;
    let [created, stamped] = [changes.recv().await.unwrap(), changes.recv().await.unwrap()]
        .map(|change| change.found.unwrap());
    values.0.kept.lock().unwrap().values.clear();
    values.swap(&key, None, created.value).await.unwrap();
    values.swap(&key, Some(&created.version), stamped.value).await.unwrap();
    let Request::Acquire { mut asks, profile } = acquire(2, None) else { unreachable!() };
    asks.stamp = Some(WatchedStamp { stamp, time: asks.quarantine });
    let reply = store.call(&key, Request::Acquire { asks, profile }).await.unwrap();
    assert!(matches!(reply, Reply::Not(_)), "{reply:?}");
}

/// So a digest may be a version, as at Amazon S3, as long as nothing is lost.
#[tokio::test]
async fn no_value_is_written_twice() {
    let values = Values::new();
    let mut changes = values.0.changes.subscribe();
    let store = CasStore::new(values.clone()).trust_empty_store(true);
    let token = granted(&store, acquire(1, None)).await;
    for wish in [Some(Wish::Anybody), None, Some(Wish::Anybody), None] {
        let noted = store.call(&Key::new("job").unwrap(), Request::Want { token, wish }).await;
        assert_eq!(noted.unwrap(), Reply::Noted);
    }
    let mut written = BTreeSet::new();
    while let Ok(change) = changes.try_recv() {
        assert!(written.insert(change.found.unwrap().value), "a value was written again");
    }
    assert_eq!(written.len(), 6);
}
