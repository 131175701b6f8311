//! Each step of the store on a real etcd, compared with the contract at a server that ends leases:
//! random requests, some of them at the same time, leases that the server ends, and losses of the
//! cluster's data.

mod elections;
mod kept;
mod world;

use world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_answers_as_the_contract_does() {
    let mut world = World::new().await;
    for _ in 0..super::steps(600) {
        world.turn().await;
    }
    println!("{:?}", world.steps);
    for kind in
        ["Granted", "Not", "At", "Renewed", "Superseded", "Released", "Purged", "Ended", "Raced"]
    {
        assert!(world.steps.contains_key(kind), "no step was {kind}: {:?}", world.steps);
    }
}
