//! Leaders as a stream.

use std::time::Duration;

use futures_util::stream::FusedStream;
use futures_util::{FutureExt, StreamExt};
use tenure::store::{Incumbent, Memory, StoreErrorKind};
use tenure::{Candidate, Config, Elections, Observer, StartError};

use super::support::{Remote, quick, soon, start, steady};

/// The next leader, perhaps after a time without one.
async fn next_leader(leaders: &mut Observer) -> Incumbent {
    loop {
        if let Some(incumbent) = soon(leaders.next()).await.unwrap().unwrap() {
            return incumbent;
        }
    }
}

#[tokio::test]
async fn a_release_is_seen_at_once() {
    let store = Memory::new();
    let mut leaders = Elections::new(store.clone()).observe("job").unwrap();
    assert_eq!(soon(leaders.next()).await.unwrap().unwrap(), None);
    // Without hints, the observer would look again after most of a minute, or of its poll bound.
    let candidate = |address: &'static str| {
        let builder = Candidate::builder(store.clone(), "job").metadata(address);
        builder.config(Config::unreliable_network()).start().unwrap()
    };
    let first = candidate("h1:80");
    let seen = next_leader(&mut leaders).await;
    let tenure = soon(first.elected()).await.unwrap();
    assert_eq!((seen.token, &seen.metadata[..]), (tenure.token(), &b"h1:80"[..]));

    let second = candidate("h2:80");
    let began = std::time::Instant::now();
    soon(first.stop()).await.unwrap();
    let seen = next_leader(&mut leaders).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(&seen.metadata[..], b"h2:80");
    assert_eq!(soon(second.elected()).await.unwrap().token(), seen.token);
}

#[tokio::test]
async fn renewals_are_no_items() {
    let interval = steady().renew_interval();
    // Its observers look at least that often: they see each renewal.
    let config = steady().to_builder().poll_bound(interval / 3).build().unwrap();
    let leader = Candidate::builder(Memory::new(), "job").config(config).start().unwrap();
    let mut leaders = leader.observe();
    next_leader(&mut leaders).await;
    let quiet = tokio::time::timeout(interval * 8, leaders.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test]
async fn a_crashed_leader_ends_with_its_lease() {
    let store = Memory::new();
    let (_leader, driver) =
        Candidate::builder(store.clone(), "job").config(quick()).build().unwrap();
    let driving = tokio::spawn(driver.run());
    let mut leaders = Elections::new(store).observe("job").unwrap();
    let seen = next_leader(&mut leaders).await;
    // No hint, and below the poll bound, which is 15 s.
    driving.abort();
    let began = std::time::Instant::now();
    assert_eq!(soon(leaders.next()).await.unwrap().unwrap(), None);
    assert!(began.elapsed() < seen.ttl + Duration::from_secs(12), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_outage_is_one_error_and_not_nobody() {
    let store = Remote::default();
    let config = steady().to_builder().poll_bound(Duration::from_millis(300)).build().unwrap();
    let leader_of = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    let mut leaders = leader_of.observe();
    soon(leader_of.elected()).await.unwrap();
    next_leader(&mut leaders).await;
    store.cut();
    let error = soon(leaders.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Timeout);
    let quiet = tokio::time::timeout(Duration::from_secs(1), leaders.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    store.heal();
    soon(leaders.next()).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_stream_of_a_candidate_ends_with_it() {
    let candidate = start(&Memory::new(), "only");
    let mut leaders = candidate.observe();
    soon(candidate.elected()).await.unwrap();
    next_leader(&mut leaders).await;
    let stop = candidate.stop();
    soon(stop).await.unwrap();
    soon(async { while leaders.next().await.is_some() {} }).await;
    assert!(leaders.is_terminated() && soon(leaders.next()).await.is_none());

    // It does not keep the candidate in the election.
    let store = Memory::new();
    let dropped = start(&store, "dropped");
    let mut leaders = dropped.observe();
    soon(dropped.elected()).await.unwrap();
    drop(dropped);
    soon(async { while leaders.next().await.is_some() {} }).await;
    soon(start(&store, "next").elected()).await.unwrap();
}

#[tokio::test]
async fn a_driver_that_is_gone_ends_the_stream() {
    let builder = Candidate::builder(Memory::new(), "job").config(Config::unreliable_network());
    let (candidate, driver) = builder.build().unwrap();
    let driving = tokio::spawn(driver.run());
    let mut leaders = candidate.observe();
    next_leader(&mut leaders).await;
    // It waits for the poll bound now.
    assert!(leaders.next().now_or_never().is_none());
    driving.abort();
    assert!(soon(leaders.next()).await.is_none());
}

#[tokio::test]
async fn dropped_streams_drop_no_call() {
    let store = Remote::default();
    let elections = Elections::new(store.clone());
    let config = Config::unreliable_network();
    let candidate = elections.candidate("job").config(config).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    store.cut();
    for _ in 0..20 {
        let mut leaders = elections.observe("job").unwrap();
        assert!(leaders.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    store.heal();
    assert!(!next_leader(&mut candidate.observe()).await.ttl.is_zero());
    assert_eq!(store.dropped(), 0);
    // A stream that is never polled asks nothing.
    let asked = store.asked();
    drop(elections.observe("other").unwrap());
    assert_eq!(store.asked(), asked);
}

#[tokio::test]
async fn a_key_that_cannot_be_is_refused() {
    let error = Elections::new(Memory::new()).observe("").unwrap_err();
    assert!(matches!(error, StartError::Limit(_)), "{error}");
}
