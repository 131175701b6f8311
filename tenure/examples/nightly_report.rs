//! The README's program: it leads, works, survives outages of its store, and hands over when it is stopped.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 cargo run --release -p tenure --features redis --example nightly_report
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its tokens")]

use std::error::Error;

use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Tenure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Redis::new(RedisConfig::from_url(&std::env::var("REDIS_URL")?)?);
    let candidate = Candidate::builder(store, "nightly-report")
        .name("worker-7")
        .config(Config::fast_failover())
        .start()?;
    let work = async |tenure: Tenure| {
        while tenure.is_current() {
            write_report(tenure.token()).await; // the token goes along with every write
        }
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?; // hands over within milliseconds
    Ok(())
}

async fn write_report(token: tenure::Token) {
    println!("{token}");
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
}
