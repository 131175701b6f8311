//! Elections of one connection, beside a row or a table that another session keeps locked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tenure::store::{Key, Request, Store, StoreErrorKind};
use tenure::{Candidate, Config, Elections, StepDownReason};

use super::support::{
    RENEWED, TTL, acquire, at, call, client, falls, granted, held, renew, renewed, server, soon,
};

type Falls = Arc<Mutex<Vec<StepDownReason>>>;

const ELECTIONS: usize = 20;

async fn leaders(port: u16, config: Config) -> Vec<(Candidate, Falls)> {
    let elections = Elections::new(at(port));
    let start = |number: usize| {
        let candidate = elections.candidate(format!("job-{number}"));
        let candidate = candidate.config(config).start().unwrap();
        let falls = falls(&candidate);
        (candidate, falls)
    };
    let leaders: Vec<_> = (0..ELECTIONS).map(start).collect();
    join_all(leaders.iter().map(|(one, _)| async { soon(one.elected()).await.unwrap() })).await;
    leaders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_costs_no_other_lead() {
    let server = server();
    // Many renewals fit into a lease, so that a slow machine costs no lead.
    let config = Config::builder(Duration::from_secs(10)).renew_interval(Duration::from_secs(1));
    let config = config.build().unwrap();
    let leaders = leaders(server.port(), config).await;
    let holds = client(server.port()).await;
    let locks = "BEGIN; SELECT FROM tenure.leases WHERE key = 'job-7' FOR UPDATE";
    holds.batch_execute(locks).await.unwrap();
    tokio::time::sleep(config.ttl() * 3 / 2).await;
    for (number, (one, fallen)) in leaders.iter().enumerate() {
        if number == 7 {
            assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Expired]);
        } else {
            assert_eq!(*fallen.lock().unwrap(), [], "{number}");
            assert!(one.is_leader(), "{number}");
        }
    }
    holds.batch_execute("ROLLBACK").await.unwrap();
    soon(leaders[7].0.elected()).await.unwrap();
}

/// The lock of `VACUUM FULL` and `ALTER TABLE`; no lease can be renewed meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_briefly_locked_table_costs_no_lead() {
    let server = server();
    let config = Config::builder(TTL).renew_interval(Duration::from_secs(3)).build().unwrap();
    let leaders = leaders(server.port(), config).await;
    let holds = client(server.port()).await;
    holds.batch_execute("BEGIN; LOCK TABLE tenure.leases").await.unwrap();
    // Each renewal becomes due meanwhile, and is late by less than the claims' rest.
    tokio::time::sleep(Duration::from_secs(5)).await;
    holds.batch_execute("ROLLBACK").await.unwrap();
    let events: Vec<_> = leaders.iter().map(|(one, _)| one.events()).collect();
    for (mut events, (one, fallen)) in events.into_iter().zip(&leaders) {
        renewed(&mut events).await;
        assert_eq!(*fallen.lock().unwrap(), []);
        assert!(one.is_leader());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_timeout_is_named() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    for lock in ["SELECT FROM tenure.leases FOR UPDATE", "LOCK TABLE tenure.leases"] {
        let holds = client(server.port()).await;
        holds.batch_execute(&format!("BEGIN; {lock}")).await.unwrap();
        let error = call(&store, renew(1, token)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Locked, "{error}");
        assert!(error.to_string().contains("lock_timeout of 50ms"), "{error}");
        holds.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    }
}

/// A web client that disconnects may drop a look at the leader at any time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_request_leaves_the_connection_open() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    let pid = "SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'tenure'";
    let before = server.sql(pid).unwrap();
    let key = Key::new("job").unwrap();
    for micros in 0..50 {
        let dropped = store.call(&key, Request::Observe);
        drop(tokio::time::timeout(Duration::from_micros(micros * 10), dropped).await);
    }
    held(&store, Request::Observe).await;
    assert_eq!(server.sql(pid).unwrap(), before);
}
