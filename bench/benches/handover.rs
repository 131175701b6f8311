//! How long a handover takes on each store, and a takeover after a crash, on this machine and servers of its
//! own.
//!
//! ```text
//! cargo bench -p tenure-bench --features etcd --bench handover
//! ```
//!
//! A handover is measured from the call of `stop()` on the leader to the successor's election, at default
//! settings. A crash is a driver that is dropped; the takeover is measured from the end of the lease at the
//! store. With `--beside 10000`, the leader's driver leads so many other elections meanwhile, and the successor's driver
//! waits in all of them.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::StreamExt;
use tenure::store::{AnyStore, Memory};
use tenure::{Candidate, Config, Elections, Event};
use tokio::task::JoinHandle;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Longer than what new candidates do at first, and than the least time between two hints.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Parser)]
struct Arguments {
    /// The stores to measure; by default all that were built in.
    stores: Vec<String>,
    /// How many handovers to measure.
    #[arg(long, default_value_t = 30)]
    runs: u32,
    /// How many crashes to measure.
    #[arg(long, default_value_t = 10)]
    crashes: u32,
    /// How many other elections both drivers take part in.
    #[arg(long, default_value_t = 0)]
    beside: u32,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
    /// Measure each once, to see that it runs.
    #[arg(long)]
    test: bool,
}

/// A store of this benchmark's own.
struct Place {
    name: &'static str,
    /// For handovers, and for crashes.
    configs: [Config; 2],
    /// Another connection to it.
    connect: Box<dyn Fn() -> AnyStore>,
    busy: Option<Busy>,
}

/// Two drivers, the first of which leads many elections in which the second one waits.
struct Busy {
    leading: Elections,
    waiting: Elections,
    _candidates: Vec<Candidate>,
}

/// How long all of them may take to be elected.
const BUSY_WITHIN: Duration = Duration::from_secs(60);

impl Busy {
    async fn start(place: &Place, count: u32) -> Outcome<Self> {
        let [leading, waiting] = [place.elections(), place.elections()];
        let join = |elections: &Elections| -> Outcome<Vec<Candidate>> {
            let join = |number| elections.candidate(format!("beside:{number}")).start();
            Ok((0..count).map(join).collect::<Result<_, _>>()?)
        };
        let mut candidates = join(&leading)?;
        let elected = async {
            for candidate in &candidates {
                candidate.elected().await?;
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(BUSY_WITHIN, elected)
            .await
            .map_err(|_| format!("{count} elections had no leaders after {BUSY_WITHIN:?}"))??;
        candidates.extend(join(&waiting)?);
        // Until each has asked once.
        tokio::time::sleep(BUSY_WITHIN / 10).await;
        Ok(Self { leading, waiting, _candidates: candidates })
    }
}

impl Place {
    fn new(name: &'static str, connect: impl Fn() -> AnyStore + 'static) -> Outcome<Self> {
        let crash = Config::builder(Duration::from_secs(3)).build()?;
        let configs = [Config::default(), crash];
        Ok(Self { name, configs, connect: Box::new(connect), busy: None })
    }

    /// A driver of its own.
    fn elections(&self) -> Elections {
        Elections::new((self.connect)())
    }

    /// A candidate that knows the leader and waits.
    async fn standby(&self, key: &str, config: Config) -> Outcome<Candidate> {
        let waiting = self.busy.as_ref().map(|busy| busy.waiting.clone());
        let waiting = waiting.unwrap_or_else(|| self.elections());
        let standby = waiting.candidate(key).config(config).start()?;
        let mut events = standby.events();
        // A driver that runs already may have told before.
        let knows_leader = async {
            while !matches!(events.next().await, Some(Event::IncumbentChanged { .. }) | None) {}
        };
        let _ = tokio::time::timeout(SETTLE, knows_leader).await;
        tokio::time::sleep(SETTLE).await;
        Ok(standby)
    }

    async fn handover(&self, run: u32) -> Outcome<Duration> {
        let (key, config) = (format!("handover:{run}"), self.configs[0]);
        let leading = self.busy.as_ref().map(|busy| busy.leading.clone());
        let leading = leading.unwrap_or_else(|| self.elections());
        let leader = leading.candidate(&key).config(config).start()?;
        leader.elected().await?;
        let standby = self.standby(&key, config).await?;
        let elected = elected(&standby);
        let began = Instant::now();
        leader.stop().await?;
        let at = elected.await??;
        standby.stop().await?;
        Ok(at - began)
    }

    async fn takeover(&self, run: u32) -> Outcome<Duration> {
        let (key, config) = (format!("takeover:{run}"), self.configs[1]);
        let (leader, driver) = Candidate::builder((self.connect)(), &key).config(config).build()?;
        let driving = tokio::spawn(driver.run());
        leader.elected().await?;
        let standby = self.standby(&key, config).await?;
        let elected = elected(&standby);
        driving.abort();
        // What was on its way has arrived by then.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let asked = Instant::now();
        let incumbent = standby.incumbent().await?.ok_or("the lease has ended already")?;
        let lease_end = asked + incumbent.remaining;
        let at = elected.await??;
        standby.stop().await?;
        Ok(at.saturating_duration_since(lease_end))
    }
}

/// When the next tenure began.
fn elected(standby: &Candidate) -> JoinHandle<Outcome<Instant>> {
    let standby = standby.clone();
    tokio::spawn(async move {
        standby.elected().await?;
        Ok(Instant::now())
    })
}

/// Each store that was built in, with a server of its own where it needs one.
fn places() -> Outcome<Vec<Place>> {
    let memory = Memory::new();
    let mut places = vec![Place::new("memory", move || AnyStore::new(memory.clone()))?];
    {
        use std::sync::Arc;
        use tenure::store::redis::RedisConfig;
        let server = Arc::new(tenure_servers::RedisServer::start()?);
        let config = RedisConfig::from_url(&server.url())?.trust_empty_store(true);
        places.push(Place::new("redis", {
            let (server, config) = (Arc::clone(&server), config.clone());
            move || {
                let _runs_on = &server;
                AnyStore::new(tenure::store::redis::Redis::new(config.clone()))
            }
        })?);
        places.push(Place::new("fred", move || {
            let _runs_on = &server;
            AnyStore::new(tenure::store::redis::Fred::new(config.clone()))
        })?);
    }
    {
        use tenure::store::postgres::{Postgres, PostgresConfig};
        let server = tenure_servers::PostgresServer::start()?;
        places.push(Place::new("postgres", move || {
            let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
            AnyStore::new(Postgres::new(config.trust_empty_store(true)))
        })?);
    }
    #[cfg(feature = "etcd")]
    {
        use tenure::store::etcd::{Etcd, EtcdConfig};
        let server = tenure_servers::EtcdServer::start()?;
        let place = Place::new("etcd", move || {
            let config = EtcdConfig::new("127.0.0.1", server.port());
            AnyStore::new(Etcd::new(config.trust_empty_store(true)))
        })?;
        // Of shorter leases, its clock would leave too little.
        let crash = Config::fast_failover();
        places.push(Place { configs: [Config::default(), crash], ..place });
    }
    {
        use tenure::store::sqlite::{Sqlite, SqliteConfig};
        let folder = tempfile::tempdir()?;
        places.push(Place::new("sqlite", move || {
            let config = SqliteConfig::new(folder.path().join("elections.db"));
            AnyStore::new(Sqlite::new(config.trust_empty_store(true)))
        })?);
    }
    Ok(places)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let Arguments { stores, runs, crashes, beside, test, .. } = Arguments::parse();
    let (runs, crashes, beside) = if test { (1, 1, 3) } else { (runs, crashes, beside) };
    let mut places = places()?;
    let known: Vec<_> = places.iter().map(|place| place.name).collect();
    if let Some(unknown) = stores.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("no store {unknown:?}; built in are {}", known.join(", ")).into());
    }
    println!("| store | what | TTL, s | runs | min, ms | median | p90 | max |");
    println!("|---|---|---|---|---|---|---|---|");
    for place in &mut places {
        if !stores.is_empty() && !stores.iter().any(|name| name == place.name) {
            continue;
        }
        if beside > 0 {
            place.busy = Some(Busy::start(place, beside).await?);
        }
        let mut taken = Vec::new();
        for run in 0..runs {
            taken.push(place.handover(run).await?);
        }
        report(place, "handover", place.configs[0], taken);
        let mut taken = Vec::new();
        for run in 0..crashes {
            taken.push(place.takeover(run).await?);
        }
        report(place, "after a crash", place.configs[1], taken);
    }
    Ok(())
}

fn report(place: &Place, what: &str, config: Config, mut samples: Vec<Duration>) {
    samples.sort();
    let Some(last) = samples.len().checked_sub(1) else { return };
    let at = |percent: usize| format!("{:.2}", samples[last * percent / 100].as_secs_f64() * 1e3);
    println!(
        "| {} | {what} | {} | {} | {} | {} | {} | {} |",
        place.name,
        config.ttl().as_secs_f64(),
        samples.len(),
        at(0),
        at(50),
        at(90),
        at(100),
    );
}
