//! A router that never leads: it sends each request on to the leader of the [service](service.rs),
//! and follows it from process to process.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1 LISTEN=127.0.0.1:8000 \
//!     cargo run --release -p tenure --features redis --example router
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its address, and the leader's")]

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::StreamExt;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Elections, Observer};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The leader's address, if one is known.
type Leader = watch::Receiver<Option<String>>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let listener =
        TcpListener::bind(std::env::var("LISTEN").unwrap_or("127.0.0.1:8000".into())).await?;
    println!("listening on {}", listener.local_addr()?);
    let url = std::env::var("REDIS_URL").context("REDIS_URL")?;
    let store = Redis::new(RedisConfig::from_url(&url)?);
    let leader = follow(Elections::new(store).observe("service")?);
    let app = Router::new().fallback(to_the_leader).with_state(leader);
    axum::serve(listener, app).with_graceful_shutdown(tenure::shutdown_signal()?).await?;
    Ok(())
}

/// Reads the leaders, whose metadata are their addresses.
fn follow(mut leaders: Observer) -> Leader {
    let (now, leader) = watch::channel(None);
    tokio::spawn(async move {
        while let Some(seen) = leaders.next().await {
            match seen {
                Ok(leader) => {
                    let address: Option<String> =
                        leader.map(|leader| String::from_utf8_lossy(&leader.metadata).into());
                    // Before it is said: whoever reads the line may ask at once.
                    now.send_replace(address.clone());
                    let shown = address.as_deref().unwrap_or("no address: none leads");
                    println!("the leader is at {shown}");
                }
                // The last leader may still lead.
                Err(error) => println!("it is not known who leads: {error}"),
            }
        }
    });
    leader
}

/// The leader may have lost its lead when the request arrives: it then answers 503 by itself.
async fn to_the_leader(State(leader): State<Leader>, uri: Uri) -> Response {
    let address = leader.borrow().clone();
    match address {
        Some(address) => Redirect::temporary(&format!("http://{address}{uri}")).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], "no candidate leads")
            .into_response(),
    }
}
