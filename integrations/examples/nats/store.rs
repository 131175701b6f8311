//! A backend of one's own: a bucket of a NATS server's key-value store.
//!
//! A revision is a counter, which a loss sets back. So a version also names the server's process,
//! by the id that it draws when it starts, and a swap reaches that process or none. What it has
//! acknowledged the next one may have lost, so candidates watch each process for a quarantine. Not
//! noticed: a bucket that is deleted or restored in a running server, and leaf nodes.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::kv::{CreateError, CreateErrorKind, Entry, Operation, Store};
use async_nats::jetstream::stream::Config;
use async_nats::{Client, ConnectOptions, jetstream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tenure::store::cas::{Cas, Change, Swapped, Versioned};
use tenure::store::{Key, StoreError, StoreErrorKind, StoreTraits, Watched};
use tokio::sync::Mutex;

/// The server's process, and a revision.
type Version = (u128, u64);

/// The elections in a server. A clone is the same.
#[derive(Clone)]
pub(crate) struct Nats {
    address: String,
    live: Arc<Mutex<Option<(Client, Live)>>>,
}

/// The bucket over one connection, and the server's process.
type Live = (Store, u128);

impl Nats {
    pub(crate) fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), live: Arc::default() }
    }

    /// The connection, or another one if it has ended.
    async fn live(&self) -> Result<Live, async_nats::Error> {
        let mut live = self.live.lock().await;
        if let Some((client, live)) = &*live
            && client.connection_state() == State::Connected
        {
            return Ok(live.clone());
        }
        let options = ConnectOptions::new().ping_interval(Duration::from_secs(1));
        let client = options.max_reconnects(Some(1)).connect(&self.address).await?;
        // It would connect again, perhaps to another process: it finds nothing there, and ends.
        client.set_server_pool("nats://127.0.0.1:0").await?;
        let server = client.server_info();
        if server.cluster.is_some() || !server.jetstream {
            return Err("it must be one server alone, with JetStream".into());
        }
        let streams = jetstream::new(client.clone());
        let mut config = Config { max_messages_per_subject: 1, ..Config::default() };
        (config.name, config.subjects) = ("KV_tenure".into(), vec!["$KV.tenure.>".into()]);
        streams.get_or_create_stream(config).await?;
        let bucket = streams.get_key_value("tenure").await?;
        // So many of its digits and letters fit.
        let process = u128::from_str_radix(server.server_id.get(1..25).unwrap_or(""), 36)?;
        Ok(live.insert((client, (bucket, process))).1.clone())
    }
}

impl Cas for Nats {
    type Version = Version;

    fn traits(&self) -> StoreTraits {
        StoreTraits::new("nats")
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Version>>, StoreError> {
        let (bucket, process) = self.live().await.map_err(failed)?;
        let entry = bucket.entry(hex::encode(key.as_str())).await.map_err(failed)?;
        Ok(entry.and_then(|entry| versioned(process, entry)))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&Version>,
        value: Bytes,
    ) -> Result<Swapped<Version>, StoreError> {
        let (bucket, process) = self.live().await.map_err(failed)?;
        let name = hex::encode(key.as_str());
        match match version {
            Some((before, _)) if *before != process => return Ok(Swapped::Conflict),
            Some((_, of)) => bucket.update(name, value, *of).await.map_err(CreateError::from),
            None => bucket.create(name, value).await,
        } {
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
                if let Ok((bucket, process)) = nats.live().await
                    && let Ok(mut entries) = bucket.watch_all().await
                {
                    // What has changed until now was missed.
                    let mut named = watched.keys();
                    loop {
                        for key in named.drain(..) {
                            yield Change { key, found: None };
                        }
                        tokio::select! {
                            changes = watched.changed() => match changes {
                                Some(changes) => named = changes.added,
                                None => return,
                            },
                            entry = entries.next() => {
                                let Some(Ok(entry)) = entry else { break };
                                if let Some(key) = key(&entry.key) && watched.contains(&key) {
                                    yield Change { key, found: versioned(process, entry) };
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

fn failed(error: impl Into<async_nats::Error>) -> StoreError {
    let error = std::io::Error::other(error);
    StoreError::new(StoreErrorKind::Disconnected, "the bucket of NATS").with_source(error)
}
