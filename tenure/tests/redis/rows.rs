//! Every row of the store contract (DESIGN.md, section 4) on real servers, by both clients; and what only
//! Redis has.

use std::sync::{Mutex, PoisonError};

use tenure::store::{AnyStore, Reply, Request};
use tenure_servers::RedisServer;
use tenure_sim::conformance::{Data, Harness, Unsupported};

use crate::support::{
    Client, RECORD, TTL, acquire, call, field, granted, held, local, release, renew, server,
    unix_micros,
};

/// A server of a test's own, which keeps its data when it is started again.
struct OnAServer {
    client: Client,
    server: Mutex<RedisServer>,
}

impl OnAServer {
    fn by(client: Client) -> Self {
        let keeps = ["--appendonly", "yes", "--appendfsync", "always"];
        Self { client, server: Mutex::new(RedisServer::start_with(&keeps).unwrap()) }
    }

    fn with<T>(&self, of: impl FnOnce(&mut RedisServer) -> T) -> T {
        of(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Harness for OnAServer {
    type Store = AnyStore;

    async fn connect(&self) -> AnyStore {
        self.client.store(local(self.with(|server| server.port())))
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        self.with(|server| {
            if data == Data::Lost {
                server.command(&["FLUSHALL"]).unwrap();
            }
            server.restart().unwrap();
        });
        Ok(())
    }
}

tenure_sim::conformance!(contract_by_redis_rs, OnAServer::by(Client::RedisRs));
#[cfg(feature = "fred")]
tenure_sim::conformance!(contract_by_fred, OnAServer::by(Client::Fred));

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
