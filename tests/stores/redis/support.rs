//! Servers, stores by either client, and candidates at several servers.

use std::sync::Arc;
use std::time::Duration;

use tenure::store::AnyStore;
use tenure::store::redis::RedisConfig;
use tenure::{Candidate, Token};
use tenure_servers::{RedisServer, Reply as Raw};

pub(crate) use crate::stores::support::*;

/// The names at the server of the election that all tests use.
pub(crate) const RECORD: &str = "{tenure}:leader:job";
pub(crate) const PAST: &str = "{tenure}:past";

/// The client library that a test runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    RedisRs,
    Fred,
}

impl Client {
    pub(crate) fn store(self, config: RedisConfig) -> AnyStore {
        match self {
            Self::RedisRs => AnyStore::new(tenure::store::redis::Redis::new(config)),
            Self::Fred => AnyStore::new(tenure::store::redis::Fred::new(config)),
        }
    }

    /// A store at that port of this machine, which trusts an empty server.
    pub(crate) fn at(self, port: u16) -> AnyStore {
        self.store(local(port).trust_empty_store(true))
    }
}

/// Runs each test once over every client.
macro_rules! over_both_clients {
    ($($(#[$doc:meta])* async fn $name:ident($client:ident: Client) $body:block)*) => {
        $($(#[$doc])* async fn $name($client: Client) $body)*

        mod redis_rs {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::stores::redis::support::Client::RedisRs).await;
            })*
        }

        mod fred {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::stores::redis::support::Client::Fred).await;
            })*
        }
    };
}

pub(crate) fn local(port: u16) -> RedisConfig {
    RedisConfig::new("127.0.0.1", port)
}

pub(crate) fn server() -> RedisServer {
    RedisServer::start().expect("a redis-server")
}

/// One field of the election's record as the server has it.
pub(crate) fn field(server: &RedisServer, name: &str) -> String {
    match server.command(&["HGET", RECORD, name]).unwrap() {
        Raw::BulkString(text) => String::from_utf8(text).unwrap(),
        other => panic!("{name} is {other:?}"),
    }
}

/// The number of calls of that command.
pub(crate) fn calls(server: &RedisServer, command: &str) -> u64 {
    let Raw::BulkString(stats) = server.command(&["INFO", "commandstats"]).unwrap() else {
        panic!("INFO answers with a text");
    };
    let stats = String::from_utf8(stats).unwrap();
    let calls = stats.lines().find_map(|line| {
        line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls=")
    });
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

/// Waits until one of them leads; with its token.
pub(crate) async fn leader<'a>(candidates: &[&'a Candidate]) -> (&'a Candidate, Token) {
    let leads = |candidate: &&'a Candidate| Some((*candidate, candidate.tenure()?.token()));
    soon(async {
        loop {
            if let Some(leader) = candidates.iter().find_map(leads) {
                return leader;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

/// The tokens of all their tenures from now on, in the order in which they began.
pub(crate) fn tokens(candidates: &[&Candidate]) -> Arc<std::sync::Mutex<Vec<Token>>> {
    let tokens = Arc::<std::sync::Mutex<Vec<_>>>::default();
    for candidate in candidates {
        let begun = Arc::clone(&tokens);
        candidate.on_elected(move |tenure| {
            begun.lock().unwrap().push(tenure.token());
            async {}
        });
    }
    tokens
}
