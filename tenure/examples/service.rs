//! A web service with a job and a route that only its leader serves: axum, `/healthz`, `/readyz`,
//! `/metrics`, `/leader`, `/orders`, and a shutdown that hands over.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 LISTEN=127.0.0.1:8080 \
//!     cargo run --release -p tenure --features redis,tower --example service
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its address")]

use std::future::IntoFuture;
use std::time::Duration;

use anyhow::Context;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Router};
use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::leader_only::LeaderOnly;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Role, Tenure};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let listener =
        TcpListener::bind(std::env::var("LISTEN").unwrap_or("127.0.0.1:8080".into())).await?;
    let address = listener.local_addr()?;
    println!("listening on {address}");
    // Before the first candidate.
    let metrics = PrometheusBuilder::new().install_recorder()?;
    tenure::metrics::describe();
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let store = Redis::new(RedisConfig::from_url(&url)?);
    let candidate = Candidate::builder(store, "service")
        .metadata(address.to_string()) // where others reach the leader
        .config(Config::fast_failover().to_builder().longest_stop(Duration::from_secs(5)).build()?)
        .start()?;

    let app = Router::new()
        .route("/orders", post(order))
        .route_layer(LeaderOnly::new(&candidate)) // the route above; those below are served by all
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(async move || metrics.render()))
        .route("/leader", get(leader))
        .with_state(candidate.clone());
    let (signal, stopping) = (tenure::shutdown_signal()?, CancellationToken::new());
    let server = axum::serve(listener, app)
        .with_graceful_shutdown(stopping.clone().cancelled_owned())
        .into_future();
    // One signal ends both: the server finishes its requests, and the job ends and hands over.
    let shutdown = async {
        signal.await;
        stopping.cancel();
    };
    // The candidate may also end by itself: the server then ends too.
    let elections = async {
        let stopped = candidate.run_until(shutdown, job).await;
        stopping.cancel();
        stopped
    };
    let (http, stopped) = tokio::join!(server, elections);
    http?;
    stopped?;
    Ok(())
}

/// The liveness of this process. One that waits is healthy, and so is one whose store is gone: to
/// restart it would not help. One whose driver is gone never leads again.
async fn healthy(State(candidate): State<Candidate>) -> (StatusCode, &'static str) {
    match candidate.health().role {
        Role::DriverGone => (StatusCode::SERVICE_UNAVAILABLE, "the driver is gone"),
        _ => (StatusCode::OK, "ok"),
    }
}

/// The leader's address.
async fn leader(State(candidate): State<Candidate>) -> (StatusCode, String) {
    match candidate.incumbent().await {
        Ok(Some(leader)) => (StatusCode::OK, String::from_utf8_lossy(&leader.metadata).into()),
        Ok(None) => (StatusCode::NOT_FOUND, "no candidate leads".into()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

/// The readiness for requests: also of a process that waits, and for a minute after its store was
/// last there.
async fn ready(State(candidate): State<Candidate>) -> (StatusCode, &'static str) {
    if candidate.health().is_ready(Duration::from_secs(60)) {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the store has not answered for a while")
    }
}

/// Other processes answer 503, and name the leader in the header `tenure-leader`. What this writes
/// carries the token.
async fn order(Extension(tenure): Extension<Tenure>) -> String {
    format!("accepted under token {}", tenure.token())
}

async fn job(tenure: Tenure) {
    while tenure.is_current() {
        println!("the leader's job, under token {}", tenure.token());
        tokio::select! {
            () = tenure.ended() => {}
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
