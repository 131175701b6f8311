//! The store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::config::PostgresConfig;
use super::link::Link;
use super::messages;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::{
    Key, Message, Reply, Request, Store, StoreError, StoreTraits, Watched, subscriptions,
};

/// Leases in a table of a PostgreSQL server: one connection for the requests of all elections and
/// one for wake-ups, opened when first needed, dropped and opened anew after a timeout in which it
/// answered nothing or a protocol error. A clone is the same.
///
/// Requests on the connection are carried out one after the other, each with a commit of its own;
/// renewals of many elections share one, and looks are one query.
#[derive(Clone, Debug)]
pub struct Postgres(pub(super) Arc<Link>);

/// A server updates so many rows in half a millisecond, and commits them at once.
const RENEWALS_IN_CALL: usize = 32;
/// Looks only read: a server carries out more of them in that time.
const LOOKS_IN_CALL: usize = 64;

impl Postgres {
    /// A store at that server. Does not connect yet.
    pub fn new(config: PostgresConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: PostgresConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self(Arc::new(Link::new(config, runtime)))
    }
}

impl Store for Postgres {
    fn traits(&self) -> StoreTraits {
        StoreTraits {
            messages: true,
            renewals_in_call: RENEWALS_IN_CALL,
            looks_in_call: LOOKS_IN_CALL,
            ..StoreTraits::new("postgres")
        }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        self.0.call_all(&requests).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.requests.connect_error()
    }

    /// The user needs the right to delete from the table.
    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.0.purge(age).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.0.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        messages::messages(Arc::clone(&self.0), key, token)
    }
}
