//! Blocking work of the application, in the tasks that tokio has for it: as much as there is room
//! for.

use std::sync::mpsc;

use tenure::store::AnyStore;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Redis, RedisConfig};
use tokio::runtime::Builder;

use crate::stores::support::{soon, vacant};
use crate::stores::{etcd, postgres, redis};

/// A store with a host name answers beside it.
fn answers(store: impl FnOnce() -> AnyStore) {
    let runtime = Builder::new_multi_thread().max_blocking_threads(1).enable_all().build().unwrap();
    let (ends, end) = mpsc::channel::<()>();
    runtime.block_on(async {
        let (begins, began) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            begins.send(()).unwrap();
            // Until the other end is dropped.
            let _ = end.recv();
        });
        soon(began).await.unwrap();
        vacant(&store()).await;
        drop(ends);
    });
}

// Not fred, which hands even an address to such a task.

#[test]
fn redis_connects_beside_it() {
    let server = redis::support::server();
    answers(|| AnyStore::new(Redis::new(RedisConfig::new("localhost", server.port()))));
}

#[test]
fn postgres_connects_beside_it() {
    let server = postgres::support::server();
    let config = PostgresConfig::new("localhost", server.port(), "postgres");
    answers(|| AnyStore::new(Postgres::new(config)));
}

#[test]
fn etcd_connects_beside_it() {
    let server = etcd::support::server();
    answers(|| AnyStore::new(Etcd::new(EtcdConfig::new("localhost", server.port()))));
}
