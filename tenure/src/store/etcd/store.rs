//! The store on etcd-client.

use std::sync::Arc;

use futures_core::Stream;

use super::acquire::Asker;
use super::config::EtcdConfig;
use super::error::is_refusal;
use super::link::Link;
use super::session::{Session, whole_seconds};
use super::state::unexpected;
use super::wakeup;
use crate::store::slot::Answered;
use crate::store::{
    Hint, HistoryKind, Key, Reply, Request, Store, StoreError, StoreTraits, TokenKind,
};

/// Leases in an etcd cluster: one connection for all elections, to one member, opened when first
/// needed, dropped and opened anew, perhaps to another member, after any timeout or unknown outcome.
/// A clone is the same.
///
/// A TTL must be of whole seconds. The granularity is that of a cluster with changes of leader: 3 s at
/// etcd's defaults, on which nobody can count. Settings that were not chosen follow from the rest of the TTL.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::Candidate;
/// use tenure::store::etcd::{Etcd, EtcdConfig};
///
/// let store = Etcd::new(EtcdConfig::from_url("etcd://h1:2379,h2:2379,h3:2379/billing")?);
/// let candidate = Candidate::builder(store, "nightly-report").start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Etcd(Arc<Link>);

impl Etcd {
    /// A store in that cluster. Does not connect yet, and needs no runtime yet.
    pub fn new(config: EtcdConfig) -> Self {
        Self(Arc::new(Link::new(config)))
    }
}

impl Store for Etcd {
    fn traits(&self) -> StoreTraits {
        StoreTraits {
            granularity: self.0.config.granularity(),
            least_ttl: self.0.config.least_ttl(),
            tokens: TokenKind::Revision,
            history: HistoryKind::Durable,
            ..StoreTraits::new("etcd")
        }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let ttl = match &request {
            Request::Acquire { ttl, .. } | Request::Renew { ttl, .. } => whole_seconds(*ttl)?,
            Request::Release { .. } | Request::Observe => 0,
            Request::Notify { .. } => return Err(StoreError::no_messages("etcd")),
        };
        let live = self.0.live().await?;
        let session = Session::new(&self.0, &live, key);
        let pending = Answered::pending(&*live);
        let reply = match &request {
            Request::Acquire { holder, seen, quarantine, profile, .. } => {
                let (holder, seen, quarantine) = (*holder, *seen, *quarantine);
                session.acquire(&Asker { holder, seen, ttl, quarantine, profile }).await
            }
            Request::Renew { holder, token, .. } => session.renew(*holder, *token, ttl).await,
            Request::Release { holder, token } => session.release(*holder, *token).await,
            Request::Observe | Request::Notify { .. } => session.observe().await,
        };
        let reply = match reply {
            Ok(reply) if !reply.answers(&request) => Err(unexpected("an answer to something else")),
            reply => reply,
        };
        if reply.as_ref().map_or_else(|error| is_refusal(error.kind()), |_| true) {
            pending.yes();
        }
        reply
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        wakeup::hints(Arc::clone(&self.0), self.0.config.leader(key))
    }
}
