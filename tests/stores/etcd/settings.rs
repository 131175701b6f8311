//! Candidates whose settings contradict those of the last tenure, and the longest TTL that was
//! granted.

use std::time::Duration;

use tenure::Token;
use tenure::store::{Key, Reply, Request, Store};

use super::support::{
    TTL, acquire_with, after_watching, at, call, granted, release, server, shown, soon,
};

const SHORT: Duration = Duration::from_secs(5);

/// With a quarantine of that TTL, as by default.
fn acquire(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    acquire_with(number, seen, ttl, ttl)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_contradict_are_watched() {
    let server = server();
    let store = at(&[server.port()]);
    let first = granted(&store, acquire(1, None, TTL)).await;
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
    let contradicting = acquire(2, Some(first), SHORT);
    let before = shown(&store, contradicting.clone()).await;
    assert!(before.sight.record.is_some_and(|record| record.released), "{before:?}");
    let second = granted(&store, after_watching(&contradicting, &before)).await;
    assert!(second > first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_ttl_outlives_its_election() {
    let server = server();
    let store = at(&[server.port()]);
    granted(&store, acquire(1, None, TTL)).await;
    let key = Key::new("another job").unwrap();
    let ask = async |request| soon(store.call(&key, request)).await.unwrap();
    let reply = ask(acquire(2, None, SHORT)).await;
    let Reply::Granted { token } = reply else { panic!("{reply:?}") };
    // The candidate knows a later tenure, so a grant is lost.
    assert_eq!(ask(release(2, token)).await, Reply::Released);
    let beyond = Token::new(token.get() + 1_000_000);
    let reply = ask(acquire(3, beyond, SHORT)).await;
    let Reply::Not(shown) = reply else { panic!("{reply:?}") };
    let past = shown.sight.past.expect("the past is to be watched");
    assert_eq!(past.longest, TTL, "a lease as long as that may be left");
}
