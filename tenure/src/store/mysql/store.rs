//! The store.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_core::Stream;

use super::config::MysqlConfig;
use super::register::Register;
use crate::store::cas::CasStore;
use crate::store::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};

/// Leases in tables of a MariaDB or MySQL server. A clone is the same.
///
/// One connection for all elections, opened with the first request, and anew after an error or a
/// timeout without any answer. What waits for its turn there shares a message. The client
/// `mysql_async` owns its socket, so this store runs in tokio and against real servers only. The
/// server wakes no candidates: while some wait, the store asks for their rows four times a second at
/// most. Messages are not supported.
#[derive(Clone, Debug)]
pub struct Mysql(pub(super) CasStore<Register>);

impl Mysql {
    /// A store at that server. Does not connect yet, and needs no runtime yet.
    pub fn new(config: MysqlConfig) -> Self {
        config.warns();
        let trusts = config.trust_empty_store;
        Self(CasStore::new(Register::new(config)).trust_empty_store(trusts))
    }
}

impl Store for Mysql {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.backend().link.current.connect_error()
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.0.backend().purge(age).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.0.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.0.hints(watched)
    }
}
