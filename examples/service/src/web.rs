//! The routes: orders at the leader, and probes and metrics at each process.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Router};
use metrics_exporter_prometheus::PrometheusHandle;
use tenure::leader_only::LeaderOnly;
use tenure::{Candidate, Role, Tenure};

use crate::database::Database;

/// The state of all handlers.
#[derive(Clone)]
struct App {
    candidate: Candidate,
    database: Database,
}

type Answer = (StatusCode, String);

/// The routes of a process.
pub fn routes(candidate: &Candidate, database: Database, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/orders", post(accept))
        .route_layer(LeaderOnly::new(candidate)) // the route above; those below are served by all
        .route("/shipped", get(shipped))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(async move || metrics.render()))
        .with_state(App { candidate: candidate.clone(), database })
}

/// At other processes, the layer answers 503, with the leader's address in a header.
async fn accept(State(app): State<App>, Extension(tenure): Extension<Tenure>) -> Answer {
    answer(app.database.accept(tenure.token()).await, |order| format!("order {order}\n"))
}

async fn shipped(State(app): State<App>) -> Answer {
    answer(app.database.shipped().await, |(shipments, orders)| {
        format!("{shipments} shipments of {orders} orders\n")
    })
}

/// Liveness: a restart helps only a process whose driver is gone, which never leads again.
async fn healthy(State(app): State<App>) -> StatusCode {
    match app.candidate.health().role {
        Role::DriverGone => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

/// Readiness: also of a process that waits for the lead, and for a minute of an outage.
async fn ready(State(app): State<App>) -> StatusCode {
    if app.candidate.health().is_ready(Duration::from_secs(60)) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

fn answer<T>(result: anyhow::Result<T>, text: impl FnOnce(T) -> String) -> Answer {
    match result {
        Ok(value) => (StatusCode::OK, text(value)),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
    }
}
