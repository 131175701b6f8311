//! The process of a candidate: the shipped driver and store, by the public interface alone.

mod process;
mod recording;
mod runtime;
mod sampler;
mod taking_part;
mod work;

use std::io::{self, BufRead, BufReader};
use std::process::exit;
use std::sync::Arc;
use std::thread;

use tenure::Elections;
use tenure::runtime::Runtime;
use tenure::store::AnyStore;
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Fred, Redis, RedisConfig};
use tokio::sync::mpsc;

use super::Target;
use super::protocol::{Brief, Order};
use process::Process;
use recording::Recording;
use runtime::ClockedRuntime;

/// Runs one candidate, as the engine's orders on standard input say, until that ends. Does not return unless the brief
/// on the first line can't be followed.
///
/// # Errors
/// The reason why not.
pub fn candidate() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = BufReader::new(io::stdin()).lines();
    let first = lines.next().ok_or("standard input is empty: it must begin with a brief")??;
    let brief: Brief = serde_json::from_str(&first)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(live(brief, lines))
}

async fn live(
    brief: Brief,
    lines: impl Iterator<Item = io::Result<String>> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    let process = Arc::new(Process::new(&brief));
    let (orders, ordered) = mpsc::unbounded_channel();
    sampler::start(&process)?;
    let reader = Arc::clone(&process);
    thread::Builder::new().name("orders".to_owned()).spawn(move || {
        for line in lines {
            let order = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            match order {
                Some(Order::Pass { ticket }) => reader.passes(ticket),
                // The receiver lives as long as the process.
                Some(order) => drop(orders.send(order)),
                None => exit(1),
            }
        }
        // The engine has ended, or needs this process no longer.
        exit(0)
    })?;
    let runtime: Arc<dyn Runtime> = Arc::new(ClockedRuntime::of(&process));
    let store = AnyStore::new(Recording::new(store(&brief, &runtime), Arc::clone(&process)));
    let elections = Elections::with_runtime(store, Arc::clone(&runtime));
    taking_part::attend(process, runtime, elections, brief, ordered).await
}

fn store(brief: &Brief, runtime: &Arc<dyn Runtime>) -> AnyStore {
    let (host, port) = ("127.0.0.1", brief.store_port);
    let trusts = brief.trust_empty_store;
    let redis = || RedisConfig::new(host, port).trust_empty_store(trusts);
    let postgres = || PostgresConfig::new(host, port, "postgres").trust_empty_store(trusts);
    let runtime = Arc::clone(runtime);
    match brief.target {
        Target::Redis => AnyStore::new(Redis::with_runtime(redis(), runtime)),
        Target::Fred => AnyStore::new(Fred::new(redis())),
        Target::Postgres => AnyStore::new(Postgres::with_runtime(postgres(), runtime)),
    }
}
