//! Drivers that purge their store about once an hour.

use std::sync::Arc;
use std::time::Duration;

use tenure::store::contract::{Acquire, RequestId};
use tenure::store::{AnyStore, Key, Memory, Profile, PurgeAge, Reply, Request, Store};
use tenure::{Elections, HolderId};

use super::moved_clock::Clock;
use super::support::{quick, soon};

/// Acquires as holder 2, which knows no tenure.
async fn acquire(store: &AnyStore) -> Reply {
    let (ttl, profile) = (Duration::from_secs(1), Profile::new("a", "").unwrap());
    let (holder, number) = (HolderId::from_bits(2), RequestId::new(1).unwrap());
    let asks = Acquire::new(holder, number, ttl, profile.name_id());
    let request = Request::Acquire { asks, profile };
    store.call(&Key::new("old").unwrap(), request).await.unwrap()
}

/// True if the record of an election is deleted within five hours after its last renewal. Nobody
/// has given it back, so it is watched from one purge to the next.
async fn is_purged(purging: impl FnOnce(AnyStore) -> AnyStore) -> bool {
    let clock = Clock::new();
    let store = purging(AnyStore::new(Memory::with_runtime(Arc::new(clock.clone()))));
    let Reply::Granted { token } = acquire(&store).await else { panic!("granted") };
    let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
    let candidate = elections.candidate("job").config(quick()).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    for _ in 0..10 {
        clock.advance(Duration::from_secs(1_800));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    let Reply::At(shown) = store.call(&Key::new("old").unwrap(), Request::Observe).await.unwrap()
    else {
        panic!("an answer")
    };
    assert_eq!(shown.sight.last, Some(token), "the past keeps it");
    shown.sight.record.is_none()
}

#[tokio::test]
async fn a_driver_purges_when_asked_to() {
    let age = |text: &str| text.parse::<PurgeAge>().unwrap();
    let hour = age("1h");
    assert!(is_purged(|store| store.purging(hour)).await);
    // Candidates erase the type of their store, whatever it is.
    assert!(is_purged(|store| AnyStore::new(store.purging(hour))).await);
    assert!(!is_purged(|store| store).await);
    assert!(!is_purged(|store| store.purging(age("1d"))).await, "not that old");
}
