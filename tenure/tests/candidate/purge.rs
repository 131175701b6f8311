//! Drivers that purge their store about once an hour.

use std::sync::Arc;
use std::time::Duration;

use tenure::store::{AnyStore, Key, Memory, Profile, PurgeAge, Reply, Request, Store};
use tenure::{Elections, HolderId};

use crate::moved_clock::Clock;
use crate::support::{quick, soon};

/// As holder 2, without knowing the last tenure.
async fn acquire(store: &AnyStore) -> Reply {
    let (ttl, profile) = (Duration::from_secs(1), Profile::new("a", "").unwrap());
    let (holder, seen, quarantine) = (HolderId::from_bits(2), None, quick().ttl());
    let request = Request::Acquire { holder, seen, ttl, quarantine, profile };
    store.call(&Key::new("old").unwrap(), request).await.unwrap()
}

/// Whether the record of an election is deleted within three hours, an hour after its end.
async fn is_purged(purging: impl FnOnce(AnyStore) -> AnyStore) -> bool {
    let clock = Clock::new();
    let store = purging(AnyStore::new(Memory::with_runtime(Arc::new(clock.clone()))));
    let Reply::Granted { token, .. } = acquire(&store).await else { panic!("granted") };
    let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
    let candidate = elections.candidate("job").config(quick()).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    for _ in 0..6 {
        clock.advance(Duration::from_secs(1_800));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    match acquire(&store).await {
        Reply::Stale { last } => {
            assert_eq!(last, token);
            false
        }
        Reply::Granted { token: next, .. } => {
            assert!(next > token);
            true
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_driver_purges_when_asked_to() {
    let hour = PurgeAge::new(PurgeAge::LEAST).unwrap();
    assert!(is_purged(|store| store.purging(hour)).await);
    // Candidates erase the type of their store, whatever it is.
    assert!(is_purged(|store| AnyStore::new(store.purging(hour))).await);
    assert!(!is_purged(|store| store).await);
    let day = PurgeAge::new(PurgeAge::DAY).unwrap();
    assert!(!is_purged(|store| store.purging(day)).await, "not that old");
}
