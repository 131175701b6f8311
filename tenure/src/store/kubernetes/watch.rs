//! A stream of events: which elections may have a vacant lease.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::Request;
use kube_client::core::WatchEvent;

use super::error;
use super::lease::{Found, Lease};
use super::leases::Leases;
use super::patch::LABEL;
use crate::store::cas::Change;
use crate::store::{Key, StoreError, Watched};

/// After so long the server ends a stream, and another one begins.
const LASTS: Duration = Duration::from_secs(290);
/// A stream that lasts longer is broken.
const BROKEN_AFTER: Duration = Duration::from_secs(330);
/// The pause before another stream.
const PAUSE: Duration = Duration::from_secs(1);

/// One stream for all elections that are watched: of one object, or of all that have the label.
pub(super) fn changes(
    leases: Leases,
    mut watched: Watched,
) -> impl Stream<Item = Change> + Send + 'static {
    async_stream::stream! {
        let mut warned = false;
        loop {
            let keys = watched.keys();
            let is_one = match &keys[..] {
                [] => {
                    if watched.changed().await.is_none() {
                        return;
                    }
                    continue;
                }
                keys => keys.len() == 1,
            };
            let mut names: BTreeMap<String, Key> =
                keys.into_iter().map(|key| (leases.name(&key), key)).collect();
            let mut events = match open(&leases, &names).await {
                Ok(events) => events,
                Err(error) => {
                    if !std::mem::replace(&mut warned, true) {
                        tracing::warn!(%error, "no wake-ups: waiting candidates poll");
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            warned = false;
            for key in names.values() {
                yield Change { key: key.clone(), value: None };
            }
            let ends = tokio::time::sleep(BROKEN_AFTER);
            tokio::pin!(ends);
            loop {
                tokio::select! {
                    changes = watched.changed() => {
                        let Some(changes) = changes else { return };
                        for key in &changes.removed {
                            names.remove(&leases.name(key));
                        }
                        let added = changes.added.into_iter().map(|key| (leases.name(&key), key));
                        let added: Vec<_> = added.filter(|(name, _)| !names.contains_key(name)).collect();
                        // The stream of one object does not tell of others.
                        if is_one && !added.is_empty() {
                            break;
                        }
                        for (name, key) in added {
                            names.insert(name, key.clone());
                            yield Change { key, value: None };
                        }
                    }
                    event = events.next() => {
                        let Some(Ok(event)) = event else { break };
                        if let Some(change) = change(&names, event) {
                            yield change;
                        }
                    }
                    () = &mut ends => break,
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn open(
    leases: &Leases,
    names: &BTreeMap<String, Key>,
) -> Result<BoxStream<'static, Result<WatchEvent<Lease>, StoreError>>, StoreError> {
    let path = leases.0.config.path();
    // One name only: a role may be limited to it.
    let selector = match names.keys().next().filter(|_| names.len() == 1) {
        Some(name) => format!("fieldSelector=metadata.name%3D{name}"),
        None => format!("labelSelector={}%3D{}", LABEL.0.replace('/', "%2F"), LABEL.1),
    };
    let path = format!("{path}?watch=1&timeoutSeconds={}&{selector}", LASTS.as_secs());
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| {
        StoreError::showing(crate::store::StoreErrorKind::UnexpectedReply, error)
    })?;
    let client = leases.0.streams().await?;
    let events =
        client.request_events::<Lease>(request).await.map_err(|error| error::of(&error))?;
    Ok(events.map(|event| event.map_err(|error| error::of(&error))).boxed())
}

/// What an event says. That of an object which can't be read is left to the request that follows.
fn change(names: &BTreeMap<String, Key>, event: WatchEvent<Lease>) -> Option<Change> {
    let (lease, is_gone) = match event {
        WatchEvent::Added(lease) | WatchEvent::Modified(lease) => (lease, false),
        WatchEvent::Deleted(lease) => (lease, true),
        WatchEvent::Bookmark(_) | WatchEvent::Error(_) => return None,
    };
    let key = names.get(&lease.metadata.name)?.clone();
    let value = Found::read(&key, lease).ok().map(|(_, value)| value).filter(|_| !is_gone);
    Some(Change { key, value })
}
