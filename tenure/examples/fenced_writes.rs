//! Fenced writes to PostgreSQL and Redis, by writers that never ask whether they still lead.
//!
//! ```text
//! POSTGRES_URL=postgres://app@127.0.0.1/app REDIS_URL=redis://127.0.0.1 \
//!     cargo run --release -p tenure --features postgres,redis --example fenced_writes
//! ```
//!
//! Each tenure spawns two writers. They take their database over with the tenure's token, read, and
//! write until they are refused: spawned tasks do not end with the lead, so those of an earlier
//! leader go on, and only the databases can stop them.

#![allow(clippy::print_stdout, reason = "the program prints its writes")]

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use anyhow::Context;
use tenure::store::Key;
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::{Candidate, Config, Tenure, Token, fence};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;
use tokio_postgres::config::Host;

const ELECTION: &str = "fenced-writes";
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS numbers (number bigint PRIMARY KEY, token bigint NOT NULL)";
const LAST: &str = "SELECT coalesce(max(number), 0) FROM numbers";
const NEXT: &str = "INSERT INTO numbers SELECT coalesce(max(number), 0) + 1, $1 FROM numbers";

/// The end of a writer: it is refused, or fails.
type Refusal = Result<Infallible, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let set = |name| std::env::var(name).context(name);
    let (postgres, redis) = (set("POSTGRES_URL")?, set("REDIS_URL")?);
    let store = Postgres::new(PostgresConfig::from_url(&postgres)?);
    let candidate = Candidate::builder(store, ELECTION).config(Config::fast_failover()).start()?;
    let work = async |tenure: Tenure| {
        let rows = until_refused("PostgreSQL", to_postgres(postgres.clone(), tenure.token()));
        let keys = until_refused("Redis", to_redis(redis.clone(), tenure.token()));
        let (rows, keys) = (tokio::spawn(rows), tokio::spawn(keys));
        // A writer that fails under a current tenure gives the lead up, and both are tried again.
        tokio::select! {
            () = tenure.ended() => Ok(()),
            failure = rows => Err(failure.unwrap_or_else(|panic| panic.to_string())),
            failure = keys => Err(failure.unwrap_or_else(|panic| panic.to_string())),
        }
    };
    candidate.try_run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}

async fn until_refused(database: &str, writer: impl Future<Output = Refusal>) -> String {
    let Err(refusal) = writer.await;
    println!("{database}: {refusal}");
    format!("{database}: {refusal}")
}

async fn to_postgres(url: String, token: Token) -> Refusal {
    let mut client = connect(&url).await?;
    let fence = fence::postgres::Fence::new(&Key::new(ELECTION)?);
    client.batch_execute(&format!("{}{TABLE}", fence.schema_sql())).await?; // better in a migration
    let held = fence.take_over(&mut client, token).await?; // first
    let last: i64 = client.query_one(LAST, &[]).await?.get(0); // then read
    println!("PostgreSQL: taken over after {last}, token {token}");
    loop {
        let transaction = client.transaction().await?;
        held.check(&transaction).await?; // an error: the transaction is dropped
        transaction.execute(NEXT, &[&i64::try_from(token.get())?]).await?; // then write
        transaction.commit().await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn to_redis(url: String, token: Token) -> Refusal {
    let mut connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let fence = fence::redis::Fence::new(&Key::new(ELECTION)?);
    let held = fence.take_over(&mut connection, token).await?;
    println!("Redis: taken over, token {token}");
    loop {
        let value = token.to_string();
        held.set(&mut connection, "{fenced-writes}:writer", value.as_bytes()).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The same as `tokio_postgres::connect`, which needs that crate's feature `runtime`.
async fn connect(url: &str) -> Result<tokio_postgres::Client, Box<dyn Error + Send + Sync>> {
    let config: tokio_postgres::Config = url.parse()?;
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        return Err("POSTGRES_URL names no host".into());
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    let (client, connection) = config.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
