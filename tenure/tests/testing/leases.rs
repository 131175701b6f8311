//! Changes at the store itself.

use tenure::testing::World;
use tenure::{Config, Role, StepDownReason};
use tokio::time::Instant;

use super::support::{Leading, SECOND, soon, stepped_down, ttl};

#[tokio::test]
async fn a_leader_learns_of_its_expired_lease() {
    let leading = Leading::new().await;
    let (events, began) = (leading.candidate.events(), Instant::now());
    leading.world.expire("job").unwrap();
    assert_eq!(leading.candidate.incumbent().await.unwrap(), None);
    assert!(leading.candidate.is_leader(), "it can't know yet");
    assert_eq!(stepped_down(events).await, StepDownReason::Superseded);
    assert!(began.elapsed() < ttl() / 2, "{:?}", began.elapsed());
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > leading.tenure.token());
}

#[tokio::test]
async fn a_superseded_leader_leads_again_afterwards() {
    let leading = Leading::new().await;
    leading.world.advance(20 * SECOND).await;
    let events = leading.candidate.events();
    let began = Instant::now();
    let token = leading.world.supersede("job").unwrap();
    assert!(token > leading.tenure.token());
    assert_eq!(stepped_down(events).await, StepDownReason::Superseded);
    let incumbent = leading.candidate.incumbent().await.unwrap().unwrap();
    assert_eq!((incumbent.token, &*incumbent.name), (token, "another holder"));
    assert!(!leading.candidate.is_leader());
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > token && began.elapsed() >= ttl());
}

#[tokio::test]
async fn another_holders_lease_expires_too() {
    let leading = Leading::new().await;
    let token = leading.world.supersede("job").unwrap();
    leading.world.expire("job").unwrap();
    let began = Instant::now();
    soon(leading.tenure.ended()).await;
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > token && began.elapsed() < ttl());
}

#[tokio::test]
async fn lost_data_is_watched() {
    let leading = Leading::new().await;
    leading.world.advance(20 * SECOND).await;
    let began = Instant::now();
    leading.world.lose_data();
    assert_eq!(leading.candidate.incumbent().await.unwrap(), None);
    soon(leading.tenure.ended()).await;
    leading.world.advance(SECOND).await;
    let role = leading.candidate.health().role;
    assert!(matches!(role, Role::Watching { .. }), "{role:?}");
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > leading.tenure.token());
    assert!(began.elapsed() >= Config::default().quarantine());
}

#[tokio::test]
async fn lost_data_makes_new_candidates_wait_too() {
    let leading = Leading::new().await;
    leading.candidate.stop().await.unwrap();
    leading.world.advance(SECOND).await;
    leading.world.lose_data();
    let (began, (_process, fresh)) = (Instant::now(), leading.follower());
    let tenure = soon(fresh.elected()).await.unwrap();
    assert!(began.elapsed() >= Config::default().quarantine());
    assert!(tenure.token() > leading.tenure.token());
}

#[tokio::test]
async fn a_resigned_lead_passes_to_the_other() {
    let leading = Leading::new().await;
    let (_process, follower) = leading.follower();
    leading.world.advance(SECOND).await;
    let began = Instant::now();
    leading.candidate.stop().await.unwrap();
    soon(follower.elected()).await.unwrap();
    assert!(began.elapsed() < SECOND, "it was woken");
}

#[tokio::test]
async fn a_lease_that_is_not_held_can_not_end() {
    let world = World::new().unwrap();
    let not_held = "no candidate holds the lease of \"job\": await elected() of one first";
    assert_eq!(world.expire("job").unwrap_err().to_string(), not_held);
    assert_eq!(world.supersede("job").unwrap_err().to_string(), not_held);
    assert_eq!(world.expire("").unwrap_err().to_string(), "key has 0 bytes; it must have 1 to 512");

    let leading = Leading::new().await;
    leading.candidate.stop().await.unwrap();
    assert_eq!(leading.world.supersede("job").unwrap_err().to_string(), not_held);
}
