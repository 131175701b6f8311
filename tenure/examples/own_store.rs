//! A store of your own over anything that can compare and swap a value: here a table of keys and
//! values in PostgreSQL, for which a program has a client anyway.
//!
//! ```sh
//! cargo run --example own_store --features cas,postgres -- "host=localhost user=app" nightly-report
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its tenures")]

use bytes::Bytes;
use tenure::store::cas::{Cas, CasStore, Swapped, Versioned};
use tenure::store::{Key, StoreError, StoreErrorKind, StoreTraits};
use tenure::{Candidate, Tenure};
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls, Row, types::ToSql};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS kept (key text UNIQUE, value bytea, version uuid)";
const GET: &str = "SELECT value, version::text FROM kept WHERE key = $1";
// The server draws each version, so that none occurs twice, whatever is lost or restored. Each swap is
// one statement, so that one of several at once is done.
const CREATE: &str = "INSERT INTO kept VALUES ($1, $2, gen_random_uuid()) ON CONFLICT DO NOTHING \
                      RETURNING version::text";
const SWAP: &str = "UPDATE kept SET value = $2, version = gen_random_uuid() \
                    WHERE key = $1 AND version = $3::text::uuid RETURNING version::text";

struct Table {
    address: String,
    client: Mutex<Option<Client>>,
}

impl Table {
    /// An outcome that is not known is an error, and nothing is tried again.
    async fn row(&self, sql: &str, by: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, StoreError> {
        let mut client = self.client.lock().await;
        // A request that is given up takes its connection with it.
        let connected = match client.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.connect().await.map_err(failed)?,
        };
        let row = connected.query_opt(sql, by).await;
        *client = Some(connected);
        row.map_err(failed)
    }

    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&self.address, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(TABLE).await?;
        Ok(client)
    }
}

fn failed(error: tokio_postgres::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Disconnected, "the table of values").with_source(error)
}

impl Cas for Table {
    type Version = String;

    fn traits(&self) -> StoreTraits {
        let mut traits = StoreTraits::new("table");
        traits.push = false;
        traits
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<String>>, StoreError> {
        let read = |row: Row| Versioned { value: Vec::into(row.get(0)), version: row.get(1) };
        Ok(self.row(GET, &[&key.as_str()]).await?.map(read))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&String>,
        value: Bytes,
    ) -> Result<Swapped<String>, StoreError> {
        let (key, value) = (key.as_str(), &value[..]);
        let swapped = match version {
            None => self.row(CREATE, &[&key, &value]).await?,
            Some(version) => self.row(SWAP, &[&key, &value, version]).await?,
        };
        Ok(swapped.map_or(Swapped::Conflict, |row| Swapped::Done(row.get(0))))
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let [_, address, key] = &std::env::args().collect::<Vec<_>>()[..] else {
        anyhow::bail!("usage: own_store ADDRESS KEY");
    };
    tracing_subscriber::fmt().init();
    let table = Table { address: address.clone(), client: Mutex::new(None) };
    let candidate = Candidate::builder(CasStore::new(table), key.as_str()).start()?;
    let work = async |tenure: Tenure| {
        println!("leads with the token {}", tenure.token());
        tenure.ended().await;
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}
