//! The store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::config::SqliteConfig;
use super::error::SqliteError;
use super::purge::{Listed, Page};
use super::waiting::Waits;
use super::worker::Worker;
use crate::store::{
    Key, Reply, Request, Store, StoreError, StoreTraits, Watched, are_renewals, each_alone,
};

/// So many renewals take half a millisecond besides their commit, which is one for all of them;
/// looks take less.
const IN_CALL: usize = 32;

/// Leases in a SQLite file, for the processes of one host. A clone is the same.
///
/// The file is opened with the first request, by a thread of the store's own, which ends when the
/// last clone is dropped.
#[derive(Clone, Debug)]
pub struct Sqlite(pub(super) Arc<Worker>);

impl Sqlite {
    /// A store in that file. Does not open it yet.
    pub fn new(config: SqliteConfig) -> Self {
        Self(Arc::new(Worker::new(config)))
    }
}

impl Store for Sqlite {
    fn traits(&self) -> StoreTraits {
        let (renewals_in_call, looks_in_call) = (IN_CALL, IN_CALL);
        StoreTraits { renewals_in_call, looks_in_call, ..StoreTraits::new("sqlite") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        match request {
            Request::Notify { .. } => Err(StoreError::no_messages("sqlite")),
            request => {
                let mut replies = self.0.call(vec![(key.clone(), request)]).await?;
                Ok(replies.pop().unwrap_or(Err(SqliteError::NoThread))?)
            }
        }
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let is_look = |request: &Request| matches!(request, Request::Look { .. });
        if !are_renewals(&requests) && !requests.iter().all(|(_, request)| is_look(request)) {
            return each_alone(self, requests).await;
        }
        let count = requests.len();
        match self.0.call(requests).await {
            Ok(replies) => replies.into_iter().map(|reply| Ok(reply?)).collect(),
            Err(error) => vec![Err(error.into()); count],
        }
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let (mut deleted, mut after) = (0, Some(String::new()));
        while let Some(place) = after {
            let Page { deleted: some, next } = self.0.purge(place, age).await?;
            (deleted, after) = (deleted + some, next);
        }
        Ok(deleted)
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let (mut all, mut after) = (BTreeSet::new(), Some(String::new()));
        while let Some(place) = after {
            let Listed { keys, next } = self.0.keys(place).await?;
            all.extend(keys);
            after = next;
        }
        Ok(all)
    }

    fn hints(&self, mut watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let worker = Arc::clone(&self.0);
        async_stream::stream! {
            let waits = Waits::new(Arc::clone(&worker.waiting));
            loop {
                tokio::select! {
                    biased;
                    changes = watched.changed() => {
                        let Some(changes) = changes else { return };
                        waits.update(changes);
                        worker.poll();
                    }
                    key = waits.next() => yield key,
                }
            }
        }
    }
}
