//! The store.

use std::sync::Arc;

use futures_core::Stream;

use super::config::SqliteConfig;
use super::worker::Worker;
use crate::store::{Hint, Key, Reply, Request, Store, StoreError, StoreTraits};

/// Leases in a SQLite file, for the processes of one host. A clone is the same.
///
/// The file is opened with the first request, by a thread of the store's own, which ends when the last
/// clone is dropped. Errors have a [`SqliteError`](super::SqliteError) as their source.
#[derive(Clone, Debug)]
pub struct Sqlite(Arc<Worker>);

impl Sqlite {
    /// A store in that file. Does not open it yet.
    pub fn new(config: SqliteConfig) -> Self {
        Self(Arc::new(Worker::new(config)))
    }
}

impl Store for Sqlite {
    fn traits(&self) -> StoreTraits {
        StoreTraits::new("sqlite")
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        match request {
            Request::Notify { .. } => Err(StoreError::no_messages("sqlite")),
            request => Ok(self.0.call(key, request).await?),
        }
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        let (worker, key) = (Arc::clone(&self.0), key.clone());
        async_stream::stream! {
            let mut woken = worker.waiting.wait_for(&key);
            worker.poll();
            // The first hint is sent at once.
            yield Hint;
            while woken.changed().await.is_ok() {
                yield Hint;
            }
        }
    }
}
