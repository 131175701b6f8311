//! The store of objects, over a bucket in memory.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use tenure::store::cas::{CasStore, Election};
use tenure::store::objects::Objects;
use tenure::store::{Key, Request, Store as _, StoreErrorKind};
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};

/// Longer than any row waits for an answer.
const SLOW: Duration = Duration::from_secs(60);

struct Bucket(Arc<ThrottledStore<InMemory>>);

impl Bucket {
    fn new() -> Self {
        Self(Arc::new(ThrottledStore::new(InMemory::new(), ThrottleConfig::default())))
    }

    async fn names(&self) -> Vec<object_store::path::Path> {
        let all: Vec<_> = self.0.list(None).try_collect().await.unwrap();
        all.into_iter().map(|meta| meta.location).collect()
    }

    /// Changes what each object says, as no request would.
    async fn change(&self, change: impl Fn(&mut Election)) {
        let key = Key::new("any").unwrap();
        for name in self.names().await {
            let value = self.0.get(&name).await.unwrap().bytes().await.unwrap();
            let mut election = Election::read(&key, &value).unwrap();
            change(&mut election);
            self.0.put(&name, PutPayload::from(election.write())).await.unwrap();
        }
    }
}

impl Harness for Bucket {
    type Store = CasStore<Objects>;

    async fn connect(&self) -> CasStore<Objects> {
        CasStore::new(Objects::new(self.0.clone(), "elections/of/one"))
    }

    /// Versions do not tell of another server.
    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        match data {
            Data::Kept => Err(Unsupported),
            Data::Lost => self.suffer(Mishap::AllLost).await,
        }
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        match mishap {
            Mishap::RecordsLost => self.change(|election| election.tenant = None).await,
            Mishap::PastLost => self.change(|election| election.past = None).await,
            Mishap::OtherServer => return Err(Unsupported),
            Mishap::AllLost => {
                for name in self.names().await {
                    self.0.delete(&name).await.unwrap();
                }
            }
        }
        Ok(())
    }

    async fn slow(&self, is_slow: bool) -> Result<(), Unsupported> {
        self.0.config_mut(|config| {
            let wait = if is_slow { SLOW } else { Duration::ZERO };
            (config.wait_get_per_call, config.wait_put_per_call) = (wait, wait);
        });
        Ok(())
    }
}

tenure_sim::conformance!(right, Bucket::new());

/// A folder has no conditional updates.
#[tokio::test]
async fn a_store_without_conditional_updates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = object_store::local::LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let store = CasStore::new(Objects::new(Arc::new(files), ""));
    let look = Request::Look { seen: None, quarantine: SLOW };
    let error = store.call(&Key::new("job").unwrap(), look).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
}
