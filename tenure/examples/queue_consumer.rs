//! A queue with one consumer: jobs are done one after the other, in their order, by whichever
//! process leads.
//!
//! ```text
//! redis-cli RPUSH '{jobs}:waiting' one two three
//! REDIS_URL=redis://127.0.0.1 cargo run --release -p tenure --features redis --example queue_consumer
//! ```
//!
//! A job moves from the list `{jobs}:waiting` to `{jobs}:begun`, is done, and is removed there.
//! Each step is fenced, so a leader that was paused can't take a job away from its successor. A new
//! leader first puts back what was begun and not removed: a job is done at least once.

#![allow(clippy::print_stdout, reason = "the program prints its jobs")]

use std::error::Error;
use std::time::Duration;

use anyhow::Context;
use tenure::fence::redis::Fence;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Tenure};

const LISTS: [&str; 2] = ["{jobs}:waiting", "{jobs}:begun"];
const PUT_BACK: &str =
    "while redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') do end return 1";
const BEGIN: &str = "return redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT')";
const REMOVE: &str = "return redis.call('LREM', KEYS[2], 1, ARGV[1])";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let client = redis::Client::open(url.as_str())?;
    let candidate = Candidate::builder(Redis::new(RedisConfig::from_url(&url)?), "jobs")
        .config(Config::fast_failover())
        .start()?;
    let work = async |tenure: Tenure| {
        // An error ends this attempt, not the program: Redis may come back, and another tenure
        // follows.
        while tenure.is_current() {
            if let Err(error) = consume(&client, &tenure).await {
                tracing::warn!(%error, "the queue can't be consumed; tried again");
                pause(&tenure, Duration::from_secs(1)).await;
            }
        }
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}

async fn consume(client: &redis::Client, tenure: &Tenure) -> Result<(), Box<dyn Error>> {
    let mut connection = client.get_multiplexed_async_connection().await?;
    let fence = Fence::new(tenure.key());
    let taken = fence.take_over(&mut connection, tenure.token()).await?;
    let _: i64 = taken.eval(&mut connection, PUT_BACK, &LISTS, &[]).await?;
    while tenure.is_current() {
        let job: Option<String> = taken.eval(&mut connection, BEGIN, &LISTS, &[]).await?;
        let Some(job) = job else {
            pause(tenure, Duration::from_millis(100)).await;
            continue;
        };
        perform(&job).await;
        let _: i64 = taken.eval(&mut connection, REMOVE, &LISTS, &[job.as_bytes()]).await?;
    }
    Ok(())
}

async fn perform(job: &str) {
    tokio::time::sleep(Duration::from_millis(20)).await;
    println!("did {job}");
}

/// Waits, but not beyond the end of the tenure.
async fn pause(tenure: &Tenure, time: Duration) {
    tokio::select! {
        () = tenure.ended() => {}
        () = tokio::time::sleep(time) => {}
    }
}
