//! The README's program: it leads, works, survives outages of its store, and hands over when it is
//! stopped.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 cargo run --release -p tenure --features redis --example nightly_report
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its steps")]

use std::time::Duration;

use anyhow::Context;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Tenure};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init(); // shows what the candidate does
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let store = Redis::new(RedisConfig::from_url(&url)?);
    let candidate =
        Candidate::builder(store, "nightly-report").config(Config::fast_failover()).start()?;
    let work = async |tenure: Tenure| {
        while tenure.is_current() {
            println!("a report under token {}", tenure.token()); // the token goes along with every write
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?; // ends the work, then hands over
    Ok(())
}
