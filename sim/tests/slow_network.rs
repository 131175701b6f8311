//! The shipped driver and Redis adapter over a network with long round trips, beside callers that
//! are less patient than those take. All time is virtual.
// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::runtime::{Connection, Runtime};
use tenure::store::AnyStore;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Elections, Instant};
use tenure_sim::engines::redis::{Redis as Server, Settings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time;

/// A minute to look back on.
const BOOTED: Duration = Duration::from_secs(60);
const IMPATIENT: Duration = Duration::from_millis(1_500);

/// The machine of the candidates: tokio's paused clock, and connections to the one server.
#[derive(Debug)]
struct Machine {
    began: time::Instant,
    dials: mpsc::UnboundedSender<DuplexStream>,
    drawn: AtomicU64,
}

impl Runtime for Machine {
    fn now(&self) -> Instant {
        Instant::ORIGIN + BOOTED + self.began.elapsed()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        time::sleep_until(self.began + deadline.since(Instant::ORIGIN + BOOTED)).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let (ours, theirs) = duplex(1 << 20);
        self.dials.send(theirs).unwrap();
        async { Ok(Box::new(ours) as Connection) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(u128::from(self.drawn.fetch_add(1, Ordering::SeqCst)) << 96 | 0x1234_5678)
    }
}

/// The way to the server.
struct Network {
    one_way: Duration,
    connections: AtomicU64,
    /// Connections up to this number are silent.
    silent: AtomicU64,
}

impl Network {
    fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Drops whatever is sent on the connections that are open.
    fn forgets_connections(&self) {
        self.silent.store(self.connections(), Ordering::SeqCst);
    }

    /// Passes on what comes, one way's time later.
    async fn carry(
        self: Arc<Self>,
        number: u64,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) {
        let (sends, mut arrives) = mpsc::unbounded_channel();
        let reads = async {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut bytes).await {
                drop(sends.send((time::Instant::now() + self.one_way, bytes[..count].to_vec())));
            }
            drop(sends);
        };
        let writes = async {
            while let Some((at, bytes)) = arrives.recv().await {
                time::sleep_until(at).await;
                let is_lost = number <= self.silent.load(Ordering::SeqCst);
                if !is_lost && to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(reads, writes);
    }
}

/// A store at such a network.
fn network(round_trip: Duration) -> (AnyStore, Arc<Machine>, Arc<Network>) {
    let began = time::Instant::now();
    let micros = move || 1_000_000_000 + u64::try_from(began.elapsed().as_micros()).unwrap();
    let server = Server::new(Settings::default(), micros);
    let (dials, mut dialled) = mpsc::unbounded_channel();
    let machine = Arc::new(Machine { began, dials, drawn: AtomicU64::new(0) });
    let network = Arc::new(Network {
        one_way: round_trip / 2,
        connections: AtomicU64::new(0),
        silent: AtomicU64::new(0),
    });
    let way = Arc::clone(&network);
    spawn_local(async move {
        while let Some(client) = dialled.recv().await {
            let number = way.connections.fetch_add(1, Ordering::SeqCst) + 1;
            let (near, far) = duplex(1 << 20);
            let server = server.clone();
            spawn_local(async move { drop(server.serve(far, "machine").await) });
            let ((requests, answers), (from_server, to_server)) = (split(client), split(near));
            spawn_local(Arc::clone(&way).carry(number, requests, to_server));
            spawn_local(Arc::clone(&way).carry(number, from_server, answers));
        }
    });
    let config = RedisConfig::new("store", 6379)
        .trust_empty_store(true)
        .connect_timeout(Duration::from_secs(30));
    let store = Redis::with_runtime(config, Arc::clone(&machine) as Arc<dyn Runtime>);
    (AnyStore::new(store), machine, network)
}

fn patient() -> Config {
    let config = Config::builder(Duration::from_secs(60)).request_timeout(Duration::from_secs(8));
    config.build().unwrap()
}

fn run(test: impl Future<Output = ()>) {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// A look that is given up long before an answer can come.
async fn looks(candidate: &Candidate) {
    let look = time::timeout(IMPATIENT, candidate.incumbent()).await;
    assert!(!matches!(look, Ok(Ok(_))), "{look:?}");
}

#[test]
fn impatient_callers_cost_a_patient_leader_nothing() {
    run(async {
        let (store, machine, network) = network(Duration::from_secs(2));
        let elections = Elections::with_runtime(store, machine);
        let leader = elections.candidate("job").config(patient()).start().unwrap();
        let tenure = time::timeout(Duration::from_secs(100), leader.elected()).await.unwrap();
        let tenure = tenure.unwrap();
        // Its requests are given up sooner than an answer takes.
        let other = elections.candidate("fast").config(Config::fast_failover()).start().unwrap();
        for _ in 0..200 {
            looks(&leader).await;
            time::sleep(IMPATIENT).await;
        }
        assert!(tenure.is_current());
        assert_eq!(network.connections(), 1);
        assert!(!other.is_leader());
    });
}

#[test]
fn a_silent_connection_is_still_replaced() {
    // Round trips, and the most that may pass until another connection is dialled: a request
    // timeout, and a question where answers usually take long.
    for (round_trip, bound) in [(20, 10), (2_000, 20)] {
        run(async {
            let round_trip = Duration::from_millis(round_trip);
            let (store, machine, network) = network(round_trip);
            let elections = Elections::with_runtime(store, machine);
            let leader = elections.candidate("job").config(patient()).start().unwrap();
            let tenure = time::timeout(Duration::from_secs(100), leader.elected()).await.unwrap();
            let tenure = tenure.unwrap();
            time::sleep(Duration::from_secs(61)).await;
            network.forgets_connections();
            let began = time::Instant::now();
            while network.connections() == 1 {
                drop(time::timeout(IMPATIENT, leader.incumbent()).await);
                assert!(began.elapsed() < Duration::from_secs(bound), "{round_trip:?}");
            }
            time::sleep(Duration::from_secs(120)).await;
            assert!(tenure.is_current(), "renewed over another connection");
        });
    }
}
