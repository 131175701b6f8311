//! A server of a story's own, and the store by which its candidates reach it.

use std::time::Duration;

use tenure::store::{AnyStore, HistoryKind, Store, StoreTraits};
use tenure::{Candidate, Config};
use tenure_servers::Proxy;

use crate::stores::support::start;

/// The operations of a story on a server.
pub(super) trait Server: Send + Sync {
    fn port(&self) -> u16;

    /// Stops the processes where they are: connections stay open, and requests queue.
    fn pause(&self);

    /// Lets a paused server continue.
    fn resume(&self);

    /// Kills the processes.
    fn kill(&mut self);

    /// Kills the server if it runs, and starts it again with its data.
    fn restart(&mut self);

    /// Kills the server if it runs, and starts it again without any data.
    fn restart_empty(&mut self);

    /// The remaining subscriptions of clients: channels, watches, or connections for that alone.
    fn subscriptions(&self) -> usize;

    /// Damages the record of the election "damaged" by hand: the server can still return it, and no
    /// candidate wrote it.
    fn damage(&mut self);
}

/// A store's treatment of a server without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyStore {
    Trusted,
    Quarantined,
}

/// Connects a store to a port of this machine.
type Connect = Box<dyn Fn(u16, EmptyStore) -> AnyStore + Send + Sync>;

pub(super) struct TestServer {
    server: Box<dyn Server>,
    connect: Connect,
    /// The number of connections that all elections of one store share.
    pub(super) connections: u64,
    /// Leases for stories that wait for their end.
    pub(super) quick: Config,
    /// Longer ones, that outlast a few requests on a busy machine.
    pub(super) steady: Config,
    /// Leases that outlast a restart of the server.
    pub(super) outlasting: Config,
}

impl TestServer {
    pub(super) fn new(
        server: impl Server + 'static,
        connect: impl Fn(u16, EmptyStore) -> AnyStore + Send + Sync + 'static,
        connections: u64,
    ) -> Self {
        // All of them are kept through a pause of the machine.
        let quick =
            Config::builder(Duration::from_secs(6)).renew_interval(Duration::from_millis(500));
        let steady = Config::builder(Duration::from_secs(10))
            .renew_interval(Duration::from_secs(1))
            .request_timeout(Duration::from_secs(1));
        let outlasting =
            Config::builder(Duration::from_secs(15)).renew_interval(Duration::from_secs(1));
        Self {
            server: Box::new(server),
            connect: Box::new(connect),
            connections,
            quick: quick.build().unwrap(),
            steady: steady.build().unwrap(),
            outlasting: outlasting.build().unwrap(),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
    }

    pub(super) fn process(&mut self) -> &mut dyn Server {
        &mut *self.server
    }

    /// A network to the server, which can be made to fail.
    pub(super) async fn proxy(&self) -> Proxy {
        proxy(self.port()).await
    }

    /// A store at that port, the server's or a proxy's, which trusts an empty server.
    pub(super) fn store_at(&self, port: u16) -> AnyStore {
        (self.connect)(port, EmptyStore::Trusted)
    }

    /// The same at the server itself.
    pub(super) fn store(&self) -> AnyStore {
        self.store_at(self.port())
    }

    /// A store whose first leader at an empty server watches it first.
    pub(super) fn quarantining_store(&self) -> AnyStore {
        (self.connect)(self.port(), EmptyStore::Quarantined)
    }

    pub(super) fn traits(&self) -> StoreTraits {
        self.store().traits()
    }

    /// True if the next leader after a restart watches the past for a quarantine though no data was
    /// lost.
    pub(super) fn restarts_quarantine(&self) -> bool {
        self.traits().history != HistoryKind::Durable
    }

    /// A candidate that reaches the server by that port.
    pub(super) fn candidate_at(&self, port: u16, name: &str, config: Config) -> Candidate {
        start(self.store_at(port), name, config).0
    }

    pub(super) fn candidate(&self, name: &str, config: Config) -> Candidate {
        self.candidate_at(self.port(), name, config)
    }
}

pub(super) async fn proxy(port: u16) -> Proxy {
    Proxy::start(([127, 0, 0, 1], port).into()).await.unwrap()
}
