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

/// The most objects in one step of a listing.
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
        // client-go's candidates, which may wait unseen, compare whole seconds: each renewal needs
        // one of its own, and three have to fit into a lease.
        let [least_ttl, least_renew_interval] =
            if self.0.config.unshared { [1_000, 0] } else { [3_000, 1_000] };
        StoreTraits {
            granularity: Duration::from_millis(1),
            least_ttl: Duration::from_millis(least_ttl),
            least_renew_interval: Duration::from_millis(least_renew_interval),
            history: HistoryKind::Durable,
            ..StoreTraits::new("kubernetes")
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Box<Found>>>, StoreError> {
        let path = format!("{}/{}", self.0.config.path(), self.0.config.name(key));
        match self.ask(Request::get(path), None).await? {
            Answer::Done(text) => read(key, parsed(&text)?).map(Some),
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
        let (write, to) = match version {
            None => {
                let write = patch::created(&name, key, &String::from_utf8_lossy(&value));
                (write, Request::post(path).header("content-type", "application/json"))
            }
            Some(found) => {
                let election = Election::read(key, &value)?;
                refuse_wishes(found, &election)?;
                if let Some(tenant) = &election.tenant {
                    self.0.overload.has_lease_of(tenant.record.ttl);
                }
                let write = patch::changed(found, key, &election, !self.0.config.unshared);
                let to = Request::patch(format!("{path}/{name}"))
                    .header("content-type", "application/json-patch+json");
                (write, to)
            }
        };
        match self.ask(to, Some(&write.body)).await? {
            Answer::Done(text) => {
                let lease = parsed(&text)?;
                write.is_in(&lease)?;
                Ok(Swapped::Done(read(key, lease)?.version))
            }
            Answer::Refused(status) if error::is_conflict(&status, version.is_some()) => {
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

fn parsed(text: &str) -> Result<Lease, StoreError> {
    serde_json::from_str(text).map_err(|error| unexpected(&error))
}

pub(super) fn read(key: &Key, lease: Lease) -> Result<Versioned<Box<Found>>, StoreError> {
    let (found, value) = Found::read(key, lease)?;
    Ok(Versioned { value, version: Box::new(found) })
}

/// True if the object is missing, and not the whole interface or the namespace.
fn is_of_a_lease(status: &kube_client::error::Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == "leases")
}

fn unexpected(error: &dyn std::fmt::Display) -> StoreError {
    StoreError::showing(StoreErrorKind::UnexpectedReply, error)
}

#[cfg(test)]
mod tests {
    use http::{Method, Response};
    use kube_client::Client;
    use kube_client::client::Body;
    use serde_json::{Map, json};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::store::kubernetes::lease::tests::tenant;
    use crate::store::kubernetes::lease::{ELECTION, WROTE};
    use crate::store::kubernetes::link::Live;
    use crate::store::slot::Patience;

    fn before() -> Value {
        let election = String::from_utf8(Election::default().write().to_vec()).unwrap();
        let annotations = json!({ KEY: "job", ELECTION: election });
        let metadata = json!({
            "name": "job", "uid": "1", "resourceVersion": "1", "annotations": annotations,
        });
        json!({ "metadata": metadata, "spec": {} })
    }

    fn annotations(lease: &mut Value) -> &mut Map<String, Value> {
        lease["metadata"]["annotations"].as_object_mut().unwrap()
    }

    /// The result for [`before`], or for a new object.
    fn written(sent: Value) -> Value {
        let operations = match sent {
            Value::Array(operations) => operations,
            mut lease => {
                lease["metadata"]["uid"] = json!("1");
                lease["metadata"]["resourceVersion"] = json!("1");
                return lease;
            }
        };
        let mut lease = before();
        for operation in operations.iter().filter(|operation| operation["op"] != "test") {
            let (parent, name) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
            let parent = lease.pointer_mut(parent).unwrap();
            parent[name.replace("~1", "/")] = operation["value"].clone();
        }
        lease
    }

    /// A server with a webhook.
    async fn leases(webhook: fn(&mut Value)) -> Leases {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let code: u16 = if request.method() == Method::POST { 201 } else { 200 };
            let sent = request.into_body().collect_bytes().await.unwrap();
            let mut lease = written(serde_json::from_slice(&sent).unwrap());
            webhook(&mut lease);
            Response::builder().status(code).body(Body::from(lease.to_string().into_bytes()))
        });
        let link = Link::new(KubernetesConfig::new("default").unwrap());
        let (client, dead) = (Client::new(service, "default"), CancellationToken::new());
        let live = Live::over(client, dead, link.runtime.now(), &link.runtime);
        let connect = || async move { Ok(live) }.boxed();
        link.current.get(Patience::Waits, connect).await.unwrap();
        Leases(Arc::new(link))
    }

    /// The outcomes of a creation and of an acquire.
    async fn outcomes(webhook: fn(&mut Value)) -> [Result<(), StoreError>; 2] {
        let (key, leases) = (Key::new("job").unwrap(), leases(webhook).await);
        let found = read(&key, serde_json::from_value(before()).unwrap()).unwrap().version;
        let acquire = Election { tenant: Some(tenant(false)), past: None }.write();
        let created = leases.swap(&key, None, Election::default().write()).await;
        let acquired = leases.swap(&key, Some(&found), acquire).await;
        [created, acquired].map(|swapped| {
            swapped.map(|swapped| assert!(matches!(swapped, Swapped::Done(_)), "{swapped:?}"))
        })
    }

    fn assert_names(outcome: &Result<(), StoreError>, what: &str) {
        let error = outcome.as_ref().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
        let error = error.to_string();
        assert!(error.contains(what) && error.contains("an admission webhook"), "{error}");
    }

    #[tokio::test]
    async fn what_was_not_stored_is_not_done() {
        let drops: fn(&mut Value) = |lease| drop(annotations(lease).remove(ELECTION));
        let changes: fn(&mut Value) = |lease| annotations(lease)[ELECTION] = json!("{}");
        for webhook in [drops, changes] {
            for outcome in outcomes(webhook).await {
                assert_names(&outcome, "the annotation tenure.dev/election");
            }
        }
        let of_an_acquire: [(fn(&mut Value), _); 3] = [
            (|lease| drop(annotations(lease).remove(WROTE)), "the annotation tenure.dev/wrote"),
            (
                |lease| lease["spec"]["renewTime"] = json!("2026-01-01T00:00:00.000000Z"),
                "spec.renewTime",
            ),
            (|lease| lease["spec"]["leaseDurationSeconds"] = json!(1), "spec.leaseDurationSeconds"),
        ];
        for (webhook, what) in of_an_acquire {
            let [created, acquired] = outcomes(webhook).await;
            assert_names(&acquired, what);
            created.unwrap();
        }
    }

    /// Such as another tool's annotation, or the lack of a label, which the next write adds.
    #[tokio::test]
    async fn what_elections_do_not_rest_on_may_change() {
        let webhook: fn(&mut Value) = |lease| {
            annotations(lease).insert("audited-by".to_owned(), json!("us"));
            lease["metadata"]["labels"] = json!({ "team": "us" });
        };
        for outcome in outcomes(webhook).await {
            outcome.unwrap();
        }
    }
}
