//! The API server as a backend that compares and swaps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::FutureExt;
use http::Request;
use http::request::Builder;
use serde::Deserialize;
use serde_json::Value;

use super::config::KubernetesConfig;
use super::error;
use super::lease::{Found, KEY, Lease};
use super::link::{Answer, Link};
use super::patch;
use crate::store::cas::{Cas, Change, Election, Swapped, Versioned};
use crate::store::key::fnv;
use crate::store::steps::{Step, in_steps};
use crate::store::{HistoryKind, Key, StoreError, StoreErrorKind, StoreTraits, Watched};

/// How many objects one step of a listing reads.
const LISTED: u16 = 256;

/// The objects of one namespace.
#[derive(Clone, Debug)]
pub(super) struct Leases(pub(super) Arc<Link>);

impl Leases {
    pub(super) fn new(config: KubernetesConfig) -> Self {
        Self(Arc::new(Link::new(config)))
    }

    /// Sends a request about an object.
    async fn ask(&self, to: Builder, body: Option<&Value>) -> Result<Answer, StoreError> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = to.body(body).map_err(|error| unexpected(&error))?;
        self.0.send(request).await
    }

    /// The elections of the next few objects.
    async fn some_keys(&self, from: &str) -> Result<Step<String, BTreeSet<Key>>, StoreError> {
        let config = &self.0.config;
        let path =
            format!("{}?{}&limit={LISTED}&continue={from}", config.path(), patch::selector());
        let text = match self.ask(Request::get(path), None).await? {
            Answer::Done(text) => text,
            Answer::Refused(status) => return Err(error::answered(&status)),
        };
        let list: List = serde_json::from_str(&text).map_err(|error| unexpected(&error))?;
        // Of another prefix: its key has another name there.
        let key = |lease: Lease| {
            let key = Key::new(lease.metadata.annotations.get(KEY)?).ok()?;
            (config.name(&key) == lease.metadata.name).then_some(key)
        };
        let next = list.metadata.next.filter(|next| !next.is_empty());
        Ok(Step { made: list.items.into_iter().filter_map(key).collect(), next })
    }
}

impl Cas for Leases {
    type Version = Box<Found>;

    fn traits(&self) -> StoreTraits {
        StoreTraits {
            granularity: Duration::from_millis(1),
            least_ttl: Duration::from_secs(1),
            history: HistoryKind::Durable,
            ..StoreTraits::new("kubernetes")
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Box<Found>>>, StoreError> {
        let path = format!("{}/{}", self.0.config.path(), self.0.config.name(key));
        match self.ask(Request::get(path), None).await? {
            Answer::Done(text) => found(key, &text).map(Some),
            Answer::Refused(status) if status.code == 404 && is_of_a_lease(&status) => Ok(None),
            Answer::Refused(status) => Err(error::answered(&status)),
        }
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&Box<Found>>,
        value: Bytes,
    ) -> Result<Swapped<Box<Found>>, StoreError> {
        let (name, path) = (self.0.config.name(key), self.0.config.path());
        let answer = match version {
            None => {
                let object = patch::created(&name, key, &String::from_utf8_lossy(&value));
                let to = Request::post(path).header("content-type", "application/json");
                self.ask(to, Some(&object)).await?
            }
            Some(found) => {
                let election = Election::read(key, &value)?;
                refuse_wishes(found, &election)?;
                let changes = patch::changed(found, key, &election);
                let to = Request::patch(format!("{path}/{name}"))
                    .header("content-type", "application/json-patch+json");
                self.ask(to, Some(&changes)).await?
            }
        };
        match answer {
            Answer::Done(text) => Ok(Swapped::Done(found(key, &text)?.version)),
            // There is one already; a test has failed, or the object is gone.
            Answer::Refused(status) if status.code == 409 => Ok(Swapped::Conflict),
            Answer::Refused(status) if version.is_some() && matches!(status.code, 404 | 422) => {
                Ok(Swapped::Conflict)
            }
            Answer::Refused(status) => Err(error::answered(&status)),
        }
    }

    /// Each object that is created has another one.
    fn identity(found: &Box<Found>) -> u128 {
        fnv(found.lease.metadata.uid.as_bytes())
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let leases = self.clone();
        let step = move |from: String| {
            let leases = leases.clone();
            async move { leases.some_keys(&from).await }.boxed()
        };
        in_steps(&self.0.runtime, step).await
    }

    fn watch(&self, watched: Watched) -> impl Stream<Item = Change<Box<Found>>> + Send + 'static {
        self.0.changes(watched)
    }
}

#[derive(Deserialize)]
struct List {
    metadata: ListMetadata,
    items: Vec<Lease>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// A candidate of another kind reads no wishes.
fn refuse_wishes(found: &Found, election: &Election) -> Result<(), StoreError> {
    let (Some(other), Some(tenant)) = (&found.other, &election.tenant) else { return Ok(()) };
    if tenant.record.token != other.record.token || tenant == other {
        return Ok(());
    }
    let detail = format!(
        "{:?} holds the lease, a candidate of another kind, which reads no wishes: stop it to have another one lead",
        found.lease.text("holderIdentity")
    );
    Err(StoreError::showing(StoreErrorKind::Unsupported, detail))
}

pub(super) fn found(key: &Key, text: &str) -> Result<Versioned<Box<Found>>, StoreError> {
    read(key, serde_json::from_str(text).map_err(|error| unexpected(&error))?)
}

pub(super) fn read(key: &Key, lease: Lease) -> Result<Versioned<Box<Found>>, StoreError> {
    let (found, value) = Found::read(key, lease)?;
    Ok(Versioned { value, version: Box::new(found) })
}

/// Whether the object is missing, and not the whole interface or the namespace.
fn is_of_a_lease(status: &kube_client::error::Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == "leases")
}

fn unexpected(error: &dyn std::fmt::Display) -> StoreError {
    StoreError::showing(StoreErrorKind::UnexpectedReply, error)
}
