//! The smallest program that leads: the processes of one host elect a leader over a SQLite file.
//!
//! ```text
//! cargo run --release -p tenure --features sqlite --example minimal
//! ```
//!
//! The file is `elections.db` in the working directory. Start the program twice, and end the first
//! process with Ctrl-C or with `kill -9`. The first leader of a new file waits for one TTL.

#![allow(clippy::print_stdout, reason = "the program prints its steps")]

use std::time::Duration;

use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure::{Candidate, Config};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init(); // shows what the candidate does
    let store = Sqlite::new(SqliteConfig::new("elections.db"));
    let candidate =
        Candidate::builder(store, "first-steps").config(Config::fast_failover()).start()?;
    let work = async |tenure: tenure::Tenure| {
        while tenure.is_current() {
            println!("I lead, under token {}", tenure.token());
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}
