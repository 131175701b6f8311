//! Each step of the scripts on a real server, compared with the contract: random requests, what is
//! kept before and after them, and losses of the server's data.
//!
//! `TENURE_TRANSITIONS` names a folder for lines that `proof/replay` compares with the rule,
//! `TENURE_REPLAY` the number of requests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends with the first surprise, and says what it did"
)]

mod draw;
mod kept;
mod world;

use tenure::store::Store;
use tenure::store::redis::{Redis, RedisConfig};

use world::World;

fn replay<S: Store>(name: &str, make: fn(RedisConfig) -> S) {
    let turns = std::env::var("TENURE_REPLAY").map_or(400, |turns| turns.parse().unwrap());
    let mut world = World::new(name, make);
    (0..turns).for_each(|_| world.turn());
    println!("{name}: {:?}", world.steps);
    for kind in ["Granted", "Not", "At", "Renewed", "Superseded", "Released", "Purged", "Kept"] {
        assert!(
            world.steps.contains_key(kind),
            "no step was answered by {kind}: {:?}",
            world.steps
        );
    }
}

#[test]
fn redis_answers_as_the_contract_does() {
    replay("redis", Redis::new);
}

#[cfg(feature = "fred")]
#[test]
fn fred_answers_as_the_contract_does() {
    replay("fred", tenure::store::redis::Fred::new);
}
