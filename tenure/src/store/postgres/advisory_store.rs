//! The store behind advisory locks.

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::advisory::{AdvisoryConfig, Gate, Takeover};
use super::link::Link;
use super::messages;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::{
    Key, Message, Promise, Reply, Request, Store, StoreError, StoreTraits, Watched, subscriptions,
};

/// Leases in a table of a PostgreSQL server, each behind an advisory lock: a session of its own for the
/// requests and locks of all elections, and a connection for wake-ups. A clone is the same.
///
/// Candidates of a [`Postgres`](super::Postgres) with the same table take part in the same elections: the row
/// decides among all of them. So once no program uses the lock alone any more, candidates may be moved to that
/// store one after the other.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::Candidate;
/// use tenure::store::postgres::{AdvisoryConfig, PostgresAdvisory, PostgresConfig};
///
/// let postgres = PostgresConfig::from_url("postgres://app:secret@db.example.org/app")?;
/// // The lock that the old program uses.
/// let config = AdvisoryConfig::new(postgres).lock("nightly-report", 4711)?;
/// let candidate = Candidate::builder(PostgresAdvisory::new(config), "nightly-report").start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresAdvisory(Arc<Link>, Takeover);

impl PostgresAdvisory {
    /// A store at that server. Does not connect yet.
    pub fn new(config: AdvisoryConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: AdvisoryConfig, runtime: Arc<dyn Runtime>) -> Self {
        let (postgres, takeover) = (config.postgres.clone(), config.takeover);
        Self(Arc::new(Link::new(postgres, Some(Gate::new(config)), runtime)), takeover)
    }
}

impl Store for PostgresAdvisory {
    fn traits(&self) -> StoreTraits {
        let mut traits = StoreTraits { messages: true, ..StoreTraits::new("postgres-advisory") };
        traits.gives_up = match self.1 {
            Takeover::Quarantined => &[],
            Takeover::Immediate => &[Promise::SingleLeader],
        };
        traits
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.requests.connect_error()
    }

    /// The user needs the right to delete from the table.
    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.0.purge(age).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        messages::messages(Arc::clone(&self.0), key, token)
    }
}
