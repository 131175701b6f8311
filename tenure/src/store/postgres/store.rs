//! The store itself: requests to statements, and back.

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use tokio_postgres::Row;

use super::PostgresConfig;
use super::error::{failed, is_fatal};
use super::link::{Answered, Link, Live};
use super::{reply, wakeup};
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::{
    Hint, Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
};

/// Leases in a table of a PostgreSQL server: one connection for the requests of all elections and one for
/// wake-ups, opened when first needed, dropped and opened anew after any timeout or protocol error. A
/// clone is the same.
///
/// Requests on the connection are carried out one after the other, each with a commit of its own.
#[derive(Clone, Debug)]
pub struct Postgres(Arc<Link>);

impl Postgres {
    /// A store at that server. Does not connect yet.
    pub fn new(config: PostgresConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: PostgresConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self(Arc::new(Link::new(config, runtime)))
    }

    /// Deletes the rows of elections whose last lease ended longer ago than `quarantine`, which must be at
    /// least the longest that any candidate uses; tells how many they were. Worth it where keys are made
    /// up as time goes by. Whoever is granted such a lease again gets a token above the deleted one, as
    /// long as the server's wall clock does not step back.
    ///
    /// # Errors
    /// If the outcome is unknown. The user needs the right to delete from the table.
    pub async fn purge(&self, quarantine: Duration) -> Result<u64, StoreError> {
        let live = self.0.live().await?;
        let sql = format!("SELECT {}($1)", self.0.config.table.object("_purge"));
        let pending = Answered::pending(&live.session);
        let deleted = live.session.client.query_one(&sql, &[&micros(quarantine)]).await;
        if !deleted.as_ref().is_err_and(is_fatal) {
            pending.yes();
        }
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

    async fn ask(&self, live: &Live, key: &Key, request: &Request) -> Result<Vec<Row>, StoreError> {
        let token = match request {
            Request::Acquire { seen, .. } => seen.map_or(Ok(0), signed)?,
            Request::Renew { token, .. } | Request::Release { token, .. } => signed(*token)?,
            Request::Observe | Request::Notify { .. } => 0,
        };
        let client = &live.session.client;
        let key = key.as_str().as_bytes();
        let pending = Answered::pending(&live.session);
        let rows = match request {
            Request::Acquire { holder, ttl, quarantine, profile, .. } => {
                let holder = holder.to_bits().to_be_bytes();
                let (ttl, quarantine) = (micros(*ttl), micros(*quarantine));
                let (name, metadata) = (profile.name().as_bytes(), &profile.metadata()[..]);
                let trust = self.0.config.trust_empty_store;
                client
                    .query(
                        &live.acquire,
                        &[&key, &&holder[..], &token, &ttl, &quarantine, &name, &metadata, &trust],
                    )
                    .await
            }
            Request::Renew { holder, ttl, .. } => {
                let holder = holder.to_bits().to_be_bytes();
                let ttl = micros(*ttl);
                client.query(&live.renew, &[&key, &&holder[..], &token, &ttl]).await
            }
            Request::Release { holder, .. } => {
                let holder = holder.to_bits().to_be_bytes();
                client.query(&live.release, &[&key, &&holder[..], &token]).await
            }
            Request::Observe => client.query(&live.observe, &[&key]).await,
            Request::Notify { message } => {
                let message = wakeup::encoded(message);
                client.query(&live.notify, &[&key, &message]).await
            }
        };
        // An error with a code is the server's, in the reply's place, and not the connection's.
        if !rows.as_ref().is_err_and(is_fatal) {
            pending.yes();
        }
        live.session.is_replicated()?;
        rows.map_err(|error| failed(&self.0.config, &error))
    }
}

impl Store for Postgres {
    fn traits(&self) -> StoreTraits {
        StoreTraits { messages: true, ..StoreTraits::new("postgres") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let live = self.0.live().await?;
        let rows = self.ask(&live, key, &request).await?;
        let reply = reply::read(&request, &rows);
        if reply.is_err() {
            // Replies that do not fit their requests may be out of step with them.
            live.session.dead.cancel();
        }
        reply
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        wakeup::hints(Arc::clone(&self.0), key)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        wakeup::messages(Arc::clone(&self.0), key, token)
    }
}

/// Whole microseconds, rounded down: the store's granularity covers what is lost. Sums of a few of them
/// fit a bigint.
fn micros(duration: Duration) -> i64 {
    const MOST: i64 = i64::MAX / 8;
    i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST))
}

/// A token as a bigint.
///
/// # Errors
/// If it is greater than any that this store grants.
fn signed(token: Token) -> Result<i64, StoreError> {
    i64::try_from(token.get()).map_err(|_| {
        let detail = format!("the token {token} is above what a bigint holds");
        StoreError::new(StoreErrorKind::Refused, detail)
    })
}
