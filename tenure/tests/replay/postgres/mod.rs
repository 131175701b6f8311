//! Random requests to a real PostgreSQL server, each compared with the contract.
//!
//! The records and the past are read by plain SQL before and after each request, and the contract's
//! own code is carried out on what was there before.

mod draw;
mod meanwhile;
mod people;
mod state;
mod world;

use world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_answers_as_the_contract() {
    let seed = std::env::var("TENURE_REPLAY_SEED").ok().and_then(|seed| seed.parse().ok());
    let steps = super::steps(400);
    let mut world = World::new(seed.unwrap_or(1));
    for _ in 0..steps {
        world.step().await;
    }
    // What never happened was not compared.
    for (what, count) in &world.counts {
        println!("{count:8} {what}");
    }
    if steps >= 400 {
        for what in [
            "acquire granted",
            "acquire not",
            "look",
            "renew renewed",
            "renew superseded",
            "release released",
            "want noted",
            "purge purged",
            "stamped",
            "together",
        ] {
            assert!(world.counts.contains_key(what), "no {what} among {steps} steps");
        }
    }
}
