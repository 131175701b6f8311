//! Stores over a backend that can compare and swap: one in memory, which is served in another order
//! than it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};
use tenure::store::cas::{Cas, CasStore, Change, Election, Swapped, Versioned};
use tenure::store::contract::{Acquire, Asked, RequestId, WatchedStamp, Wish};
use tenure::store::{
    Key, Profile, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
};
use tenure::{HolderId, Token};
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};
use tokio::sync::{broadcast, watch};

/// Values in memory, under versions that are never used again.
#[derive(Clone)]
struct Values(Arc<Server>);

struct Server {
    kept: Mutex<Kept>,
    changes: broadcast::Sender<Change<(u128, u64)>>,
    is_slow: watch::Sender<bool>,
    /// Reads and swaps that were asked for.
    trips: AtomicUsize,
}

#[derive(Default)]
struct Kept {
    values: BTreeMap<Key, (u64, Bytes)>,
    writes: u64,
    identity: u128,
    /// The next swap of a value does not find that it was replaced meanwhile.
    is_careless: bool,
}

impl Values {
    fn new() -> Self {
        let (changes, is_slow) = (broadcast::Sender::new(64), watch::Sender::new(false));
        let kept = Mutex::new(Kept { identity: 1, ..Kept::default() });
        Self(Arc::new(Server { kept, changes, is_slow, trips: AtomicUsize::new(0) }))
    }

    /// Others come first now and then.
    async fn turn(&self) {
        self.0.trips.fetch_add(1, Ordering::Relaxed);
        let _ = self.0.is_slow.subscribe().wait_for(|is_slow| !is_slow).await;
        tokio::task::yield_now().await;
    }

    /// Changes what each value says, as no request would.
    fn change(&self, change: impl Fn(&mut Election)) {
        let mut kept = self.0.kept.lock().unwrap();
        let Kept { values, writes, .. } = &mut *kept;
        for (key, (version, value)) in values {
            let mut election = Election::read(key, value).unwrap();
            change(&mut election);
            *writes += 1;
            (*version, *value) = (*writes, election.write());
        }
    }
}

impl Cas for Values {
    /// The server's identity, and the number of the write.
    type Version = (u128, u64);

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("values")
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<(u128, u64)>>, StoreError> {
        self.turn().await;
        let kept = self.0.kept.lock().unwrap();
        let found = kept.values.get(key).cloned();
        let version = |write| (kept.identity, write);
        Ok(found.map(|(write, value)| Versioned { value, version: version(write) }))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&(u128, u64)>,
        value: Bytes,
    ) -> Result<Swapped<(u128, u64)>, StoreError> {
        self.turn().await;
        let mut kept = self.0.kept.lock().unwrap();
        let present = kept.values.get(key).map(|(write, _)| (kept.identity, *write));
        let is_ignored = std::mem::take(&mut kept.is_careless);
        if present.as_ref() != version && !is_ignored {
            return Ok(Swapped::Conflict);
        }
        kept.writes += 1;
        let write = kept.writes;
        let version = (kept.identity, write);
        kept.values.insert(key.clone(), (write, value.clone()));
        // It is no error if nobody watches.
        let found = Some(Versioned { value, version });
        let _ = self.0.changes.send(Change { key: key.clone(), found });
        Ok(Swapped::Done(version))
    }

    fn identity((server, _): &(u128, u64)) -> u128 {
        *server
    }

    fn name((server, write): &(u128, u64)) -> Option<String> {
        Some(format!("{server}-{write}"))
    }

    fn watch(
        &self,
        mut watched: Watched,
    ) -> impl Stream<Item = Change<(u128, u64)>> + Send + 'static {
        let mut changes = self.0.changes.subscribe();
        async_stream::stream! {
            loop {
                tokio::select! {
                    added = watched.changed() => {
                        let Some(added) = added else { return };
                        for key in added.added {
                            yield Change { key, found: None };
                        }
                    }
                    change = changes.recv() => match change {
                        Ok(change) if watched.contains(&change.key) => yield change,
                        Ok(_) => {}
                        Err(broadcast::error::RecvError::Lagged(_)) => {
                            for key in watched.keys() {
                                yield Change { key, found: None };
                            }
                        }
                        Err(broadcast::error::RecvError::Closed) => return,
                    }
                }
            }
        }
    }
}

struct Swaps(Values);

impl Harness for Swaps {
    type Store = CasStore<Values>;

    async fn connect(&self) -> CasStore<Values> {
        CasStore::new(self.0.clone())
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        match data {
            Data::Kept => self.suffer(Mishap::OtherServer).await,
            Data::Lost => self.suffer(Mishap::AllLost).await,
        }
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        match mishap {
            Mishap::RecordsLost => self.0.change(|election| election.tenant = None),
            Mishap::OtherServer => self.0.0.kept.lock().unwrap().identity += 1,
            Mishap::PastLost => self.0.change(|election| election.past = None),
            Mishap::AllLost => self.0.0.kept.lock().unwrap().values.clear(),
        }
        Ok(())
    }

    async fn slow(&self, is_slow: bool) -> Result<(), Unsupported> {
        self.0.0.is_slow.send_replace(is_slow);
        Ok(())
    }
}

tenure_sim::conformance!(right, Swaps(Values::new()));

fn acquire(number: u64, seen: Option<Token>) -> Request {
    let profile = Profile::new("one", "").unwrap();
    let long = Duration::from_secs(60);
    let asks = Acquire {
        holder: HolderId::from_bits(number.into()),
        number: RequestId::new(number).unwrap(),
        seen,
        lost: None,
        mark: None,
        stamp: None,
        ttl: long,
        quarantine: long,
        name: profile.name_id(),
    };
    Request::Acquire { asks, profile }
}

async fn granted(store: &CasStore<Values>, request: Request) -> Token {
    match store.call(&Key::new("job").unwrap(), request).await.unwrap() {
        Reply::Granted { token } => token,
        other => panic!("{other:?}"),
    }
}

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
