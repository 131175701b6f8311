//! A service of which only the leader ships orders, each one once.
//!
//! [`lead`] takes part in the election. The leader's work knows its database only as [`Orders`], so
//! that tests can run it with a fake. [`database`] has the real one, [`web`] the routes.

pub mod database;
pub mod web;

use std::time::Duration;

use anyhow::Context as _;
use tenure::{Candidate, Tenure, Token};

/// The election, and the resource that its leaders take over.
pub const ELECTION: &str = "orders";

/// The part of the database that the leader's work uses.
pub trait Orders {
    /// Refuses from here on what earlier leaders write. An error if a later one has the orders.
    fn take_over(&self, token: Token) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// The first order that has not been shipped.
    fn next(&self) -> impl Future<Output = anyhow::Result<Option<i64>>> + Send;

    /// Ships an order, unless a later leader has the orders: that is an error.
    fn ship(&self, order: i64, token: Token) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Takes part in the election until `shutdown`, and ships orders while it leads.
pub async fn lead(
    candidate: &Candidate,
    orders: &impl Orders,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    // After an error the candidate hands over, and the work starts again on a later tenure.
    let work = async |tenure: Tenure| ship_orders(&tenure, orders).await;
    candidate.try_run_until(shutdown, work).await.context("the election")?;
    Ok(())
}

async fn ship_orders(tenure: &Tenure, orders: &impl Orders) -> anyhow::Result<()> {
    let token = tenure.token();
    orders.take_over(token).await?; // first, and only then read
    tracing::info!(%token, "takes the orders over");
    while tenure.is_current() {
        match orders.next().await? {
            Some(order) => orders.ship(order, token).await?,
            None => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
    Ok(())
}
