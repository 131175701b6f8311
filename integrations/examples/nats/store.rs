//! A backend of one's own: a bucket of JetStream, the key-value store of a NATS server, with one
//! key for each election.
//!
//! A revision is a counter, which a loss sets back. So a version also names the process of the
//! server, by the id that it draws when it starts; and since no connection is opened again, a swap
//! reaches that process or none. What a process has acknowledged the next one may have lost, so the
//! id is the identity too: candidates watch each process for a quarantine.
//!
//! **Not noticed**: a bucket that is deleted or restored in a running server; mirrors and leaf nodes,
//! which answer reads by themselves.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::kv::{Config, CreateError, CreateErrorKind, Entry, Operation, Store};
use async_nats::{Client, ConnectOptions, jetstream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tenure::store::cas::{Cas, Change, Swapped, Versioned};
use tenure::store::{Key, StoreError, StoreErrorKind, StoreTraits, Watched};
use tokio::sync::Mutex;

/// The process of the server, and a revision that it has given or shown.
type Version = (u128, u64);

/// The elections in a server. A clone is the same.
#[derive(Clone)]
pub(crate) struct Nats {
    address: String,
    live: Arc<Mutex<Option<Live>>>,
}

#[derive(Clone)]
struct Live {
    client: Client,
    bucket: Store,
    process: u128,
}

impl Nats {
    /// The server at an address such as `nats://10.0.0.7:4222`.
    pub(crate) fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), live: Arc::default() }
    }

    /// The connection, or another one if it has ended.
    async fn live(&self) -> Result<Live, async_nats::Error> {
        let mut live = self.live.lock().await;
        let is_open = |live: &Live| live.client.connection_state() == State::Connected;
        if let Some(live) = live.clone().filter(is_open) {
            return Ok(live);
        }
        let options = ConnectOptions::new().ping_interval(Duration::from_secs(1));
        let client = options.max_reconnects(Some(1)).connect(&self.address).await?;
        // It would connect again by itself, and send to another process what has waited. It finds
        // nothing at that port, and ends.
        client.set_server_pool("nats://127.0.0.1:0").await?;
        let server = client.server_info();
        if server.cluster.is_some() || !server.jetstream {
            return Err("it must be one server alone, with JetStream".into());
        }
        let config = Config { bucket: "tenure".into(), ..Config::default() };
        let bucket = jetstream::new(client.clone()).create_key_value(config).await?;
        // So many of its digits and letters fit.
        let process = u128::from_str_radix(server.server_id.get(1..25).unwrap_or_default(), 36)?;
        Ok(live.insert(Live { client, bucket, process }).clone())
    }
}

impl Cas for Nats {
    type Version = Version;

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("nats")
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Version>>, StoreError> {
        let live = self.live().await.map_err(failed)?;
        let entry = live.bucket.entry(hex::encode(key.as_str())).await.map_err(failed)?;
        Ok(entry.and_then(|entry| versioned(live.process, entry)))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&Version>,
        value: Bytes,
    ) -> Result<Swapped<Version>, StoreError> {
        let Live { bucket, process, .. } = self.live().await.map_err(failed)?;
        let name = hex::encode(key.as_str());
        let swapped = match version {
            Some((before, _)) if *before != process => return Ok(Swapped::Conflict),
            Some((_, revision)) => {
                bucket.update(name, value, *revision).await.map_err(CreateError::from)
            }
            None => bucket.create(name, value).await,
        };
        match swapped {
            Ok(revision) => Ok(Swapped::Done((process, revision))),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(Swapped::Conflict),
            Err(error) => Err(failed(error)),
        }
    }

    fn identity(version: &Version) -> u128 {
        version.0
    }

    fn watch(&self, mut watched: Watched) -> impl Stream<Item = Change<Version>> + Send + 'static {
        let nats = self.clone();
        async_stream::stream! {
            loop {
                if let Ok(live) = nats.live().await
                    && let Ok(mut entries) = live.bucket.watch_all().await
                {
                    // What has changed until now was missed.
                    let mut named = watched.keys();
                    loop {
                        for key in named.drain(..) {
                            yield Change { key, found: None };
                        }
                        tokio::select! {
                            changes = watched.changed() => {
                                let Some(changes) = changes else { return };
                                named = changes.added;
                            }
                            entry = entries.next() => {
                                let Some(Ok(entry)) = entry else { break };
                                if let Some(key) = key(&entry.key) && watched.contains(&key) {
                                    yield Change { key, found: versioned(live.process, entry) };
                                }
                            }
                        }
                    }
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// The election of a key, which is hexadecimal, since NATS allows few characters.
fn key(name: &str) -> Option<Key> {
    Key::new(String::from_utf8(hex::decode(name).ok()?).ok()?).ok()
}

/// The value of an entry, unless it tells of a deletion.
fn versioned(process: u128, entry: Entry) -> Option<Versioned<Version>> {
    let Entry { value, revision, operation, .. } = entry;
    (operation == Operation::Put).then_some(Versioned { value, version: (process, revision) })
}

/// An outcome that is not known.
fn failed(error: impl Into<async_nats::Error>) -> StoreError {
    let error = std::io::Error::other(error);
    StoreError::new(StoreErrorKind::Disconnected, "the bucket of NATS").with_source(error)
}
