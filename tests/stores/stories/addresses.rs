//! A host with several addresses: nothing answers at the first, and a replica does at the second.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use tenure::runtime::{Connection, Runtime, TokioRuntime};
use tenure::store::postgres::Postgres;
use tenure::store::redis::Redis;
use tenure::store::{AnyStore, Store};
use tenure::{Config, Instant};

use crate::stores::support::{soon, start};
use crate::stores::{postgres, redis};

/// Tokio, and a name server that names such ports of this machine; nothing answers at 0.
#[derive(Debug)]
struct Names(Vec<u16>);

impl Runtime for Names {
    fn now(&self) -> Instant {
        TokioRuntime.now()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        TokioRuntime.sleep_until(deadline)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        TokioRuntime.spawn(task);
    }

    fn addresses(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<String>>> {
        let all = self.0.iter().map(ToString::to_string).collect();
        async { Ok(all) }.boxed()
    }

    fn connect(&self, host: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        match host.parse().unwrap() {
            0 => pending().boxed(),
            port => TokioRuntime.connect("127.0.0.1", port),
        }
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }
}

async fn leads(store: impl Store) {
    let config = Config::builder(Duration::from_secs(10)).build().unwrap();
    let (candidate, _) = start(AnyStore::new(store), "far away", config);
    soon(candidate.elected()).await.unwrap();
    soon(candidate.stop()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_finds_the_primary() {
    let (primary, replica) = (redis::support::server(), redis::support::server());
    let port = primary.port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).unwrap();
    let names = Arc::new(Names(vec![0, replica.port(), primary.port()]));
    let config = redis::support::local(primary.port()).trust_empty_store(true);
    leads(Redis::with_runtime(config, names)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_finds_the_primary() {
    let primary = postgres::support::server();
    let replica = primary.replica(&[]).unwrap();
    let names = Arc::new(Names(vec![0, replica.port(), primary.port()]));
    let config = postgres::support::local(primary.port()).trust_empty_store(true);
    leads(Postgres::with_runtime(config, names)).await;
}
