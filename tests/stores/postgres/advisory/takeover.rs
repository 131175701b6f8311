//! Leases whose session ends.

use std::time::Duration;

use tenure::store::postgres::{PostgresAdvisory, Takeover};
use tenure::store::{Promise, Reply, Store};
use tenure::{Config, StepDownReason};

use super::{LOCK, OldProgram, at, config, holders, terminate_holders};
use crate::postgres::support::{
    TTL, acquire, call, granted, held, proxy, release, renew, server, soon, start, steps_down,
};

fn immediate(port: u16) -> PostgresAdvisory {
    PostgresAdvisory::new(config(port).takeover(Takeover::Immediate))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_free_lock_does_not_end_its_lease() {
    let server = server();
    let (store, other) = (at(server.port()), at(server.port()));
    assert_eq!(store.traits().gives_up, []);
    let (first, _) = granted(&store, acquire(1, None)).await;
    terminate_holders(&server);
    held(&other, acquire(2, Some(first))).await;
    assert!(holders(&server).is_empty(), "a refused acquire takes no lock");
    server.sql("UPDATE tenure.leases SET lease_end = 1").unwrap();
    granted(&other, acquire(2, Some(first))).await;
    // Another holder of the lock in between makes no difference.
    let old = OldProgram::start(&server).await;
    terminate_holders(&server);
    old.waits_for(format!("({LOCK})")).await;
    assert!(old.call(&format!("pg_advisory_unlock({LOCK})")).await);
    held(&store, acquire(3, Some(first))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn immediate_takeovers_need_free_lock_and_last_token() {
    let server = server();
    let (one, two) = (immediate(server.port()), immediate(server.port()));
    assert_eq!(one.traits().gives_up, [Promise::SingleLeader]);
    let (first, _) = granted(&one, acquire(1, None)).await;
    for store in [&one, &two] {
        for seen in [None, Some(first)] {
            let incumbent = held(store, acquire(2, seen)).await;
            assert_eq!((incumbent.token, &*incumbent.name), (first, "worker-1"));
            assert!(incumbent.remaining <= TTL);
        }
    }
    terminate_holders(&server);
    let stale = Reply::Stale { last: first };
    assert_eq!(call(&two, acquire(2, None)).await.unwrap(), stale);
    assert!(holders(&server).is_empty());
    let (second, _) = granted(&two, acquire(2, Some(first))).await;
    assert!(second > first);
    let superseded = Reply::Superseded { last: Some(second) };
    let renewed = crate::postgres::support::answered(&one, renew(1, first)).await;
    assert_eq!(renewed, superseded);
    assert_eq!(call(&one, release(1, first)).await.unwrap(), Reply::NotHeld);
    assert_eq!(call(&two, renew(2, second)).await.unwrap(), Reply::Renewed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_immediate_takeover_gives_up_single_leadership() {
    let server = server();
    let proxy = proxy(&server).await;
    // Leases of a minute: a takeover within seconds has not waited for the end of one.
    let patient = Config::builder(Duration::from_secs(60)).renew_interval(Duration::from_secs(4));
    let patient = patient.build().unwrap();
    let (one, mut events) = start(immediate(proxy.port()), "one", patient);
    let first = soon(one.elected()).await.unwrap();
    // Its store connects again at once, and would take the lock back.
    proxy.refuse(true);
    terminate_holders(&server);
    let (two, _) = start(immediate(server.port()), "two", patient);
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    assert!(first.is_current(), "it does not know yet");
    proxy.refuse(false);
    assert_eq!(steps_down(&mut events).await, StepDownReason::Superseded);
    assert!(second.is_current());
}
