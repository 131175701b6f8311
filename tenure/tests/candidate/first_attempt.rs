//! The outcome of the first attempt.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::{Memory, StoreErrorKind};
use tenure::{Candidate, Config, Event, FirstAttempt, Stopped};

use super::support::{Remote, soon, start, steady};

#[tokio::test]
async fn the_first_attempt_leads_or_follows() {
    let store = Memory::new();
    let first = start(&store, "first");
    let attempt = soon(first.first_attempt()).await.unwrap();
    let FirstAttempt::Leading(tenure) = attempt else { panic!("{attempt:?}") };
    assert!(tenure.is_current());
    let second = start(&store, "second");
    let attempt = soon(second.first_attempt()).await.unwrap();
    let FirstAttempt::Following(leader) = attempt else { panic!("{attempt:?}") };
    assert_eq!((leader.token, &*leader.name), (tenure.token(), "first"));
    assert!(second.first_attempt().now_or_never().is_some(), "the answer is there by now");
    soon(first.stop()).await.unwrap();
    assert_eq!(soon(first.first_attempt()).await.err(), Some(Stopped));
}

#[tokio::test]
async fn an_unreachable_store_is_an_outcome() {
    let store = Remote::default();
    store.cut();
    let candidate = Candidate::builder(store.clone(), "job").config(steady()).start().unwrap();
    assert!(candidate.first_attempt().now_or_never().is_none(), "nothing is known yet");
    let attempt = soon(candidate.first_attempt()).await.unwrap();
    let FirstAttempt::Unreachable(error) = attempt else { panic!("{attempt:?}") };
    assert_eq!(error.kind(), StoreErrorKind::Timeout);
    store.heal();
    soon(candidate.elected()).await.unwrap();
    let attempt = soon(candidate.first_attempt()).await.unwrap();
    assert!(matches!(attempt, FirstAttempt::Leading(_)), "{attempt:?}");
}

#[tokio::test]
async fn contradictory_settings_are_an_event() {
    let store = Memory::new();
    let ttl = Duration::from_secs(60);
    let long = Config::builder(ttl).build().unwrap();
    let first = Candidate::builder(store.clone(), "job").config(long).start().unwrap();
    soon(first.elected()).await.unwrap();
    let (second, driver) = Candidate::builder(store, "job").config(steady()).build().unwrap();
    let mut events = second.events();
    tokio::spawn(driver.run());
    let contradicts = async {
        loop {
            if let Some(Event::SettingsContradict { ttl, .. }) = events.next().await {
                return ttl;
            }
        }
    };
    assert_eq!(soon(contradicts).await, ttl);
    assert!(second.health().is_ready(Duration::MAX), "it takes part");
}

#[tokio::test]
async fn a_driver_that_is_gone_ends_the_wait() {
    let (candidate, driver) = Candidate::builder(Memory::new(), "job").build().unwrap();
    let waits = candidate.clone();
    let waiting = tokio::spawn(async move { waits.first_attempt().await.err() });
    tokio::task::yield_now().await;
    drop(driver);
    assert_eq!(soon(waiting).await.unwrap(), Some(Stopped));
}
