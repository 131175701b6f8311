//! Requests that are under way when the connection is cut, or when they are given up.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::testing::{Process, World};
use tenure::{Candidate, Tenure};
use tokio::time::Instant;

use super::support::{SECOND, soon, ttl};

const STEP: Duration = Duration::from_millis(50);

/// A leader whose requests take a second, and a follower that looks at the store.
struct Slow {
    world: World,
    process: Process,
    tenure: Tenure,
    leader: Candidate,
    follower: Candidate,
}

impl Slow {
    async fn new() -> Self {
        let world = World::new().unwrap();
        let process = world.process();
        process.delay(SECOND);
        let leader = process.candidate("job").name("leader").start().unwrap();
        let tenure = soon(leader.elected()).await.unwrap();
        let follower = world.process().candidate("job").start().unwrap();
        Self { world, process, tenure, leader, follower }
    }

    /// The time since the lease was renewed at the store.
    async fn renewed_ago(&self) -> Duration {
        self.follower.incumbent().await.unwrap().expect("a lease").renewed_ago
    }

    /// Until the store has carried out a renewal, half a second after it was sent.
    async fn renewed_at_the_store(&self) -> Duration {
        let began = Instant::now();
        loop {
            let before = self.renewed_ago().await;
            self.world.advance(STEP).await;
            if self.renewed_ago().await < before {
                return began.elapsed();
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_leaves_the_lease_extended() {
    let slow = Slow::new().await;
    let until = slow.tenure.valid_until();
    soon(slow.renewed_at_the_store()).await;
    slow.process.cut();
    let cut_at = Instant::now();
    slow.world.advance(SECOND).await;
    assert_eq!(slow.tenure.valid_until(), until, "the leader does not know");
    soon(slow.follower.elected()).await.unwrap();
    assert!(cut_at.elapsed() + STEP >= ttl(), "the lease was extended");
    assert!(!slow.tenure.is_current());
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_leaves_the_lease_as_it_was() {
    // Each world takes the same course.
    let arrives_after = soon(Slow::new().await.renewed_at_the_store()).await;
    let slow = Slow::new().await;
    slow.world.advance(arrives_after.saturating_sub(5 * STEP)).await;
    slow.process.cut();
    slow.process.heal();
    let before = slow.renewed_ago().await;
    slow.world.advance(10 * STEP).await;
    assert_eq!(slow.renewed_ago().await, before + 10 * STEP);
    // It is tried again.
    slow.world.advance(ttl()).await;
    assert!(slow.tenure.is_current());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_reply_is_lost_is_tried_again() {
    let slow = Slow::new().await;
    let until = slow.tenure.valid_until();
    slow.process.lose_next_reply();
    soon(slow.renewed_at_the_store()).await;
    slow.world.advance(SECOND).await;
    assert_eq!(slow.tenure.valid_until(), until);
    slow.world.advance(4 * SECOND).await;
    assert!(slow.tenure.valid_until() > until);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_still_arrives() {
    let world = World::new().unwrap();
    let process = world.process();
    process.delay(4 * SECOND);
    let slow = process.candidate("job").name("slow").start().unwrap();
    world.advance(SECOND).await;
    let mut leaders = world.process().elections().observe("job").unwrap();
    assert!(matches!(leaders.next().await, Some(Ok(None))));
    let Some(Ok(Some(incumbent))) = soon(leaders.next()).await else { panic!("a leader") };
    assert_eq!(incumbent.name, "slow");
    world.advance(ttl()).await;
    assert!(!slow.is_leader(), "no reply comes in time");
}

#[tokio::test(start_paused = true)]
async fn a_leader_outlives_a_short_cut() {
    let slow = Slow::new().await;
    soon(slow.renewed_at_the_store()).await;
    slow.process.cut();
    slow.world.advance(4 * SECOND).await;
    slow.process.heal();
    slow.world.advance(ttl()).await;
    assert!(slow.tenure.is_current() && slow.leader.is_leader());
}
