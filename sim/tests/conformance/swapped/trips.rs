//! The round trips of requests, and what saves the first of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tenure::HolderId;
use tenure::store::cas::{Cas, CasStore, Swapped, Versioned};
use tenure::store::contract::{Asked, RequestId, Wish};
use tenure::store::{Key, Profile, Reply, Request, Store as _, StoreError, StoreTraits, Watched};

use super::{Values, acquire, granted};

/// A tenure that another connection has won is renewed, whatever this one wrote last.
#[tokio::test]
async fn what_was_written_last_refuses_nothing() {
    let values = Values::new();
    let [one, other] = [(), ()].map(|()| CasStore::new(values.clone()).trust_empty_store(true));
    let key = Key::new("job").unwrap();
    let first = granted(&one, acquire(1, None)).await;
    let holder = HolderId::from_bits(1);
    let release = Request::Release { holder, token: first, reservation: None };
    assert_eq!(other.call(&key, release).await.unwrap(), Reply::Released);
    let token = granted(&other, acquire(2, Some(first))).await;
    let (holder, number) = (HolderId::from_bits(2), RequestId::new(3).unwrap());
    let renew = Request::Renew { holder, token, number, stamp: None };
    let reply = one.call(&key, renew).await.unwrap();
    assert_eq!(reply, Reply::Renewed { asked: None, wanted: None, past: None });
}

/// The trips that a request takes, and its answer.
async fn trips(store: &CasStore<Values>, request: Request) -> (usize, Reply) {
    let counted = &store.backend().0.trips;
    let before = counted.load(Ordering::Relaxed);
    let reply = store.call(&Key::new("job").unwrap(), request).await.unwrap();
    (counted.load(Ordering::Relaxed) - before, reply)
}

/// At round trips near a request's timeout, a handover would fail otherwise: the candidate that is
/// meant would ask in vain, and the leader renew in vain.
#[tokio::test]
async fn a_handover_takes_few_trips() {
    let values = Values::new();
    let [leader, other] = [(), ()].map(|()| CasStore::new(values.clone()).trust_empty_store(true));
    let token = granted(&leader, acquire(1, None)).await;
    let renew = |number| {
        let (holder, number) = (HolderId::from_bits(1), RequestId::new(number).unwrap());
        Request::Renew { holder, token, number, stamp: None }
    };
    let mut hints = std::pin::pin!(other.hints(Watched::only([Key::new("job").unwrap()])));
    hints.next().await.expect("the subscription");
    assert_eq!(trips(&leader, renew(2)).await.0, 1);
    assert!(hints.next().now_or_never().is_none(), "a renewal is no hint");
    let wanted = trips(&leader, Request::Want { token, wish: Some(Wish::Anybody) }).await;
    assert_eq!(wanted, (2, Reply::Noted));
    hints.next().await.expect("the wish");
    let quarantine = Duration::from_secs(60);
    assert_eq!(trips(&other, Request::Look { seen: None, quarantine }).await.0, 1);
    let name = Profile::new("two", "").unwrap().name_id();
    let asked = Asked { name, defer: Duration::ZERO };
    let ask = Request::Ask { token, asked, seen: None, quarantine };
    assert_eq!(trips(&other, ask).await.0, 1);
    let (renewing, reply) = trips(&leader, renew(3)).await;
    assert_eq!((renewing, matches!(reply, Reply::Renewed { asked: Some(_), .. })), (2, true));
    assert_eq!(trips(&leader, renew(4)).await.0, 2);
    assert!(hints.next().now_or_never().is_none(), "a wish is one hint");
    let release = Request::Release { holder: HolderId::from_bits(1), token, reservation: None };
    assert_eq!(trips(&leader, release).await.1, Reply::Released);
    hints.next().await.expect("the release");
    let (acquiring, reply) = trips(&other, acquire(2, Some(token))).await;
    assert_eq!((acquiring, matches!(reply, Reply::Granted { .. })), (1, true), "{reply:?}");
}

/// The same, far away.
struct Far(Values);

impl Far {
    const WAY: Duration = Duration::from_millis(40);
    /// More than one round trip, and less than two.
    const PATIENCE: Duration = Duration::from_millis(130);
}

impl Cas for Far {
    type Version = (u128, u64);

    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<(u128, u64)>>, StoreError> {
        tokio::time::sleep(Self::WAY).await;
        let found = self.0.get(key).await;
        tokio::time::sleep(Self::WAY).await;
        found
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&(u128, u64)>,
        value: Bytes,
    ) -> Result<Swapped<(u128, u64)>, StoreError> {
        tokio::time::sleep(Self::WAY).await;
        let swapped = self.0.swap(key, version, value).await;
        tokio::time::sleep(Self::WAY).await;
        swapped
    }
}

/// A swap after a read would be given up each time, and be done nevertheless.
#[tokio::test]
async fn a_far_backend_grants_within_one_trip() {
    let store = CasStore::new(Far(Values::new())).trust_empty_store(true);
    let key = Key::new("job").unwrap();
    let granted = async {
        for attempt in 1.. {
            let Request::Acquire { mut asks, profile } = acquire(1, None) else { unreachable!() };
            asks.number = RequestId::new(attempt).unwrap();
            let asked = store.call(&key, Request::Acquire { asks, profile });
            let asked = tokio::time::timeout(Far::PATIENCE, asked).await;
            if let Ok(Ok(Reply::Granted { .. })) = asked {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), granted).await.expect("a grant");
}
