//! A backend of one's own: a bucket of JetStream, the key-value store of a NATS server, with one
//! key for each election.
//!
//! A revision is a counter, which a backup sets back. So a version also names the process of the
//! server, which draws an id when it starts; and since no connection is ever opened again, a swap
//! reaches that process or none. What a server has acknowledged it may have lost after a restart,
//! so candidates watch each process for a quarantine: the id is the identity too.
//!
//! **Not noticed**: a bucket that is deleted or restored in a running server. One server alone, no
//! cluster: a server of a cluster answers reads without asking the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::kv::{
    Config, CreateErrorKind, Entry, Operation, Store, UpdateErrorKind,
};
use async_nats::{Client, ConnectOptions, jetstream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use tenure::store::cas::{Cas, Change, Swapped, Versioned};
use tenure::store::{Key, StoreError, StoreErrorKind, StoreTraits, Watched};
use tokio::sync::Mutex;

const BUCKET: &str = "tenure";

/// A revision, and the process of the server that has given it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Version {
    server: u128,
    revision: u64,
}

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
    server: u128,
}

impl Nats {
    /// The server at an address such as `nats://10.0.0.7:4222`. Does not connect yet.
    pub(crate) fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), live: Arc::default() }
    }

    /// The connection, or another one if it has ended.
    async fn live(&self) -> Result<Live, StoreError> {
        let mut live = self.live.lock().await;
        if let Some(live) = live.as_ref()
            && live.client.connection_state() == State::Connected
        {
            return Ok(live.clone());
        }
        Ok(live.insert(Live::connect(&self.address).await.map_err(failed)?).clone())
    }
}

impl Live {
    async fn connect(address: &str) -> Result<Self, async_nats::Error> {
        let connects = AtomicBool::new(true);
        // The client would connect again by itself: not as long as a request waits for its answer.
        let delay = move |_| match connects.swap(false, Ordering::Relaxed) {
            true => Duration::ZERO,
            false => Duration::from_secs(3_600),
        };
        let options = ConnectOptions::new().ping_interval(Duration::from_secs(1));
        let client = options.reconnect_delay_callback(delay).connect(address).await?;
        let server = client.server_info();
        if let Some(cluster) = server.cluster {
            return Err(format!("the server is one of the cluster {cluster}").into());
        }
        let config = Config { bucket: BUCKET.into(), ..Config::default() };
        let bucket = jetstream::new(client.clone()).create_key_value(config).await?;
        // 24 of its characters, which are digits and letters, fit.
        let id = server.server_id.get(1..25).unwrap_or_default();
        Ok(Self { client, bucket, server: u128::from_str_radix(id, 36)? })
    }

    fn version(&self, revision: u64) -> Version {
        Version { server: self.server, revision }
    }

    /// The value of an entry, unless it tells of a deletion.
    fn versioned(&self, entry: Entry) -> Option<Versioned<Version>> {
        let version = self.version(entry.revision);
        let value = entry.value;
        (entry.operation == Operation::Put).then_some(Versioned { value, version })
    }
}

impl Cas for Nats {
    type Version = Version;

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("nats")
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Version>>, StoreError> {
        let live = self.live().await?;
        let entry = live.bucket.entry(name(key)).await.map_err(failed)?;
        Ok(entry.and_then(|entry| live.versioned(entry)))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&Version>,
        value: Bytes,
    ) -> Result<Swapped<Version>, StoreError> {
        let live = self.live().await?;
        let revision = match version {
            None => match live.bucket.create(name(key), value).await {
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => None,
                created => Some(created.map_err(failed)?),
            },
            Some(version) if version.server != live.server => None,
            Some(version) => match live.bucket.update(name(key), value, version.revision).await {
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => None,
                updated => Some(updated.map_err(failed)?),
            },
        };
        Ok(revision.map_or(Swapped::Conflict, |revision| Swapped::Done(live.version(revision))))
    }

    fn identity(version: &Version) -> u128 {
        version.server
    }

    fn watch(&self, mut watched: Watched) -> impl Stream<Item = Change<Version>> + Send + 'static {
        let nats = self.clone();
        async_stream::stream! {
            loop {
                let entries = async {
                    let live = nats.live().await.ok()?;
                    Some((live.bucket.watch_all().await.ok()?, live))
                };
                let Some((mut entries, live)) = entries.await else {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                };
                // What has changed until now was missed.
                for key in watched.keys() {
                    yield Change { key, found: None };
                }
                loop {
                    tokio::select! {
                        changes = watched.changed() => {
                            let Some(changes) = changes else { return };
                            for key in changes.added {
                                yield Change { key, found: None };
                            }
                        }
                        entry = entries.next() => {
                            let Some(Ok(entry)) = entry else { break };
                            if let Some(key) = key(&entry.key) && watched.contains(&key) {
                                yield Change { key, found: live.versioned(entry) };
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The name of an election's key: hexadecimal, since NATS allows few characters.
fn name(key: &Key) -> String {
    key.as_str().bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn key(name: &str) -> Option<Key> {
    let digits = |at| u8::from_str_radix(name.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..name.len()).step_by(2).map(digits).collect();
    Key::new(String::from_utf8(bytes?).ok()?).ok()
}

/// An outcome that is not known.
fn failed(error: impl Into<async_nats::Error>) -> StoreError {
    StoreError::new(StoreErrorKind::Disconnected, "the bucket of NATS").with_source(error)
}
