//! A primary that sentinels watch and replace.

use std::time::{Duration, Instant};

use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{
    AnyStore, Credentials, Key, Provided, Reply, Request, Secret, Store, StoreErrorKind,
};
use tenure::{Candidate, Config};
use tenure_servers::{RedisSentinels, RedisServer};

use super::failover::{self, hands_over_at_once};
use super::fake::{Fake, HELLO};
use super::rows::{NEED_A_RESTART, slow};
use super::support::{
    Place, RENEWED, TTL, Watch, acquire, acquire_for, call, falls, granted, leader, local, release,
    renew, server, soon, start, tokens,
};

/// Leases that a failover outlasts, and requests that a loaded machine carries out in time.
fn quick() -> Config {
    Config::builder(Duration::from_secs(5)).build().unwrap()
}

fn by(ports: &[u16]) -> RedisConfig {
    let listed = ports.iter().map(|&port| ("127.0.0.1", port));
    let config = RedisConfig::sentinel(RedisSentinels::NAME, listed).unwrap();
    config.trust_empty_store(true).connect_timeout(TTL)
}

/// The same for stores that soon attempt another connection, as servers come and go.
pub(super) fn impatient(ports: &[u16]) -> RedisConfig {
    by(ports).connect_timeout(quick().request_timeout())
}

pub(super) fn store(config: RedisConfig) -> AnyStore {
    AnyStore::new(Redis::new(config))
}

fn candidate(ports: &[u16], name: &str, config: Config) -> Candidate {
    start(store(impatient(ports)), name, config).0
}

/// Asks until the store answers, as candidates do: no request for longer than its timeout.
pub(super) async fn answered(store: &AnyStore, request: Request) -> Reply {
    let (job, patience) = (Key::new("job").unwrap(), quick().request_timeout());
    soon(async {
        loop {
            let asked = store.call(&job, request.clone());
            if let Ok(Ok(reply)) = tokio::time::timeout(patience, asked).await {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_records_are_deleted() {
    let watched = RedisSentinels::start(1, 1, &[]).unwrap();
    crate::stores::stories::purge::old_records_alone_are_deleted(store(by(&watched.ports()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let watched = RedisSentinels::start(1, 1, &[]).unwrap();
    let store = || store(by(&watched.ports()));
    hands_over_at_once(store(), store()).await;
}

async fn survives(
    fail: impl FnOnce(&mut RedisServer),
    returns: impl AsyncFnOnce(&mut RedisServer),
) {
    let watched = RedisSentinels::start(2, 3, &[]).unwrap();
    let ports = watched.ports();
    failover::survives(watched, |name| candidate(&ports, name, quick()), fail, returns).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_dies() {
    survives(|primary| primary.kill().unwrap(), async |_| {}).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_is_paused_and_resumed() {
    let returns = async |old: &mut RedisServer| {
        old.resume().unwrap();
        // It takes itself for the primary until the sentinels tell it otherwise, and carries out
        // the requests that have queued.
        tokio::time::sleep(quick().ttl() * 2).await;
    };
    survives(|primary| primary.pause().unwrap(), returns).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_leaves_a_paused_primary() {
    let watched = RedisSentinels::start(1, 1, &[]).unwrap();
    let store = store(impatient(&watched.ports()));
    answered(&store, acquire(1, None)).await;
    watched.server(0).pause().unwrap();
    let asks = tokio::spawn(async move {
        let (job, patience) = (Key::new("job").unwrap(), quick().request_timeout());
        loop {
            let asked = store.call(&job, Request::Observe);
            if let Ok(Ok(_)) = tokio::time::timeout(patience, asked).await {
                return Instant::now();
            }
        }
    });
    watched.replaced(0).unwrap();
    let replaced = Instant::now();
    let took = soon(asks).await.unwrap().saturating_duration_since(replaced);
    println!("found {took:?} after it was replaced");
    assert!(took < quick().request_timeout() * 2 * 10, "{took:?}");
}

/// From now on no replica may follow it.
pub(super) fn refuses_replicas(primary: &RedisServer) {
    for command in [
        &["ACL", "SETUSER", "default", "-psync", "-sync"][..],
        &["CLIENT", "KILL", "TYPE", "replica"],
    ] {
        primary.command(command).unwrap();
    }
}

/// The replica that is promoted does not know the last grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lagging_replica_makes_the_next_leader_wait() {
    let mut watched = RedisSentinels::start(1, 1, &[]).unwrap();
    let store = store(by(&watched.ports()));
    // With the candidates' TTL: another contradicts their quarantine.
    let known = granted(&store, acquire_for(1, None, quick().ttl())).await;
    assert_eq!(call(&store, release(1, known)).await.unwrap(), Reply::Released);
    soon(async {
        // Only the next grant is cut off, and not this release.
        let released = ["HGET", super::support::RECORD, "released"];
        let is = tenure_servers::Reply::BulkString(b"1".to_vec());
        while watched.server(1).command(&released).unwrap() != is {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    refuses_replicas(watched.server(0));
    let leading = candidate(&watched.ports(), "leading", quick());
    let lost = soon(leading.elected()).await.unwrap();
    watched.server_mut(0).kill().unwrap();
    let promoted = watched.replaced(0).unwrap();
    // By its own record it would grant the lease at once: the last tenure was handed back.
    let next = candidate(&watched.ports(), "next", quick());
    let (watch, tokens) = (Watch::over(&[&leading, &next]), tokens(&[&leading, &next]));
    soon(lost.ended()).await;
    let (_, token) = leader(&[&leading, &next]).await;
    assert!(token > lost.token(), "{token} after {}", lost.token());
    // A fresh candidate of another election, which declares a longer quarantine, has to watch as
    // well.
    let at = local(watched.server(promoted).port()).trust_empty_store(true);
    let other = self::store(at);
    let key = Key::new("another job").unwrap();
    let asked = other.call(&key, acquire(7, None));
    let Reply::Not(shown) = soon(asked).await.unwrap() else { panic!("nothing is granted") };
    assert!(shown.sight.past.is_some(), "{shown:?}");
    watch.nobody_overlapped();
    assert!(tokens.lock().unwrap().is_sorted_by(|a, b| a < b));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_stand_still_cost_little() {
    let watched = RedisSentinels::start(0, 3, &[]).unwrap();
    let patient = || by(&watched.ports()).connect_timeout(Duration::from_secs(10));
    watched.sentinel(0).pause().unwrap();
    // The other two agree, well before half of the timeout. A pause of the machine delays a try.
    let (mut least, mut tries) = (Duration::MAX, Vec::new());
    while least >= Duration::from_secs(4) && tries.len() < 5 {
        let began = Instant::now();
        let store = store(patient());
        granted(&store, acquire(1, None)).await;
        least = least.min(began.elapsed());
        tries.push(store);
    }
    assert!(least < Duration::from_secs(4), "{least:?}");
    let store = tries.remove(0);
    watched.sentinel(1).pause().unwrap();
    // One of three is no majority, not even for the server that a majority named before.
    for store in [self::store(patient()), store] {
        let error = call(&store, acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NoLeader, "{error}");
    }
    for number in 0..3 {
        watched.sentinel(number).resume().unwrap();
    }
    answered(&self::store(impatient(&watched.ports())), acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unwatched_names_and_separate_users() {
    let watched = RedisSentinels::start(0, 1, &[]).unwrap();
    let at = ("127.0.0.1", watched.sentinel(0).port());
    let other = RedisConfig::sentinel("other", [at]).unwrap();
    let error = call(&store(other), Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    assert!(error.to_string().contains("watches no primary called \"other\""), "{error}");

    // As `docs/stores/redis.md` has it.
    let rights = ["on", ">correct-horse", "+sentinel|get-master-addr-by-name"];
    let user = [&["ACL", "SETUSER", "app", "reset"], &rights[..]].concat();
    watched.sentinel(0).command(&user).unwrap();
    watched.sentinel(0).command(&["ACL", "SETUSER", "default", "off"]).unwrap();
    let port = watched.sentinel(0).port();
    let named =
        by(&[port]).sentinel_credentials(Credentials::new("app", Secret::new("correct-horse")));
    granted(&store(named), acquire(1, None)).await;
    let provided = by(&[port]).sentinel_credentials(|| async {
        Provided::Ok(Credentials::new("app", Secret::new("correct-horse")))
    });
    call(&store(provided), Request::Observe).await.unwrap();
    let url = format!(
        "redis+sentinel://127.0.0.1:{port}/{}?sentinel_username=app&sentinel_password=correct-horse",
        RedisSentinels::NAME
    );
    call(&store(RedisConfig::from_url(&url).unwrap()), Request::Observe).await.unwrap();
    let wrong =
        by(&[port]).sentinel_credentials(Credentials::new("app", Secret::new("wrong-horse")));
    for refused in [by(&[port]), wrong] {
        let error = call(&store(refused), Request::Observe).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Authentication);
        assert!(!format!("{error} {error:?}").contains("horse"), "{error}");
    }
}

/// Answers every question with that port, after so long.
async fn sentinel_of(port: u16, after: Duration) -> Fake {
    let text = port.to_string();
    let named = format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{text}\r\n", text.len());
    let answer = move |words: &[String]| match &*words[0] {
        "HELLO" => HELLO.to_owned(),
        _ => named.clone(),
    };
    Fake::start(after, answer).await
}

/// Names that port, as a sentinel does that has been cut off for long.
async fn sentinel_that_names(port: u16) -> u16 {
    sentinel_of(port, Duration::ZERO).await.port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_not_taken_for_primary() {
    let primary = server();
    let replica = primary.start_replica(&[]).unwrap();
    let sentinel = sentinel_that_names(replica.port()).await;
    let error = call(&store(by(&[sentinel])), Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotPrimary);
    assert!(error.to_string().contains("is slave, by what it says"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_was_cut_off_is_outvoted() {
    let (old, new) = (server(), server());
    let mut ports = vec![sentinel_that_names(old.port()).await];
    let divided = store(by(&[ports[0], sentinel_that_names(new.port()).await]));
    let error = call(&divided, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NoLeader);
    ports.extend([sentinel_that_names(new.port()).await, sentinel_that_names(new.port()).await]);
    for _ in 0..10 {
        let store = store(impatient(&ports));
        answered(&store, acquire(1, None)).await;
    }
    let keys = |server: &RedisServer| server.command(&["DBSIZE"]).unwrap();
    assert_eq!(keys(&old), tenure_servers::Reply::Integer(0));
    assert_eq!(keys(&new), tenure_servers::Reply::Integer(2));
}

/// The majority has answered, and its own answer no longer counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slower_sentinel_keeps_its_connection() {
    let primary = server();
    let of = |millis| sentinel_of(primary.port(), Duration::from_millis(millis));
    let mut tries = 0;
    loop {
        let (slow, others) = (of(30).await, [of(0).await, of(0).await]);
        let store = store(by(&[slow.port, others[0].port, others[1].port]));
        let began = Instant::now();
        let token = granted(&store, acquire(1, None)).await;
        for _ in 0..20 {
            assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        }
        let connections = [&slow, &others[0], &others[1]].map(Fake::connections);
        // A pause of the machine is a silence of the sentinels, which may cost a connection.
        tries += 1;
        if connections == [1; 3] || began.elapsed() < Duration::from_secs(1) || tries == 10 {
            assert_eq!(connections, [1; 3]);
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_leave_a_demoted_primary() {
    // As an operator does it: the connections stay open.
    let (first, second) = (server(), server());
    let listed = [sentinel_that_names(first.port()).await];
    let steady = Config::builder(Duration::from_secs(10)).renew_interval(Duration::from_secs(1));
    let leading = candidate(&listed, "leading", steady.build().unwrap());
    soon(leading.elected()).await.unwrap();
    let fallen = falls(&leading);
    let port = second.port().to_string();
    first.command(&["REPLICAOF", "127.0.0.1", &port]).unwrap();
    soon(async {
        while fallen.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(!leading.is_leader());
    first.command(&["REPLICAOF", "NO", "ONE"]).unwrap();
    soon(leading.elected()).await.unwrap();
}

/// A primary without replicas, and one sentinel, which names the primary.
pub(crate) fn place() -> Place {
    Place::of(RedisSentinels::start(0, 1, &[]).unwrap(), |watched| {
        store(by(&watched.ports()).trust_empty_store(false))
    })
    .slowed(|watched, is_slow| slow(watched.server(0), is_slow))
    .skipping(&NEED_A_RESTART)
    .place()
}
