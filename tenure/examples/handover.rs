//! How long a handover takes, and a takeover after a crash, on this machine and a Redis of its own.
//!
//! ```text
//! cargo run --release -p tenure --features redis --example handover
//! ```
//!
//! A handover is measured from the call of `stop()` on the leader to the successor's election, at
//! default settings. A crash is a driver that is dropped; the takeover is measured from the end of
//! the lease by the server's clock, which is this machine's.

#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use futures_util::StreamExt;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Driver, Event, Tenure};
use tenure_servers::{RedisServer, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Longer than what new candidates do at first, and than the least time between two hints.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Parser)]
struct Arguments {
    /// How many handovers to measure.
    #[arg(long, default_value_t = 30)]
    runs: u32,
    /// How many crashes to measure.
    #[arg(long, default_value_t = 10)]
    crashes: u32,
    /// The TTL of leases whose leader crashes, in milliseconds.
    #[arg(long, default_value_t = 3_000)]
    crash_ttl_ms: u64,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let server = RedisServer::start()?;
    let mut wire = Wire::open(server.port()).await?;

    let (mut taken, mut trips) = (Vec::new(), Vec::new());
    for run in 0..arguments.runs {
        trips.push(wire.round_trip().await?);
        taken.push(handover(&server, run).await?);
    }
    println!("Graceful handover, default settings (TTL {:?})", Config::default().ttl());
    report("from stop() to the successor's election", taken);
    report("raw round trip", trips);

    let config = Config::builder(Duration::from_millis(arguments.crash_ttl_ms)).build()?;
    let (mut taken, mut trips) = (Vec::new(), Vec::new());
    for run in 0..arguments.crashes {
        trips.push(wire.round_trip().await?);
        taken.push(takeover(&server, run, config).await?);
    }
    println!("\nTakeover after a crash (TTL {:?})", config.ttl());
    report("from the lease's end to the successor's election", taken);
    report("raw round trip", trips);
    Ok(())
}

async fn handover(server: &RedisServer, run: u32) -> Outcome<Duration> {
    let config = Config::default();
    let (leader, driver) = candidate(server, &format!("handover:{run}"), config)?;
    tokio::spawn(driver.run());
    leader.elected().await?;
    let standby = standby(server, &format!("handover:{run}"), config).await?;
    let elected = elected(&standby);
    let began = Instant::now();
    leader.stop().await?;
    let (_, at, _) = elected.await??;
    standby.stop().await?;
    Ok(at - began)
}

async fn takeover(server: &RedisServer, run: u32, config: Config) -> Outcome<Duration> {
    let key = format!("takeover:{run}");
    let (leader, driver) = candidate(server, &key, config)?;
    let driving = tokio::spawn(driver.run());
    leader.elected().await?;
    let standby = standby(server, &key, config).await?;
    let elected = elected(&standby);
    driving.abort();
    // What was on its way has arrived by then.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let lease_end = lease_end(server, &key)?;
    let (_, _, at) = elected.await??;
    standby.stop().await?;
    Ok(at.duration_since(SystemTime::UNIX_EPOCH)?.saturating_sub(lease_end))
}

fn candidate(server: &RedisServer, key: &str, config: Config) -> Outcome<(Candidate, Driver)> {
    let store = Redis::new(RedisConfig::from_url(&server.url())?.trust_empty_store(true));
    Ok(Candidate::builder(store, key).config(config).build()?)
}

/// A candidate that knows the leader and waits.
async fn standby(server: &RedisServer, key: &str, config: Config) -> Outcome<Candidate> {
    let (standby, driver) = candidate(server, key, config)?;
    let mut events = standby.events();
    tokio::spawn(driver.run());
    while !matches!(events.next().await, Some(Event::IncumbentChanged { .. }) | None) {}
    tokio::time::sleep(SETTLE).await;
    Ok(standby)
}

/// The next tenure, and when it began by two clocks.
fn elected(standby: &Candidate) -> JoinHandle<Outcome<(Tenure, Instant, SystemTime)>> {
    let standby = standby.clone();
    tokio::spawn(async move {
        let tenure = standby.elected().await?;
        Ok((tenure, Instant::now(), SystemTime::now()))
    })
}

/// When the lease ends, since 1970.
fn lease_end(server: &RedisServer, key: &str) -> Outcome<Duration> {
    match server.command(&["HGET", &format!("{{tenure}}:leader:{key}"), "lease_end"])? {
        Reply::BulkString(micros) => {
            Ok(Duration::from_micros(std::str::from_utf8(&micros)?.parse()?))
        }
        other => Err(format!("no record of {key}: {other:?}").into()),
    }
}

/// A connection without a client library.
struct Wire(TcpStream);

impl Wire {
    async fn open(port: u16) -> Outcome<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// The median of a few.
    async fn round_trip(&mut self) -> Outcome<Duration> {
        let mut trips = Vec::new();
        for _ in 0..21 {
            let began = Instant::now();
            self.0.write_all(b"PING\r\n").await?;
            let mut reply = [0; 7];
            self.0.read_exact(&mut reply).await?;
            trips.push(began.elapsed());
        }
        trips.sort();
        Ok(trips[trips.len() / 2])
    }
}

fn report(what: &str, mut samples: Vec<Duration>) {
    samples.sort();
    let (Some(least), Some(most)) = (samples.first(), samples.last()) else { return };
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    println!("  {what}, {} runs", samples.len());
    println!("    min {least:?}  median {:?}  p90 {:?}  max {most:?}", at(50), at(90));
    let mut from = Duration::ZERO;
    for to in [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, u64::MAX] {
        let to = Duration::from_micros(to);
        let count = samples.iter().filter(|&&sample| from <= sample && sample < to).count();
        if count > 0 {
            println!("    from {:>7} {count:>4} {}", format!("{from:?}"), "#".repeat(count));
        }
        from = to;
    }
}
