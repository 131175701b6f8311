//! Every row of the store contract (DESIGN.md, section 4) on real servers, by both clients; and what only
//! Redis has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure::store::{AnyStore, Reply, Request};
use tenure_servers::RedisServer;
use tenure_sim::conformance::{Data, Harness, Unsupported};

use crate::support::{
    Client, RECORD, TTL, acquire, call, field, granted, held, local, release, renew, server,
    unix_micros,
};

/// Servers of a test's own, of whatever form: one type for all, since each costs the suite over again in
/// the compiler.
pub(crate) struct Place {
    connect: Box<dyn Fn() -> AnyStore + Send + Sync>,
    replace: Option<Box<dyn Fn(Data) + Send + Sync>>,
}

impl Place {
    /// Servers that are there to stay.
    pub(crate) fn of<S: Send + 'static>(
        servers: S,
        connect: impl Fn(&S) -> AnyStore + Send + Sync + 'static,
    ) -> Self {
        let servers = Mutex::new(servers);
        Self { connect: Box::new(move || connect(&whole(&servers))), replace: None }
    }

    /// Servers that can be replaced.
    pub(crate) fn replaceable<S: Send + 'static>(
        servers: S,
        connect: impl Fn(&S) -> AnyStore + Send + Sync + 'static,
        replace: impl Fn(&mut S, Data) + Send + Sync + 'static,
    ) -> Self {
        let servers = Arc::new(Mutex::new(servers));
        let same = Arc::clone(&servers);
        Self {
            connect: Box::new(move || connect(&whole(&servers))),
            replace: Some(Box::new(move |data| replace(&mut whole(&same), data))),
        }
    }

    /// One server, which keeps its data when it is started again.
    fn server(client: Client) -> Self {
        let server = RedisServer::start_with(&KEEPS).unwrap();
        Self::replaceable(server, move |server| client.store(local(server.port())), replace)
    }
}

pub(crate) const KEEPS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

pub(crate) fn replace(server: &mut RedisServer, data: Data) {
    if data == Data::Lost {
        server.command(&["FLUSHALL"]).unwrap();
    }
    server.restart().unwrap();
}

fn whole<S>(servers: &Mutex<S>) -> MutexGuard<'_, S> {
    servers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Harness for Place {
    type Store = AnyStore;

    async fn connect(&self) -> AnyStore {
        (self.connect)()
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        self.replace.as_ref().map(|replace| replace(data)).ok_or(Unsupported)
    }
}

tenure_sim::conformance!(contract_by_redis_rs, Place::server(Client::RedisRs));
#[cfg(feature = "fred")]
tenure_sim::conformance!(contract_by_fred, Place::server(Client::Fred));

over_both_clients! {
    async fn the_record_says_who_leads(client: Client) {
        let (server, before) = (server(), unix_micros());
        let (token, _) = granted(&client.at(server.port()), acquire(1, None)).await;
        assert!((before..=unix_micros()).contains(&token.get()), "{token}");
        assert_eq!(field(&server, "name"), "worker-1");
        assert_eq!(field(&server, "ttl"), TTL.as_micros().to_string());
    }

    async fn no_more_than_the_ttl_remains_though_the_clock_has_stepped_back(client: Client) {
        let server = server();
        let store = client.at(server.port());
        granted(&store, acquire(1, None)).await;
        // As it seems to the server.
        server.command(&["HSET", RECORD, "lease_end", "9000000000000000"]).unwrap();
        assert_eq!(held(&store, acquire(2, None)).await.remaining, TTL);
        assert_eq!(held(&store, Request::Observe).await.remaining, TTL);
    }

    async fn scripts_that_the_server_forgets_are_sent_again(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    }
}
