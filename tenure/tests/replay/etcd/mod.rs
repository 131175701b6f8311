//! Each step of the store on a real etcd, compared with the contract at a server that ends leases:
//! random requests, some of them at the same time, leases that the server ends, and losses of the
//! cluster's data.
//!
//! `TENURE_TRANSITIONS` names a folder for lines that `proof/replay` compares with the rule,
//! `TENURE_REPLAY` the number of turns.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends with the first surprise, and says what it did"
)]

mod draw;
mod elections;
mod kept;
mod world;

use world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_answers_as_the_contract_does() {
    let turns = std::env::var("TENURE_REPLAY").map_or(600, |turns| turns.parse().unwrap());
    let mut world = World::new().await;
    for _ in 0..turns {
        world.turn().await;
    }
    println!("{:?}", world.steps);
    for kind in
        ["Granted", "Not", "At", "Renewed", "Superseded", "Released", "Purged", "Ended", "Raced"]
    {
        assert!(world.steps.contains_key(kind), "no step was {kind}: {:?}", world.steps);
    }
}
