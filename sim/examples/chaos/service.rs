//! The service under test, which knows nothing of the faults.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use tenure::fence::redis::Fence;
use tenure::store::Key;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::trace::Log;
use tenure::{Config, Elections, Tenure};

use crate::{Failure, TTL};

/// Takes part in the election until the standard input ends. A leader ships orders, one after the
/// other.
pub(crate) async fn serve(
    store: u16,
    database: &Database,
    folder: &Path,
    name: &str,
) -> Result<(), Failure> {
    let log = Log::create_in(folder)?;
    let elections = Elections::new(Redis::new(RedisConfig::new("127.0.0.1", store)));
    let candidate = elections.trace(log.clone()).candidate("job").name(name);
    let candidate = candidate.config(Config::builder(TTL).build()?).start()?;
    let work = async |tenure: Tenure| {
        while tenure.is_current() {
            // The next attempt takes the database over again.
            if let Err(error) = database.ship(&tenure).await {
                eprintln!("{name}: {error}");
            }
        }
    };
    candidate.run_until(input_ends(), work).await?;
    log.flush();
    Ok(())
}

/// The service's rows: a field for each order and token, whose value is the name of the node.
pub(crate) const TABLE: &str = "shipped";
const EVERY: Duration = Duration::from_millis(50);

pub(crate) struct Database {
    client: redis::Client,
    is_fenced: bool,
    name: String,
}

impl Database {
    pub(crate) fn new(port: u16, guard: &str, name: &str) -> Result<Self, Failure> {
        let is_fenced = match guard {
            "fenced" => true,
            "unfenced" => false,
            other => return Err(format!("{other:?} is neither fenced nor unfenced").into()),
        };
        let client = redis::Client::open(("127.0.0.1", port))?;
        Ok(Self { client, is_fenced, name: name.to_owned() })
    }

    /// Ships orders while that tenure is current. A leader without a fence does the same, and only
    /// checks its tenure.
    async fn ship(&self, tenure: &Tenure) -> Result<(), Failure> {
        let mut database = self.client.get_multiplexed_async_connection().await?;
        let fence = Fence::new(&Key::new("job")?);
        let taken_over = if self.is_fenced {
            Some(fence.take_over(&mut database, tenure.token()).await?)
        } else {
            None
        };
        while tenure.is_current() {
            let order: u64 = redis::cmd("HLEN").arg(TABLE).query_async(&mut database).await?;
            // If the reply is lost, the same row is written again, which changes nothing.
            let row = format!("{order} {}", tenure.token());
            if let Some(taken_over) = &taken_over {
                let write = tenure.trace_write("database");
                let script = "return redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])";
                let [row, name] = [row.as_bytes(), self.name.as_bytes()];
                let result: Result<u64, _> =
                    taken_over.eval(&mut database, script, &[TABLE], &[row, name]).await;
                write.ended(&result);
                result?;
            } else if tenure.is_current() {
                let _: u64 = redis::cmd("HSETNX")
                    .arg(&[TABLE, &row, &self.name])
                    .query_async(&mut database)
                    .await?;
            }
            tokio::time::sleep(EVERY).await;
        }
        Ok(())
    }
}

async fn input_ends() {
    let ended = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
    // Whatever the reason, there is nothing more to wait for.
    let _ = ended.await;
}
