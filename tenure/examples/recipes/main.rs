//! The recipes of docs/recipes.md, run one after the other over the memory store.
//!
//! ```text
//! cargo run --release -p tenure --example recipes
//! ```

#![allow(clippy::print_stdout, reason = "the program prints what each recipe did")]

mod actor;
mod blocking;
mod state;
mod tasks;

use tenure::Candidate;
use tenure::store::Memory;

/// The result of a recipe's demonstration.
type Outcome = anyhow::Result<String>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    println!("in the background: {}", tasks::show_background().await?);
    println!("a set of tasks: {}", tasks::show_set().await?);
    println!("shared state: {}", state::show_shared().await?);
    println!("state of one tenure: {}", state::show_own().await?);
    println!("borrowed state: {}", state::show_borrowed().await?);
    println!("an actor: {}", actor::show().await?);
    println!("a blocking section: {}", blocking::show().await?);
    Ok(())
}

/// A candidate of an election of its own.
fn candidate() -> Result<Candidate, tenure::StartError> {
    Candidate::builder(Memory::new(), "recipe").start()
}
