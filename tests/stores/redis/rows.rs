//! Servers for every row of the store contract, by both clients; and what only Redis has.

use std::sync::{Mutex, PoisonError};

use tenure::store::{AnyStore, Reply, Request};
use tenure_servers::RedisServer;
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};

use super::support::{
    Client, HISTORY, RECORD, TTL, acquire, call, field, granted, held, local, release, renew,
    server, unix_micros,
};

/// A server of a test's own, which keeps its data when it is started again.
pub(crate) struct OnAServer {
    client: Client,
    server: Mutex<RedisServer>,
}

impl OnAServer {
    pub(crate) fn by(client: Client) -> Self {
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

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        let of_all = "for _, record in ipairs(redis.call('KEYS', '{tenure}:leader:*')) do \
                      redis.call('HSET', record, 'lease_end', '1') end";
        let if_known = |field: &str, value: &str| {
            format!(
                "if redis.call('EXISTS', '{HISTORY}') == 1 then \
                 redis.call('HSET', '{HISTORY}', '{field}', '{value}') end"
            )
        };
        self.with(|server| match mishap {
            Mishap::LeasesEnd => server.command(&["EVAL", of_all, "0"]),
            Mishap::LongTime => server.command(&["EVAL", &if_known("known_since", "1"), "0"]),
            Mishap::OtherServer => server.command(&["EVAL", &if_known("identity", "another"), "0"]),
            Mishap::HistoryLost => server.command(&["DEL", HISTORY]),
            Mishap::AllLost => server.command(&["FLUSHALL"]),
        })
        .unwrap();
        Ok(())
    }
}

/// The same, which takes an empty server for whole.
pub(crate) struct Trusting(pub(crate) OnAServer);

impl Harness for Trusting {
    type Store = AnyStore;

    async fn connect(&self) -> AnyStore {
        self.0.client.at(self.0.with(|server| server.port()))
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        self.0.suffer(mishap).await
    }

    fn trusts_an_empty_store(&self) -> bool {
        true
    }
}

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
