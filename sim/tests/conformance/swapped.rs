//! Stores over a backend that can compare and swap: one in memory, which is served in another order than it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::Stream;
use tenure::store::cas::{Cas, CasStore, Change, Election, Swapped, Versioned};
use tenure::store::{Key, StoreError, StoreTraits, Watched};
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};
use tokio::sync::{broadcast, watch};

/// Values in memory, under versions that are never used again.
#[derive(Clone)]
struct Values(Arc<Server>);

struct Server {
    kept: Mutex<Kept>,
    changes: broadcast::Sender<Change>,
    is_slow: watch::Sender<bool>,
}

#[derive(Default)]
struct Kept {
    values: BTreeMap<Key, (u64, Bytes)>,
    writes: u64,
    identity: u128,
}

impl Values {
    fn new() -> Self {
        let (changes, is_slow) = (broadcast::Sender::new(64), watch::Sender::new(false));
        let kept = Mutex::new(Kept { identity: 1, ..Kept::default() });
        Self(Arc::new(Server { kept, changes, is_slow }))
    }

    /// Others come first now and then.
    async fn turn(&self) {
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
    type Version = u64;

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("values")
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<u64>>, StoreError> {
        self.turn().await;
        let kept = self.0.kept.lock().unwrap();
        let found = kept.values.get(key).cloned();
        let identity = kept.identity;
        Ok(found.map(|(version, value)| Versioned { value, version, identity }))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&u64>,
        value: Bytes,
    ) -> Result<Swapped<u64>, StoreError> {
        self.turn().await;
        let mut kept = self.0.kept.lock().unwrap();
        if kept.values.get(key).map(|(version, _)| version) != version {
            return Ok(Swapped::Conflict);
        }
        kept.writes += 1;
        let version = kept.writes;
        kept.values.insert(key.clone(), (version, value.clone()));
        // It is no error if nobody watches.
        let _ = self.0.changes.send(Change { key: key.clone(), value: Some(value) });
        Ok(Swapped::Done(version))
    }

    fn watch(&self, mut watched: Watched) -> impl Stream<Item = Change> + Send + 'static {
        let mut changes = self.0.changes.subscribe();
        async_stream::stream! {
            loop {
                tokio::select! {
                    added = watched.changed() => {
                        let Some(added) = added else { return };
                        for key in added.added {
                            yield Change { key, value: None };
                        }
                    }
                    change = changes.recv() => match change {
                        Ok(change) if watched.contains(&change.key) => yield change,
                        Ok(_) => {}
                        Err(broadcast::error::RecvError::Lagged(_)) => {
                            for key in watched.keys() {
                                yield Change { key, value: None };
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
