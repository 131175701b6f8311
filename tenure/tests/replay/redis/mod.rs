//! Each step of the scripts on a real server, compared with the contract: random requests, what is
//! kept before and after them, and losses of the server's data.

mod kept;
mod world;

use tenure::store::Store;
use tenure::store::redis::{Redis, RedisConfig};

use world::World;

fn replay<S: Store>(name: &str, make: fn(RedisConfig) -> S) {
    let mut world = World::new(name, make);
    (0..super::steps(400)).for_each(|_| world.turn());
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
