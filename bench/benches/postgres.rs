//! What a store's call costs beside one raw upsert of the same row, by the same client.
//!
//! Both sides speak over connections that were made and set up the same way, in turns, to a PostgreSQL
//! server of this benchmark's own with its default settings: each commit is on disk before it is
//! acknowledged. What the store does more is to look at the row, and for a grant at the history, as it writes.
//!
//! Not measured: a network (loopback hides little, so ratios are worse than anywhere else), and a
//! runtime with several threads, whose wake-ups would drown what is compared.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::Criterion;
use tenure::runtime::{Runtime as _, TokioRuntime};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};
use tenure_bench::{Comparison, Report, Side};
use tenure_servers::PostgresServer;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement};

/// Commits differ by more from one to the next than any two of them can hide.
const TURN: u32 = 4;
const AT_MOST: f64 = 1.10;
const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// No lease ends by itself while it is measured.
const TTL: Duration = Duration::from_secs(24 * 3_600);
const NAME: &str = "worker-7";
const METADATA: &str = "10.0.0.7:8080";

/// As the store sets up its own session.
const SETTINGS: &str = "SET search_path TO pg_catalog; SET client_min_messages TO warning";
const TABLE: &str =
    "CREATE TABLE public.raw (LIKE tenure.leases INCLUDING ALL) WITH (fillfactor = 50)";
const UPSERT: &str = "INSERT INTO public.raw AS r VALUES ($1, $2, $3, $4, $5, $6, $6, false, $7, $8) \
     ON CONFLICT (key) DO UPDATE SET token = excluded.token, holder = excluded.holder, \
     since = excluded.since, lease_end = excluded.lease_end, ttl = excluded.ttl, \
     quarantine = excluded.quarantine, released = false, name = excluded.name, \
     metadata = excluded.metadata RETURNING r.token";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args();
    let server = PostgresServer::start()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::new();
    let mut subject = runtime.block_on(Subject::new(&server))?;
    for operation in Operation::ALL {
        let comparison = Comparison::new("postgres", operation.name(), ["store", "upsert"], TURN);
        let mut comparison = match operation.at_most() {
            Some(ratio) => comparison.at_most(ratio),
            None => comparison,
        };
        comparison.run(&mut criterion, |side, repetitions| match side {
            Side::Ours => subject.ours(&runtime, operation, repetitions as usize),
            Side::Bare => subject.bare(&runtime, 0, repetitions as usize),
        });
        report.add(comparison);
    }
    let sides = ["upsert", "upsert, again"];
    let mut control = Comparison::new("postgres", "control (upsert)", sides, TURN);
    control.run(&mut criterion, |side, repetitions| {
        subject.bare(&runtime, usize::from(side == Side::Bare), repetitions as usize)
    });
    report.add(control);
    criterion.final_summary();
    report.print()?;
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// A grant to the next tenure, after the last one's release.
    Acquire,
    /// The grant again to the same holder, as when the first reply was lost. Two statements: the first is for
    /// vacant leases only.
    AcquireAgain,
    Renew,
    /// With a notification, which no upsert sends.
    Release,
}

impl Operation {
    const ALL: [Self; 4] = [Self::Acquire, Self::AcquireAgain, Self::Renew, Self::Release];

    fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire (vacant)",
            Self::AcquireAgain => "acquire (own lease)",
            Self::Renew => "renew",
            Self::Release => "release",
        }
    }

    fn at_most(self) -> Option<f64> {
        (self != Self::Release).then_some(AT_MOST)
    }

    fn needs_live(self) -> bool {
        self != Self::Acquire
    }
}

/// One election as its only candidate sees it.
struct Lease {
    key: Key,
    last: Option<Token>,
    live: bool,
}

struct Subject {
    store: Postgres,
    raw: [(Client, Statement); 2],
    leases: Vec<Lease>,
    profile: Profile,
}

impl Subject {
    async fn new(server: &PostgresServer) -> Result<Self, Box<dyn Error>> {
        let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
        let store = Postgres::new(config.trust_empty_store(true));
        let mut leases = Vec::new();
        for number in 0..TURN {
            let key = Key::new(format!("election-{number:03}"))?;
            store.call(&key, Request::Observe).await?;
            leases.push(Lease { key, last: None, live: false });
        }
        server.sql(TABLE)?;
        let raw = [connect(server.port()).await?, connect(server.port()).await?];
        Ok(Self { store, raw, leases, profile: Profile::new(NAME, METADATA)? })
    }

    /// How long it takes to do that to so many leases, one after the other.
    fn ours(&mut self, runtime: &Runtime, operation: Operation, count: usize) -> Duration {
        runtime.block_on(async {
            let by = if operation.needs_live() { Operation::Acquire } else { Operation::Release };
            for number in 0..count {
                if self.leases[number].live != operation.needs_live() {
                    self.perform(by, number..number + 1).await;
                }
            }
            self.perform(operation, 0..count).await
        })
    }

    async fn perform(&mut self, operation: Operation, range: std::ops::Range<usize>) -> Duration {
        let leases = &mut self.leases[range];
        let requests: Vec<_> =
            leases.iter().map(|lease| request(operation, lease, &self.profile)).collect();
        let mut replies = Vec::with_capacity(leases.len());
        let started = Instant::now();
        for (lease, request) in leases.iter().zip(requests) {
            replies.push(self.store.call(&lease.key, request).await);
        }
        let took = started.elapsed();
        for (lease, reply) in leases.iter_mut().zip(replies) {
            note(lease, operation, &reply.expect("an answer"));
        }
        took
    }

    fn bare(&mut self, runtime: &Runtime, which: usize, count: usize) -> Duration {
        let (client, upsert) = &self.raw[which];
        let keys: Vec<_> = self.leases.iter().take(count).map(|lease| &lease.key).collect();
        runtime.block_on(async {
            let holder = HOLDER.to_bits().to_be_bytes();
            let started = Instant::now();
            for (number, key) in (1_700_000_000_000_000_i64..).zip(keys) {
                let key = key.as_str().as_bytes();
                let (name, metadata) = (NAME.as_bytes(), METADATA.as_bytes());
                let rows = client
                    .query(
                        upsert,
                        &[&key, &number, &&holder[..], &number, &number, &1_i64, &name, &metadata],
                    )
                    .await;
                assert_eq!(rows.expect("an answer").len(), 1);
            }
            started.elapsed()
        })
    }
}

async fn connect(port: u16) -> Result<(Client, Statement), Box<dyn Error>> {
    let stream = TokioRuntime.connect("127.0.0.1", port).await?;
    let mut settings = tokio_postgres::Config::new();
    settings.user("postgres").dbname("postgres");
    let (client, connection) = settings.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(SETTINGS).await?;
    let upsert = client.prepare(UPSERT).await?;
    Ok((client, upsert))
}

fn request(operation: Operation, lease: &Lease, profile: &Profile) -> Request {
    let token = lease.last.unwrap_or(Token::FIRST);
    match operation {
        Operation::Acquire | Operation::AcquireAgain => Request::Acquire {
            holder: HOLDER,
            seen: lease.last,
            ttl: TTL,
            quarantine: TTL,
            profile: profile.clone(),
        },
        Operation::Renew => Request::Renew { holder: HOLDER, token, ttl: TTL },
        Operation::Release => Request::Release { holder: HOLDER, token },
    }
}

/// Panics if the operation did not do what it was measured for.
fn note(lease: &mut Lease, operation: Operation, reply: &Reply) {
    match (operation, reply) {
        (Operation::Acquire, Reply::Granted { token, .. }) if Some(*token) > lease.last => {
            (lease.last, lease.live) = (Some(*token), true);
        }
        (Operation::AcquireAgain, Reply::Granted { token, .. }) if Some(*token) == lease.last => {}
        (Operation::Renew, Reply::Renewed) => {}
        (Operation::Release, Reply::Released) => lease.live = false,
        _ => panic!("{operation:?} was answered {reply:?}"),
    }
}
