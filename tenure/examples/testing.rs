//! A service, and a test of what it does when it loses the lead: with a store and a clock in the
//! test's hands.
//!
//! ```text
//! cargo run --release -p tenure --features testing --example testing
//! ```

#![allow(clippy::print_stdout, reason = "the program prints what it has tested")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use tenure::testing::World;
use tenure::{Candidate, Config, Tenure};
use tokio::time::sleep;

/// Writes a page each second, while it leads.
async fn write_pages(candidate: Candidate, pages: Arc<AtomicU32>) {
    let work = async |tenure: Tenure| {
        while tenure.is_current() {
            pages.fetch_add(1, SeqCst);
            sleep(Duration::from_secs(1)).await;
        }
    };
    let _ = candidate.run_while_leader(work).await;
}

async fn no_page_is_written_without_the_lead() -> anyhow::Result<()> {
    let world = World::new()?;
    let process = world.process();
    let pages = Arc::new(AtomicU32::new(0));
    tokio::spawn(write_pages(process.candidate("pages").start()?, Arc::clone(&pages)));
    world.advance(Duration::from_secs(10)).await; // it leads
    process.cut(); // the store can't be reached any more
    world.advance(Config::default().ttl()).await; // its lease ends
    let written = pages.load(SeqCst);
    world.advance(Duration::from_secs(60)).await;
    assert!(written > 0 && pages.load(SeqCst) == written);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    no_page_is_written_without_the_lead().await?;
    println!("no page is written without the lead");
    Ok(())
}
