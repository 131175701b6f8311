//! Roles that may look and not take part, as SECURITY.md has them.

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{Credentials, Request, Secret, Store, Watched};
use tenure_servers::Reply as Raw;

use crate::stores::support::{RENEWED, acquire, call, granted, held, release, renew, soon};

/// Sees the leader, and can change nothing about it.
async fn only_looks(watcher: &impl Store, candidate: &impl Store) {
    let token = granted(candidate, acquire(1, None)).await;
    assert_eq!(held(watcher, Request::Observe).await.token, token);
    // Requests under the leader's own identity, which a look shows.
    for request in [renew(1, token), release(1, token), acquire(1, None)] {
        call(watcher, request).await.unwrap_err();
    }
    assert_eq!(call(candidate, renew(1, token)).await.unwrap(), RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_watcher_only_looks() {
    let server = crate::stores::redis::support::server();
    let user = "watcher on >correct-horse ~{tenure}:* &{tenure}:* +evalsha +script|load +hmget +hstrlen \
                +time +subscribe +unsubscribe";
    let rights: Vec<&str> = user.split_whitespace().collect();
    let answer = server.command(&[&["ACL", "SETUSER"], &rights[..]].concat()).unwrap();
    assert!(matches!(answer, Raw::SimpleString(_)), "{answer:?}");
    let config = || RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
    let watcher =
        Redis::new(config().credentials(Credentials::new("watcher", Secret::new("correct-horse"))));
    only_looks(&watcher, &Redis::new(config())).await;
    let mut hints = Box::pin(watcher.hints(Watched::only([crate::stores::support::job()])));
    soon(futures_util::StreamExt::next(&mut hints)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_watcher_only_looks() {
    let server = crate::stores::postgres::support::server();
    let candidate = crate::stores::postgres::support::at(server.port());
    call(&candidate, Request::Observe).await.unwrap();
    server.sql("CREATE ROLE watcher LOGIN; GRANT USAGE ON SCHEMA tenure TO watcher").unwrap();
    let tables = "GRANT SELECT ON tenure.leases, tenure.leases_past TO watcher";
    server.sql(tables).unwrap();
    let config = PostgresConfig::new("127.0.0.1", server.port(), "watcher").database("postgres");
    let config = config.create_table(false).connect_timeout(crate::stores::support::TTL);
    only_looks(&Postgres::new(config), &candidate).await;
}
