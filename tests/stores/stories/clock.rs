//! A server's clock that is set, by steps that are longer than any lease: no lead ends by it, and
//! none begins.

use std::time::{Duration, Instant};

use tenure::store::AnyStore;
use tenure::store::redis::Redis;
use tenure::{Candidate, Config, Token};
use tenure_servers::{Flow, PostgresServer, RedisServer, ServerClock};

use super::proxy;
use crate::stores::redis::support::Client;
use crate::stores::support::{
    Watch, acquire, call, falls, granted, one_leads, release, soon, start, unix_micros,
};
use crate::stores::{postgres, redis};

const TTL: Duration = Duration::from_secs(6);
const TEN_YEARS: i64 = 10 * 365 * 86_400_000;
const CENTURIES: i64 = 20 * TEN_YEARS;
/// In milliseconds: 30 s, an hour and ten years, forward and back.
pub(crate) const STEPS: [i64; 6] = [30_000, -30_000, 3_600_000, -3_600_000, TEN_YEARS, -TEN_YEARS];

async fn steps_change_nothing(mut clock: ServerClock, port: u16, store: impl Fn(u16) -> AnyStore) {
    let config = Config::builder(TTL).renew_interval(Duration::from_secs(1)).build().unwrap();
    let (before_one, before_two) = (proxy(port).await, proxy(port).await);
    let one = start(store(before_one.port()), "one", config).0;
    let mut tenure = soon(one.elected()).await.unwrap();
    let two = start(store(before_two.port()), "two", config).0;
    let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
    for by_ms in STEPS {
        clock.step(by_ms).unwrap();
        tokio::time::sleep(config.renew_interval()).await;
    }
    assert!(tenure.is_current(), "{:?}", fallen.lock().unwrap());

    // A leader that is cut off is replaced when its lease has ended, and not before.
    for by_ms in STEPS {
        let is_one = one.is_leader();
        let cut_off = if is_one { &before_one } else { &before_two };
        let (since, left) = (Instant::now(), tenure.remaining());
        cut_off.set(Flow::BlackHole);
        clock.step(by_ms).unwrap();
        let next = one_leads([&one, &two], Some(tenure.token())).await;
        let took = since.elapsed();
        assert!(took >= left, "{took:?}, and not {left:?}, after a step of {by_ms} ms");
        assert!(took < TTL * 10, "{took:?} after a step of {by_ms} ms");
        assert!(!leader(is_one, &one, &two).is_leader());
        cut_off.set(Flow::Forward);
        tenure = next;
    }
    watch.nobody_overlapped();
    for candidate in [one, two] {
        soon(candidate.stop()).await.unwrap();
    }
}

fn leader<'a>(is_one: bool, one: &'a Candidate, two: &'a Candidate) -> &'a Candidate {
    if is_one { one } else { two }
}

mod a_stepped_clock_changes_nothing {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_rs() {
        let clock = ServerClock::start(0).unwrap();
        let server = RedisServer::start_with_clock(&[], &clock).unwrap();
        let config = |port| redis::support::local(port).trust_empty_store(true);
        let store = |port| AnyStore::new(Redis::new(config(port)));
        steps_change_nothing(clock, server.port(), store).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        let clock = ServerClock::start(0).unwrap();
        let server = PostgresServer::start_with_clock(&[], &clock).unwrap();
        let store = |port| AnyStore::new(postgres::support::at(port));
        steps_change_nothing(clock, server.port(), store).await;
    }
}

/// A clock beyond what tokens hold counts as none: they rise all the same, and are above the clock
/// again once it is right.
async fn tokens_rise_without_it(mut clock: ServerClock, store: AnyStore) {
    clock.step(CENTURIES).unwrap();
    let mut seen = None;
    for _ in 0..3 {
        seen = Some(next_token(&store, seen).await);
        assert!(seen < Token::new(1_000), "{seen:?}");
    }
    let now = Token::new(unix_micros());
    clock.step(-CENTURIES).unwrap();
    // Valkey reads its clock less often.
    soon(async {
        while seen < now {
            seen = Some(next_token(&store, seen).await);
        }
    })
    .await;
}

async fn next_token(store: &AnyStore, seen: Option<Token>) -> Token {
    let token = granted(store, acquire(1, seen)).await;
    assert!(seen < Some(token), "{token} follows {seen:?}");
    call(store, release(1, token)).await.unwrap();
    token
}

mod a_clock_of_another_century_is_none {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_rs() {
        let clock = ServerClock::start(0).unwrap();
        let server = RedisServer::start_with_clock(&[], &clock).unwrap();
        tokens_rise_without_it(clock, Client::RedisRs.at(server.port())).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        let clock = ServerClock::start(0).unwrap();
        let server = PostgresServer::start_with_clock(&[], &clock).unwrap();
        tokens_rise_without_it(clock, AnyStore::new(postgres::support::at(server.port()))).await;
    }
}
