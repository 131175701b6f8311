//! Grants that count only once replicas have them.

use std::time::Duration;

use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{AnyStore, Key, Reply, Request, Store, StoreErrorKind};
use tenure::{Config, StepDownReason};
use tenure_servers::RedisServer;

use super::access::{RIGHTS, as_app, let_in};
use super::rows::slow;
use super::support::{
    Place, RENEWED, Watch, acquire, call, falls, granted, held, job, local, release, renew, server,
    soon, start,
};

/// A primary and a replica that follows it.
fn pair() -> (RedisServer, RedisServer) {
    let primary = server();
    let replica = primary.start_replica(&[]).unwrap();
    // The replica says that it follows before the primary counts it.
    primary.command(&["SET", "any", "thing"]).unwrap();
    let counted = primary.command(&["WAIT", "1", "10000"]).unwrap();
    assert_eq!(counted, tenure_servers::Reply::Integer(1));
    (primary, replica)
}

/// Waits for as long as a loaded machine may need.
fn needs(least: u16, primary: &RedisServer) -> RedisConfig {
    let config = local(primary.port()).trust_empty_store(true);
    config.replica_acks(least).replica_wait(Duration::from_secs(10))
}

/// Waits for a moment, for an answer that does not come.
const MOMENT: Duration = Duration::from_millis(300);

fn store(config: RedisConfig) -> AnyStore {
    AnyStore::new(Redis::new(config))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_replica_has_acknowledged_is_granted() {
    let (primary, replica) = pair();
    let store = store(needs(1, &primary));
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    // The replica has it by now.
    let there = replica.command(&["HGET", super::support::RECORD, "token"]).unwrap();
    assert_eq!(there, tenure_servers::Reply::BulkString(token.to_string().into_bytes()));
    held(&store, acquire(2, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_takes_one_more_right_to_wait() {
    let (primary, _replica) = pair();
    let store = store(as_app(needs(1, &primary)));
    let_in(&primary, &RIGHTS);
    let error = call(&store, acquire(1, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
    let_in(&primary, &[&RIGHTS[..], &["+wait"]].concat());
    granted(&store, acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_acknowledged_is_unknown() {
    let (primary, replica) = pair();
    let store = store(needs(1, &primary));
    let token = granted(&store, acquire(1, None)).await;
    replica.pause().unwrap();
    let hasty = self::store(needs(1, &primary).replica_wait(MOMENT));
    for request in [acquire(1, None), renew(1, token)] {
        let error = call(&hasty, request).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotDurable);
        let shown = error.to_string();
        assert!(shown.ends_with("0 of 1 replicas have acknowledged it within 300ms"), "{shown}");
    }
    // Refusals and looks promise nothing.
    held(&hasty, acquire(2, None)).await;
    held(&hasty, Request::Observe).await;
    // Also beside a grant of the same call.
    let other = Key::new("other").unwrap();
    let together = vec![(job(), acquire(2, None)), (other, acquire(2, None))];
    match &hasty.call_all(together).await[..] {
        [Ok(Reply::Not(_)), Err(error)] => assert_eq!(error.kind(), StoreErrorKind::NotDurable),
        other => panic!("{other:?}"),
    }
    replica.resume().unwrap();
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_replicas_than_there_are_grant_nothing() {
    let (primary, _replica) = pair();
    let mut told = Vec::new();
    // A pause of the machine may outlast the wait for the one.
    while told.len() < 5 && told.last().is_none_or(|told: &String| !told.contains("1 of 2")) {
        let patient = needs(2, &primary).replica_wait(Duration::from_secs(2));
        let error = call(&store(patient), acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotDurable, "{error}");
        told.push(error.to_string());
    }
    assert!(told.last().unwrap().contains("1 of 2 replicas"), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_may_get_lost_leads_nobody() {
    let (primary, replica) = pair();
    replica.pause().unwrap();
    let quick = Config::builder(Duration::from_secs(10)).renew_interval(Duration::from_secs(1));
    let quick = quick.build().unwrap();
    let hasty = || store(needs(1, &primary).replica_wait(MOMENT));
    let candidate = |name| start(hasty(), name, quick).0;
    let (one, two) = (candidate("one"), candidate("two"));
    let watch = Watch::over(&[&one, &two]);
    // For longer than a lease, and than a primary waits before it gives a replica up.
    let began = std::time::Instant::now();
    while began.elapsed() < quick.ttl() + Duration::from_secs(1) {
        assert!(!one.is_leader() && !two.is_leader());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    replica.resume().unwrap();
    let (first, leader) = soon(async {
        tokio::select! {
            tenure = one.elected() => (tenure.unwrap(), &one),
            tenure = two.elected() => (tenure.unwrap(), &two),
        }
    })
    .await;
    let fallen = falls(leader);
    // A leader whose renewals are not replicated does not lead for long.
    replica.pause().unwrap();
    soon(first.ended()).await;
    assert!(!leader.is_leader());
    soon(async {
        while fallen.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Expired]);
    replica.resume().unwrap();
    let next = soon(async {
        tokio::select! {
            tenure = one.elected() => tenure.unwrap(),
            tenure = two.elected() => tenure.unwrap(),
        }
    })
    .await;
    assert!(next.token() > first.token());
    watch.nobody_overlapped();
}

/// Servers for the conformance run.
pub(crate) fn place() -> Place {
    // The replica: no server acknowledges the primary's writes any longer.
    Place::of(pair(), |(primary, _)| store(needs(1, primary).trust_empty_store(false)))
        .slowed(|(_, replica), is_slow| slow(replica, is_slow))
        .place()
}
