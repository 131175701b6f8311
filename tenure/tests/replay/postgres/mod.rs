//! Random requests to a real PostgreSQL server, each compared with the contract: what plain SQL
//! reads before and after each request.

mod meanwhile;
mod people;
mod state;
mod world;

use world::{VALUES, World};

use super::compare::compare;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_answers_as_the_contract() {
    compare("postgres", World::new(), VALUES).await;
}
