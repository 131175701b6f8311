//! The cost of a store's call, beside one raw upsert of the same row by the same client.
//!
//! Both sides speak over connections that were made and set up the same way, in turns, to a
//! PostgreSQL server of this benchmark's own with its default settings: each commit is on disk
//! before it is acknowledged. Besides, the store compares the row, and for a grant the past, as it
//! writes.
//!
//! Not measured: a network (loopback hides little, so ratios are worse than anywhere else), and a
//! runtime with several threads, whose wake-ups would drown what is compared.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::runtime::{Runtime as _, TokioRuntime};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{Request, Store};
use tenure_bench::{
    Comparison, Elections, HOLDER, METADATA, NAME, Operation, Outcome, Session, Side, one_thread,
};
use tenure_servers::PostgresServer;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

/// Few, since commits differ much from one to the next.
const TURN: u32 = 4;
const AT_MOST: f64 = 1.10;
/// A repeated acquire is not decided by the plain statement, which is for leases of others, but by
/// the function behind it.
const OPERATIONS: [Operation; 4] =
    [Operation::Acquire, Operation::AcquireAgain, Operation::Renew, Operation::Release];

/// The store's settings of its own session.
const SETTINGS: &str = "SET search_path TO pg_catalog; SET client_min_messages TO warning";
const TABLE: &str =
    "CREATE TABLE public.raw (LIKE tenure.leases INCLUDING ALL) WITH (fillfactor = 50)";
const UPSERT: &str = "INSERT INTO public.raw AS r \
         (key, token, holder, number, ttl, quarantine, written, name, metadata) \
         VALUES ($1, $2, $3, $2, $4, $4, $2, $5, $6) \
     ON CONFLICT (key) DO UPDATE SET token = excluded.token, holder = excluded.holder, \
         number = excluded.number, released = false, ttl = excluded.ttl, \
         quarantine = excluded.quarantine, written = excluded.written, name = excluded.name, \
         metadata = excluded.metadata \
     RETURNING r.token";

fn main() -> ExitCode {
    Session::run(Duration::from_millis(500), Duration::from_secs(4), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    let (server, runtime) = (PostgresServer::start()?, one_thread()?);
    let mut subject = runtime.block_on(Subject::new(&server))?;
    for operation in OPERATIONS {
        let mut comparison =
            Comparison::new("postgres", operation.name(), ["store", "upsert"], TURN);
        // A release sends a notification, which no upsert does.
        if operation != Operation::Release {
            comparison = comparison.at_most(AT_MOST);
        }
        session.compare(comparison, |side, repetitions| match side {
            Side::Ours => runtime.block_on(subject.elections.measure(operation, repetitions)),
            Side::Bare => subject.bare(&runtime, 0, repetitions as usize),
        });
    }
    let sides = ["upsert", "upsert, again"];
    let control = Comparison::new("postgres", "control (upsert)", sides, TURN);
    session.compare(control, |side, repetitions| {
        subject.bare(&runtime, usize::from(side == Side::Bare), repetitions as usize)
    });
    Ok(())
}

struct Subject {
    elections: Elections<Postgres>,
    raw: [(Client, Statement); 2],
}

impl Subject {
    async fn new(server: &PostgresServer) -> Outcome<Self> {
        let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
        let store = Postgres::new(config.trust_empty_store(true));
        let elections = Elections::new(store, TURN);
        for lease in &elections.leases {
            elections.store.call(&lease.key, Request::Observe).await?;
        }
        server.sql(TABLE)?;
        let raw = [connect(server.port()).await?, connect(server.port()).await?];
        Ok(Self { elections, raw })
    }

    fn bare(&mut self, runtime: &Runtime, which: usize, count: usize) -> Duration {
        let (client, upsert) = &self.raw[which];
        let leases = self.elections.leases.iter().take(count);
        let keys: Vec<_> = leases.map(|lease| &lease.key).collect();
        runtime.block_on(async {
            let holder = HOLDER.to_bits().to_be_bytes();
            let started = Instant::now();
            for (number, key) in (1_700_000_000_000_000_i64..).zip(keys) {
                let key = key.as_str().as_bytes();
                let (name, metadata) = (NAME.as_bytes(), METADATA.as_bytes());
                let rows = client
                    .query(upsert, &[&key, &number, &&holder[..], &1_i64, &name, &metadata])
                    .await;
                assert_eq!(rows.expect("an answer").len(), 1);
            }
            started.elapsed()
        })
    }
}

async fn connect(port: u16) -> Outcome<(Client, Statement)> {
    let stream = TokioRuntime.connect("127.0.0.1", port).await?;
    let mut settings = tokio_postgres::Config::new();
    settings.user("postgres").dbname("postgres");
    let (client, connection) = settings.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(SETTINGS).await?;
    let upsert = client.prepare(UPSERT).await?;
    Ok((client, upsert))
}
