//! The store.

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::call::micros;
use super::config::PostgresConfig;
use super::error::{failed, is_fatal};
use super::link::Link;
use super::messages;
use super::pending::Pending;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::slot::Patience;
use crate::store::{
    Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
    subscriptions,
};

/// Leases in a table of a PostgreSQL server: one connection for the requests of all elections and one for
/// wake-ups, opened when first needed, dropped and opened anew after any timeout or protocol error. A
/// clone is the same.
///
/// Requests on the connection are carried out one after the other, each with a commit of its own; renewals of many
/// elections share one.
#[derive(Clone, Debug)]
pub struct Postgres(Arc<Link>);

/// A server updates so many rows in half a millisecond, and commits them at once.
const RENEWALS_IN_CALL: usize = 32;

/// The most rows that one call of the function deletes.
const PURGED_AT_ONCE: u64 = 1000;

impl Postgres {
    /// A store at that server. Does not connect yet.
    pub fn new(config: PostgresConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: PostgresConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self(Arc::new(Link::new(config, None, runtime)))
    }

    /// Deletes the rows of elections whose last lease ended longer ago than `quarantine`, which must be at
    /// least the longest that any candidate uses; returns their number. For applications that use new keys all the
    /// time. The next grant of a deleted election has a token above the deleted one, as long as the server's wall
    /// clock does not step back.
    ///
    /// # Errors
    /// If the outcome is unknown. The user needs the right to delete from the table.
    pub async fn purge(&self, quarantine: Duration) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let some = self.purge_some(quarantine).await?;
            deleted += some;
            if some < PURGED_AT_ONCE {
                return Ok(deleted);
            }
        }
    }

    async fn purge_some(&self, quarantine: Duration) -> Result<u64, StoreError> {
        let live = self.0.live(Patience::Fails).await?;
        let sql = format!("SELECT {}($1)", self.0.config.table.object("_purge"));
        let pending = Pending::on(&live, &self.0.runtime);
        let deleted = live.session.client.query_one(&sql, &[&micros(quarantine)]).await;
        pending.answered(deleted.as_ref().is_err_and(is_fatal));
        let deleted = deleted.and_then(|row| row.try_get::<_, i64>(0));
        let deleted = deleted.map_err(|error| {
            let error = failed(&self.0.config, &error);
            match error.kind() {
                StoreErrorKind::Permission => {
                    let table = self.0.config.table.object("");
                    let detail = format!("to purge, the user needs: GRANT DELETE ON {table}");
                    StoreError::new(StoreErrorKind::Permission, detail).with_source(error)
                }
                _ => error,
            }
        })?;
        live.session.is_replicated()?;
        Ok(deleted.unsigned_abs())
    }
}

impl Store for Postgres {
    fn traits(&self) -> StoreTraits {
        let renewals_in_call = RENEWALS_IN_CALL;
        StoreTraits { messages: true, renewals_in_call, ..StoreTraits::new("postgres") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        self.0.call_all(&requests).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        messages::messages(Arc::clone(&self.0), key, token)
    }
}
