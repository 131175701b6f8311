//! Backends that compare in one step and write in another, or contradict themselves.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tenure::HolderId;
use tenure::store::cas::{Cas, CasStore, Election, Swapped, Versioned};
use tenure::store::contract::{RequestId, Wish};
use tenure::store::{Key, Reply, Request, Store as _, StoreError, StoreErrorKind, StoreTraits};

use super::{Values, acquire, granted};

/// Both a leader's renewal and a take-over are done, as the server compares in a step of its own.
#[tokio::test]
async fn a_server_that_replaces_a_version_twice_is_refused() {
    let values = Values::new();
    let [leader, other] = [(), ()].map(|()| CasStore::new(values.clone()).trust_empty_store(true));
    let key = Key::new("job").unwrap();
    let first = granted(&leader, acquire(1, None)).await;
    let Reply::At(shown) = leader.call(&key, Request::Observe).await.unwrap() else {
        panic!("no answer to a look");
    };
    let Request::Acquire { mut asks, profile } = acquire(2, Some(first)) else { unreachable!() };
    asks.mark = shown.sight.record.map(|record| record.mark());
    let second = granted(&other, Request::Acquire { asks, profile }).await;
    let renew = |holder, number, token| {
        let (holder, number) = (HolderId::from_bits(holder), RequestId::new(number).unwrap());
        Request::Renew { holder, token, number, stamp: None }
    };
    values.0.kept.lock().unwrap().is_careless = true;
    let renewed = leader.call(&key, renew(1, 3, first)).await.unwrap();
    assert!(matches!(renewed, Reply::Renewed { .. }), "both lead: {renewed:?}");
    // The one whose tenure is gone ends it at once, and asks no more, about no election.
    let lost = other.call(&key, renew(2, 4, second)).await.unwrap();
    assert_eq!(lost, Reply::Superseded { last: Some(first) });
    let trips = values.0.trips.load(Ordering::Relaxed);
    for key in [key, Key::new("another").unwrap()] {
        let error = other.call(&key, Request::Observe).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("replaced the same version"), "{error}");
    }
    assert_eq!(values.0.trips.load(Ordering::Relaxed), trips);
}

/// A value that was only read may be of a backend that was restored since.
#[tokio::test]
async fn a_restored_backend_refuses_no_reader() {
    let values = Values::new();
    let [leader, reader, other] =
        [(), (), ()].map(|()| CasStore::new(values.clone()).trust_empty_store(true));
    let key = Key::new("job").unwrap();
    let token = granted(&leader, acquire(1, None)).await;
    let older = values.0.kept.lock().unwrap().values.clone();
    let wish = Some(Wish::Anybody);
    leader.call(&key, Request::Want { token, wish }).await.unwrap();
    let quarantine = Duration::from_secs(60);
    reader.call(&key, Request::Look { seen: None, quarantine }).await.unwrap();
    values.0.kept.lock().unwrap().values = older;
    let (holder, number) = (HolderId::from_bits(1), RequestId::new(2).unwrap());
    other.call(&key, Request::Renew { holder, token, number, stamp: None }).await.unwrap();
    for number in [3, 4] {
        let reply = reader.call(&key, acquire(number, Some(token))).await.unwrap();
        assert!(matches!(reply, Reply::Not(_)), "{reply:?}");
    }
}

/// Always has what it showed, and yet another version.
struct Contradicts(Option<Bytes>);

impl Cas for Contradicts {
    type Version = u64;

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("contradicts")
    }

    async fn get(&self, _: &Key) -> Result<Option<Versioned<u64>>, StoreError> {
        let value = self.0.clone();
        Ok(value.map(|value| Versioned { value, version: 1 }))
    }

    async fn swap(&self, _: &Key, _: Option<&u64>, _: Bytes) -> Result<Swapped<u64>, StoreError> {
        Ok(Swapped::Conflict)
    }
}

/// A request ends with an error, instead of asking for ever.
#[tokio::test]
async fn a_backend_that_contradicts_itself_is_reported() {
    let empty = Election::default().write();
    for value in [None, Some(empty)] {
        let store = CasStore::new(Contradicts(value));
        let key = Key::new("job").unwrap();
        let look = Request::Look { seen: None, quarantine: Duration::from_secs(1) };
        let asked = tokio::time::timeout(Duration::from_secs(60), store.call(&key, look));
        let error = asked.await.expect("an answer").unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{error}");
    }
}
