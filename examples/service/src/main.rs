//! The service as a process: its settings, its start and its end.
//!
//! ```text
//! DATABASE_URL=postgres://postgres@127.0.0.1/postgres LISTEN=127.0.0.1:8080 cargo run
//! ```

use std::env;
use std::future::IntoFuture as _;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::{Candidate, Config};
use tenure_example_service::database::Database;
use tenure_example_service::{ELECTION, lead, web};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = env::var("DATABASE_URL").unwrap_or("postgres://postgres@127.0.0.1/postgres".into());
    let listen = env::var("LISTEN").unwrap_or("127.0.0.1:8080".into());
    let listener = TcpListener::bind(&listen).await?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "listening");
    // Not the same where it listens at all interfaces, as in a container.
    let reached_at = env::var("ADDRESS").unwrap_or_else(|_| address.to_string());
    let metrics = PrometheusBuilder::new().install_recorder()?; // before the first candidate
    tenure::metrics::describe();

    // The election has connections of its own, beside the pool: a renewal must not wait for one.
    let database = Database::connect(&url).await?;
    let store = Postgres::new(PostgresConfig::from_url(&url)?);
    let longest_stop = Duration::from_secs(5); // Docker kills after 10
    let candidate = Candidate::builder(store, ELECTION)
        .metadata(reached_at) // where others reach the leader
        .config(Config::fast_failover().to_builder().longest_stop(longest_stop).build()?)
        .start()?;

    // One signal ends both: the server finishes its requests, and the leader hands over.
    let (signal, stopping) = (tenure::shutdown_signal()?, CancellationToken::new());
    let server = axum::serve(listener, web::routes(&candidate, database.clone(), metrics))
        .with_graceful_shutdown(stopping.clone().cancelled_owned())
        .into_future();
    // A request that waits for a silent database must not outlast the container.
    let server = async {
        let late = async {
            stopping.cancelled().await;
            tokio::time::sleep(longest_stop).await;
        };
        tokio::select! {
            served = server => served,
            () = late => Ok(()),
        }
    };
    let election = async {
        let shutdown = async {
            signal.await;
            stopping.cancel();
        };
        let ended = lead(&candidate, &database, shutdown).await;
        stopping.cancel(); // also if the election has ended by itself
        ended
    };
    let (served, led) = tokio::join!(server, election);
    served?;
    led
}
