//! Stores over a backend that can compare and swap: one in memory, which is served in another order
//! than it is asked.

mod refused;
mod trips;
mod written;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tenure::store::cas::{Cas, CasStore, Change, Election, Swapped, Versioned};
use tenure::store::contract::{Acquire, RequestId};
use tenure::store::{Key, Profile, Reply, Request, Store as _, StoreError, StoreTraits, Watched};
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
    let (holder, number) = (HolderId::from_bits(number.into()), RequestId::new(number).unwrap());
    let asks = Acquire { seen, ..Acquire::new(holder, number, long, profile.name_id()) };
    Request::Acquire { asks, profile }
}

async fn granted(store: &CasStore<Values>, request: Request) -> Token {
    match store.call(&Key::new("job").unwrap(), request).await.unwrap() {
        Reply::Granted { token } => token,
        other => panic!("{other:?}"),
    }
}
