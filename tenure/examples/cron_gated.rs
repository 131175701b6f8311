//! A job at set times, such as a nightly report: every process knows the times, and only the leader
//! runs the job.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 EVERY_SECONDS=60 \
//!     cargo run --release -p tenure --features redis --example cron_gated
//! ```
//!
//! The times are numbered: the seconds since 1970, divided by `EVERY_SECONDS`. The number of the
//! last run is kept under a fence, so a new leader repeats no run that was recorded, and makes up
//! for the last one if it is missing. A process that is killed between a run and its record leaves
//! that run to its successor: the job runs at least once.

#![allow(clippy::print_stdout, reason = "the program prints its runs")]

use std::error::Error;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tenure::fence::redis::Fence;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Tenure};

const LAST: &str = "{report}:last";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let every = std::env::var("EVERY_SECONDS").unwrap_or("60".into());
    let every = every.parse::<u64>().context("EVERY_SECONDS")?.max(1);
    let client = redis::Client::open(url.as_str())?;
    let candidate = Candidate::builder(Redis::new(RedisConfig::from_url(&url)?), "report")
        .config(Config::fast_failover())
        .start()?;
    let work = async |tenure: Tenure| at_set_times(&client, &tenure, every).await;
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}

/// Runs what is due, at once if it was due before this tenure, then waits for the next time.
async fn at_set_times(client: &redis::Client, tenure: &Tenure, every: u64) {
    while tenure.is_current() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let due = now.as_secs() / every;
        let next = Duration::from_secs((due + 1) * every).saturating_sub(now);
        let wait = match run_unless_done(client, tenure, due).await {
            Ok(()) => next,
            Err(error) => {
                tracing::warn!(%error, due, "not done; tried again");
                next.min(Duration::from_secs(1))
            }
        };
        tokio::select! {
            () = tenure.ended() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn run_unless_done(
    client: &redis::Client,
    tenure: &Tenure,
    due: u64,
) -> Result<(), Box<dyn Error>> {
    let mut connection = client.get_multiplexed_async_connection().await?;
    let fence = Fence::new(tenure.key());
    let taken = fence.take_over(&mut connection, tenure.token()).await?; // first
    let last = taken.get(&mut connection, LAST).await?; // then read
    let last = last.map(String::from_utf8).transpose()?.map(|last| last.parse::<u64>());
    if last.transpose()?.is_none_or(|last| last < due) {
        report(due, tenure).await;
        taken.set(&mut connection, LAST, due.to_string().as_bytes()).await?; // then write
    }
    Ok(())
}

async fn report(due: u64, tenure: &Tenure) {
    tokio::time::sleep(Duration::from_millis(20)).await;
    println!("run {due}, under token {}", tenure.token());
}
