//! The connection of one process.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tenure::store::StoreErrorKind;
use tenure::testing::World;
use tenure::{Config, Event, StepDownReason, StoreHealth};
use tokio::time::Instant;

use super::support::{Leading, SECOND, soon, stepped_down, ttl};

#[tokio::test]
async fn a_leader_without_connection_stops_in_time() {
    let leading = Leading::new().await;
    leading.world.advance(20 * SECOND).await;
    let (events, began) = (leading.candidate.events(), Instant::now());
    leading.process.cut();
    assert!(leading.candidate.is_leader(), "its lease is still live");
    assert_eq!(stepped_down(events).await, StepDownReason::Expired);
    assert!(!leading.candidate.is_leader() && began.elapsed() < ttl());
}

#[tokio::test]
async fn a_healed_connection_leads_to_another_tenure() {
    let leading = Leading::new().await;
    leading.process.cut();
    soon(leading.tenure.ended()).await;
    leading.world.advance(60 * SECOND).await;
    assert!(!leading.candidate.is_leader());
    leading.process.heal();
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > leading.tenure.token());
}

#[tokio::test]
async fn a_cut_concerns_one_process_only() {
    let leading = Leading::new().await;
    let (_process, follower) = leading.follower();
    leading.world.advance(20 * SECOND).await;
    leading.process.cut();
    let next = soon(follower.elected()).await.unwrap();
    assert!(next.token() > leading.tenure.token() && !leading.tenure.is_current());
    leading.world.advance(60 * SECOND).await;
    assert!(next.is_current() && !leading.candidate.is_leader());
}

#[tokio::test]
async fn candidates_of_a_process_share_its_connection() {
    let leading = Leading::new().await;
    let other = leading.process.elections().candidate("other").start().unwrap();
    let tenure = soon(other.elected()).await.unwrap();
    leading.process.cut();
    leading.world.advance(ttl()).await;
    assert!(!tenure.is_current() && !leading.tenure.is_current());
}

#[tokio::test]
async fn wake_ups_are_lost_in_a_cut() {
    let leading = Leading::new().await;
    let (process, follower) = leading.follower();
    leading.world.advance(SECOND).await;
    process.cut();
    leading.candidate.stop().await.unwrap();
    leading.world.advance(2 * SECOND).await;
    assert_eq!(follower.health().store, StoreHealth::Answering, "it has not asked");
    // Subscriptions begin anew, and a new one counts as a wake-up.
    process.heal();
    leading.world.advance(2 * SECOND).await;
    assert!(follower.is_leader(), "long before it would ask by itself");
}

#[tokio::test]
async fn messages_are_lost_in_a_cut() {
    let leading = Leading::new().await;
    let (_process, follower) = leading.follower();
    let mut inbox = leading.tenure.inbox();
    leading.world.advance(SECOND).await;
    leading.process.cut();
    follower.notify_leader("pages", "lost").await.unwrap();
    leading.world.advance(SECOND).await;
    leading.process.heal();
    follower.notify_leader("pages", "kept").await.unwrap();
    let message = soon(inbox.next()).await.unwrap();
    assert_eq!(&message.payload()[..], b"kept");
}

#[tokio::test]
async fn replies_take_a_round_trip() {
    let process = World::new().unwrap().process();
    process.delay(SECOND);
    let began = Instant::now();
    let candidate = process.candidate("job").start().unwrap();
    soon(candidate.elected()).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn requests_that_fail_are_tried_again() {
    let leading = Leading::new().await;
    let (mut events, errors) = (leading.candidate.events(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&errors);
    leading.candidate.on_store_error(move |error| seen.lock().unwrap().push(error.kind()));
    leading.process.fail_next(StoreErrorKind::Evicting);
    leading.process.fail_next(StoreErrorKind::Full);
    leading.world.advance(8 * SECOND).await;
    assert_eq!(*errors.lock().unwrap(), [StoreErrorKind::Evicting, StoreErrorKind::Full]);
    assert!(leading.tenure.is_current());
    let first = soon(events.next()).await.unwrap();
    assert!(matches!(first, Event::StoreUnavailable { .. }), "{first:?}");
    while !matches!(soon(events.next()).await.unwrap(), Event::StoreRecovered) {}
}

#[tokio::test]
async fn a_failing_request_does_not_reach_the_store() {
    let leading = Leading::new().await;
    let (_process, follower) = leading.follower();
    let mut events = leading.candidate.events();
    leading.process.fail_next(StoreErrorKind::Full);
    while !matches!(soon(events.next()).await.unwrap(), Event::StoreUnavailable { .. }) {}
    // No time has passed since the renewal.
    let incumbent = follower.incumbent().await.unwrap().unwrap();
    assert!(!incumbent.renewed_ago.is_zero(), "{incumbent:?}");
}

#[tokio::test]
async fn a_grant_whose_reply_is_lost_is_repeated() {
    let world = World::new().unwrap();
    let process = world.process();
    process.lose_next_reply();
    let began = Instant::now();
    let candidate = process.candidate("job").start().unwrap();
    world.advance(SECOND / 10).await;
    let mut leaders = world.process().elections().observe("job").unwrap();
    let Some(Ok(Some(granted))) = leaders.next().await else { panic!("carried out") };
    assert!(!candidate.is_leader());
    let tenure = soon(candidate.elected()).await.unwrap();
    assert_eq!(tenure.token(), granted.token);
    assert!(began.elapsed() >= Config::default().request_timeout());
}
