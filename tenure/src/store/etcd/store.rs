//! The store on etcd-client.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::config::EtcdConfig;
use super::error::leaves_connection_usable;
use super::link::{Link, Live};
use super::renew::renew;
use super::session::Session;
use super::state::unexpected;
use crate::logging;
use crate::store::slot::Patience;
use crate::store::{
    HistoryKind, Key, Reply, Request, Store, StoreError, StoreTraits, TokenKind, Watched,
    are_renewals, each_alone, subscriptions,
};

/// The number of keepalives in a read. A transaction may have 128 reads, by etcd's default.
const RENEWALS_IN_CALL: usize = 16;

/// Leases in an etcd cluster: one connection for all elections, to one member, opened when first
/// needed, dropped and opened anew, perhaps to another member, after a timeout without any answer,
/// and after an error that another member may not have. A clone is the same.
///
/// A TTL must be of whole seconds. The granularity is that of a cluster with changes of leader: 3 s
/// at etcd's defaults, which candidates can't rely on. Settings that were not set are derived from
/// the rest of the TTL.
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
        if let Some(endpoint) = config.overheard() {
            logging::warn!(
                %endpoint,
                "the password for etcd travels unencrypted to another host: encrypt with etcds:// or \
                 EtcdConfig::tls"
            );
        }
        Self(Arc::new(Link::new(config)))
    }
}

impl Etcd {
    /// For tests: of how many elections it remembers the etcd lease.
    #[doc(hidden)]
    pub fn leases_remembered(&self) -> usize {
        self.0.remembered_in_all()
    }

    /// After an error that another member may not have, another connection is opened.
    fn ended(&self, live: &Arc<Live>, reply: &Result<Reply, StoreError>) {
        if let Err(error) = reply {
            if !leaves_connection_usable(error.kind()) {
                live.dead.cancel();
            }
            self.0.current.failed(live, error);
        }
    }
}

impl Store for Etcd {
    fn traits(&self) -> StoreTraits {
        StoreTraits {
            granularity: self.0.config.granularity(),
            least_ttl: self.0.config.least_ttl(),
            round_trips: 3,
            tokens: TokenKind::Revision,
            history: HistoryKind::Durable,
            ends_leases: true,
            renewals_in_call: RENEWALS_IN_CALL,
            ..StoreTraits::new("etcd")
        }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if let Request::Notify { .. } = request {
            return Err(StoreError::no_messages("etcd"));
        }
        let live = self.0.live(Patience::of(&request)).await?;
        let session = Session::new(&self.0, &live, key);
        let pending = live.progress.expects();
        // Each on the heap: a future of the client's takes kilobytes, and a request has many of
        // them.
        let reply = match &request {
            Request::Acquire { asks, profile } => Box::pin(session.acquire(*asks, profile)).await,
            Request::Renew { .. } => {
                let renewal = [(key.clone(), request.clone())];
                let mut replies = Box::pin(renew(&self.0, &live, &renewal)).await;
                replies.pop().unwrap_or_else(|| Err(unexpected("a renewal without a reply")))
            }
            Request::Describe { holder, token, version, profile } => {
                Box::pin(session.describe((*holder, *token), *version, profile)).await
            }
            other => match other.to_contract() {
                Some(asked) => Box::pin(session.step(asked)).await,
                None => Box::pin(session.observe()).await,
            },
        };
        let reply = match reply {
            Ok(reply) if !reply.answers(&request) => Err(unexpected("an answer to something else")),
            reply => reply,
        };
        self.ended(&live, &reply);
        pending.over();
        reply
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        if requests.len() < 2 || !are_renewals(&requests) {
            return each_alone(self, requests).await;
        }
        let live = match self.0.live(Patience::of_all(&requests)).await {
            Ok(live) => live,
            Err(error) => return vec![Err(error); requests.len()],
        };
        let pending = live.progress.expects();
        let replies = Box::pin(renew(&self.0, &live, &requests)).await;
        for reply in &replies {
            self.ended(&live, reply);
        }
        pending.over();
        replies
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.current.connect_error()
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.0.purge(age).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.0.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }
}
