//! The store of objects, over a bucket in memory.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use tenure::HolderId;
use tenure::store::cas::{CasStore, Election};
use tenure::store::contract::{Acquire, RequestId, WatchedStamp};
use tenure::store::objects::Objects;
use tenure::store::{Key, Profile, Reply, Request, Store as _, StoreError, StoreErrorKind};
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};

/// Longer than any row waits for an answer.
const SLOW: Duration = Duration::from_secs(60);
const PREFIX: &str = "elections/of/one";

struct Bucket(Arc<ThrottledStore<InMemory>>);

impl Bucket {
    fn new() -> Self {
        Self(Arc::new(ThrottledStore::new(InMemory::new(), ThrottleConfig::default())))
    }

    /// The names of elections' objects.
    async fn names(&self) -> Vec<Path> {
        let all: Vec<_> = self.0.list(None).try_collect().await.unwrap();
        all.into_iter().map(|meta| meta.location).filter(|name| below(name) == 1).collect()
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

/// The number of parts of a name below the prefix.
fn below(name: &Path) -> usize {
    name.prefix_match(&Path::from(PREFIX)).unwrap().count()
}

impl Harness for Bucket {
    type Store = CasStore<Objects>;

    async fn connect(&self) -> CasStore<Objects> {
        CasStore::new(Objects::new(self.0.clone(), PREFIX))
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

async fn look(objects: &Objects, key: &str) -> Result<Reply, StoreError> {
    let look = Request::Look { seen: None, quarantine: SLOW };
    CasStore::new(objects.clone()).call(&Key::new(key).unwrap(), look).await
}

/// A folder has no conditional updates.
#[tokio::test]
async fn a_store_without_conditional_updates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = object_store::local::LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let error = look(&Objects::new(Arc::new(files), ""), "job").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
}

/// It answers every write with success, so that every candidate would be granted the lease.
#[tokio::test]
async fn a_server_that_ignores_conditions_is_refused() {
    let ignored: [fn(&PutMode) -> bool; 3] = [
        |_| true,
        |mode| matches!(mode, PutMode::Create),
        |mode| matches!(mode, PutMode::Update(_)),
    ];
    for ignores in ignored {
        is_refused(&Careless::ignoring(ignores)).await;
    }
}

/// Each of several writes that are sent at once finds its condition met.
#[tokio::test]
async fn a_server_that_checks_before_it_writes_is_refused() {
    let in_two_steps = true;
    is_refused(&Arc::new(Careless { in_two_steps, ..Careless::default() })).await;
}

async fn is_refused(bucket: &Arc<Careless>) {
    let objects = bucket.objects();
    // Also when it is asked again, and by a process that finds the object of another one.
    for objects in [&objects, &objects, &bucket.objects()] {
        let error = look(objects, "job").await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("ignores the conditions"), "{error}");
    }
}

/// The first pause lasts a second.
#[tokio::test]
async fn a_refused_server_is_asked_again_after_a_pause() {
    let bucket = Careless::ignoring(|_| true);
    let objects = bucket.objects();
    look(&objects, "job").await.unwrap_err();
    let once = bucket.requests();
    for _ in 0..100 {
        look(&objects, "job").await.unwrap_err();
    }
    let all = bucket.requests();
    assert!(all < 10 * once, "{all} requests, and {once} in one trial");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut tries = 0;
    while bucket.requests() == all {
        look(&objects, "job").await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(100)).await;
        tries += 1;
        assert!(tries < 1_000, "it is not asked again");
    }
}

#[tokio::test]
async fn conditions_are_tried_once() {
    let bucket = Careless::ignoring(|_| false);
    let objects = bucket.objects();
    for key in ["a", "b"] {
        look(&objects, key).await.unwrap();
    }
    let (at_once, wrong) = (8, 2);
    let again = wrong + 3 * at_once;
    assert_eq!(bucket.tries(), at_once + again);
    // Another process finds the object.
    look(&bucket.objects(), "c").await.unwrap();
    assert_eq!(bucket.tries(), at_once + 2 * again);
    let keys = CasStore::new(objects).keys().await.unwrap();
    assert_eq!(keys, BTreeSet::from(["a", "b", "c"].map(|key| Key::new(key).unwrap())));
}

/// By a candidate that waits, so that its takeover need not wait for the trial, and by no observer,
/// which may have no right to write.
#[tokio::test]
async fn conditions_are_tried_before_a_takeover() {
    let bucket = Careless::ignoring(|_| false);
    look(&bucket.objects(), "job").await.unwrap();
    let (tries, another) = (bucket.tries(), bucket.objects());
    let store = CasStore::new(another.clone());
    store.call(&Key::new("job").unwrap(), Request::Observe).await.unwrap();
    assert_eq!(bucket.tries(), tries);
    look(&another, "job").await.unwrap();
    assert!(bucket.tries() > tries);
}

#[tokio::test]
async fn an_object_names_the_version_that_it_replaced() {
    let bucket = Careless::ignoring(|_| false);
    look(&bucket.objects(), "job").await.unwrap();
    let name = Path::from(PREFIX).join("job");
    let version = bucket.bucket.head(&name).await.unwrap().e_tag.unwrap();
    let holder = HolderId::from_bits(1);
    let profile = Profile::new("one", "").unwrap();
    let (number, stamp) = (RequestId::new(1).unwrap(), stamped(&bucket).await);
    let asks = Acquire { stamp, ..Acquire::new(holder, number, SLOW, profile.name_id()) };
    let store = CasStore::new(bucket.objects());
    let granted = store.call(&Key::new("job").unwrap(), Request::Acquire { asks, profile }).await;
    assert!(matches!(granted, Ok(Reply::Granted { .. })), "{granted:?}");
    let value = bucket.bucket.get(&name).await.unwrap().bytes().await.unwrap();
    let value: serde_json::Value = serde_json::from_slice(&value).unwrap();
    assert_eq!(value["replaced"].as_str().unwrap().trim(), version);
}

/// The past of the election, as a candidate that has watched it tells it.
async fn stamped(bucket: &Arc<Careless>) -> Option<WatchedStamp> {
    match look(&bucket.objects(), "job").await.unwrap() {
        Reply::At(shown) => {
            shown.sight.past.map(|past| WatchedStamp { stamp: past.stamp, time: SLOW })
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_large_object_is_not_loaded() {
    let bucket = InMemory::new();
    let objects = Objects::new(Arc::new(bucket.clone()), PREFIX);
    let most = 64 * 1_024;
    for size in [most, most + 1] {
        let value = PutPayload::from(vec![b' '; size]);
        bucket.put(&Path::from(PREFIX).join("job"), value).await.unwrap();
        let error = look(&objects, "job").await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
        let is_too_large = error.to_string().contains(&format!("has {size} bytes"));
        assert_eq!(is_too_large, size > most, "{error}");
    }
}

/// A bucket whose server ignores some conditions, or checks them in a step of its own.
#[derive(Debug)]
struct Careless {
    bucket: InMemory,
    ignores: fn(&PutMode) -> bool,
    in_two_steps: bool,
    /// The name in each write.
    puts: Mutex<Vec<Path>>,
    reads: AtomicUsize,
}

impl Default for Careless {
    fn default() -> Self {
        let (bucket, puts, reads) = (InMemory::new(), Mutex::default(), AtomicUsize::new(0));
        Self { bucket, ignores: |_| false, in_two_steps: false, puts, reads }
    }
}

impl Careless {
    fn ignoring(ignores: fn(&PutMode) -> bool) -> Arc<Self> {
        Arc::new(Self { ignores, ..Self::default() })
    }

    /// Those of one process.
    fn objects(self: &Arc<Self>) -> Objects {
        Objects::new(self.clone(), PREFIX)
    }

    /// The writes by which conditions are tried.
    fn tries(&self) -> usize {
        self.puts.lock().unwrap().iter().filter(|name| below(name) == 2).count()
    }

    fn requests(&self) -> usize {
        self.puts.lock().unwrap().len() + self.reads.load(Ordering::Relaxed)
    }

    async fn is_met(&self, name: &Path, mode: &PutMode) -> bool {
        let found = self.bucket.get_opts(name, GetOptions::default()).await.ok();
        let version = found.map(|found| found.meta.e_tag);
        match mode {
            PutMode::Overwrite => true,
            PutMode::Create => version.is_none(),
            PutMode::Update(expected) => version == Some(expected.e_tag.clone()),
        }
    }
}

impl fmt::Display for Careless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Careless")
    }
}

/// The signatures are those that the trait's macro makes.
impl ObjectStore for Careless {
    fn put_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> BoxFuture<'async_trait, object_store::Result<PutResult>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.puts.lock().unwrap().push(location.clone());
        if self.in_two_steps {
            return Box::pin(async move {
                let mut opts = opts;
                if self.is_met(location, &opts.mode).await {
                    tokio::task::yield_now().await;
                    opts.mode = PutMode::Overwrite;
                }
                self.bucket.put_opts(location, payload, opts).await
            });
        }
        let is_ignored = (self.ignores)(&opts.mode);
        let mode = if is_ignored { PutMode::Overwrite } else { opts.mode };
        self.bucket.put_opts(location, payload, PutOptions { mode, ..opts })
    }

    fn put_multipart_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        opts: PutMultipartOptions,
    ) -> BoxFuture<'async_trait, object_store::Result<Box<dyn MultipartUpload>>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.bucket.put_multipart_opts(location, opts)
    }

    fn get_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        options: GetOptions,
    ) -> BoxFuture<'async_trait, object_store::Result<GetResult>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bucket.get_opts(location, options)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.bucket.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.bucket.list(prefix)
    }

    fn list_with_delimiter<'life0, 'life1, 'async_trait>(
        &'life0 self,
        prefix: Option<&'life1 Path>,
    ) -> BoxFuture<'async_trait, object_store::Result<ListResult>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.bucket.list_with_delimiter(prefix)
    }

    fn copy_opts<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        from: &'life1 Path,
        to: &'life2 Path,
        options: CopyOptions,
    ) -> BoxFuture<'async_trait, object_store::Result<()>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        self.bucket.copy_opts(from, to, options)
    }
}
