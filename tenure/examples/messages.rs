//! Messages to the leader: every process sends greetings, and the one that leads receives them.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 cargo run --release -p tenure --features redis --example messages -- worker-7
//! ```
//!
//! A message may be lost, and arrives at most once: it should say that there is work, and not be
//! the work.

#![allow(clippy::print_stdout, reason = "the program prints the messages")]

use std::time::Duration;

use anyhow::Context;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, NotifyError, Tenure};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let store = Redis::new(RedisConfig::from_url(&url)?);
    let name = std::env::args().nth(1).context("the argument is missing: this process's name")?;
    let candidate = Candidate::builder(store, "messages")
        .name(&name)
        .config(Config::fast_failover())
        .start()?;
    tokio::spawn(greet(candidate.clone(), name));
    candidate.run_until(tenure::shutdown_signal()?, receive).await?;
    Ok(())
}

/// The leader's work.
async fn receive(tenure: Tenure) {
    use futures_util::StreamExt as _;

    let mut inbox = tenure.inbox(); // at once: what was sent before is lost
    println!("I lead, under token {}", tenure.token());
    while let Some(message) = inbox.next().await {
        println!("{}: {}", message.channel(), String::from_utf8_lossy(message.payload()));
    }
}

/// Sends greetings for as long as the program runs, to whichever process leads.
async fn greet(candidate: Candidate, name: String) {
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        match candidate.notify_leader("greeting", format!("from {name}")).await {
            Ok(()) => {}
            Err(NotifyError::NobodyLeads) => tracing::info!("no candidate leads"),
            Err(error) => tracing::warn!(%error, "the greeting may not have been sent"),
        }
    }
}
