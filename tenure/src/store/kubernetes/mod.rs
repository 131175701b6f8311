//! Leases in Kubernetes' API server: one object of the kind `Lease` (`coordination.k8s.io/v1`) for
//! each election.
//!
//! The API server has no clock that candidates could use, and needs none: it only compares. A
//! change is a JSON Patch that tests what was read, so a late one is refused, also after a restored
//! backup has continued with older versions.
//!
//! `kubectl get lease` shows who leads. Candidates of client-go's kind may share the object, and
//! each kind waits for the other: see `docs/stores/kubernetes.md`.

mod config;
mod error;
mod examine;
mod lease;
mod leases;
mod link;
mod login;
mod names;
mod overload;
mod patch;
mod settings;
mod wakeup;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_core::Stream;

use super::cas::CasStore;
use super::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};

pub use config::KubernetesConfig;
use leases::Leases;

/// Leases in a Kubernetes cluster. A clone is the same.
///
/// One connection for all elections, over HTTP/2, opened with the first request, and anew after an
/// error or a timeout without any answer; what says how to log in is read again then. Each election
/// is watched once before its first lease, for a quarantine. Messages and purges are not supported.
///
/// The program that uses it chooses the version of Kubernetes' interface, as `kube` demands: it
/// depends on `k8s-openapi` with one of its features, such as `latest`.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::Candidate;
/// use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
///
/// let store = Kubernetes::new(KubernetesConfig::new("billing")?);
/// let candidate = Candidate::builder(store, "nightly-report").start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Kubernetes(CasStore<Leases>);

impl Kubernetes {
    /// A store in that cluster. Does not connect yet, and needs no runtime yet.
    pub fn new(config: KubernetesConfig) -> Self {
        let trusts = config.trust_empty_store;
        let leases = Leases::new(config);
        Self(CasStore::new(leases).trust_empty_store(trusts))
    }
}

impl Store for Kubernetes {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.0.purge(age).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.backend().0.current.connect_error()
    }

    /// The user needs the right `list`.
    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.0.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.0.hints(watched)
    }
}
