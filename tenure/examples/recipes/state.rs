//! Work that uses state.

use std::sync::{Arc, Mutex, PoisonError};

use tenure::{Candidate, Stopped, Tenure};
use tokio::task::JoinHandle;

use super::{Outcome, candidate};

type Seen = Arc<Mutex<Vec<u64>>>;

/// Each tenure gets a handle of its own on state that all of them share.
fn remember_tokens(candidate: &Candidate, seen: Seen) -> JoinHandle<Result<(), Stopped>> {
    tokio::spawn(candidate.run_while_leader(move |tenure: Tenure| {
        let seen = Arc::clone(&seen);
        async move {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(tenure.token().get());
        }
    }))
}

pub(crate) async fn show_shared() -> Outcome {
    let (candidate, seen) = (candidate()?, Seen::default());
    remember_tokens(&candidate, Arc::clone(&seen)).await??;
    remember_tokens(&candidate, Arc::clone(&seen)).await??;
    candidate.stop().await?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).len();
    Ok(format!("{seen} runs"))
}

/// State of one tenure: a variable of the work. It is read anew each time, because another leader
/// may have changed what it was read from.
async fn number_orders(tenure: Tenure, orders: &[&str]) -> Vec<String> {
    let mut next = last_number().await + 1;
    let mut numbered = Vec::new();
    for order in orders {
        if !tenure.is_current() {
            break;
        }
        numbered.push(format!("{next} {order}"));
        next += 1;
    }
    numbered
}

async fn last_number() -> u64 {
    tokio::task::yield_now().await;
    41
}

pub(crate) async fn show_own() -> Outcome {
    let candidate = candidate()?;
    let orders = ["tea", "bread"];
    let numbered = candidate.run_while_leader(|tenure| number_orders(tenure, &orders)).await?;
    candidate.stop().await?;
    Ok(numbered.join(", "))
}

struct Database {
    rows: Vec<u64>,
}

impl Database {
    async fn sum(&self) -> u64 {
        tokio::task::yield_now().await;
        self.rows.iter().sum()
    }
}

/// Work in the caller's task may borrow: nothing has to be `'static` or in an `Arc`.
async fn sum_while_leader(candidate: &Candidate, database: &Database) -> Result<u64, Stopped> {
    candidate.run_while_leader(async |_tenure| database.sum().await).await
}

pub(crate) async fn show_borrowed() -> Outcome {
    let (candidate, database) = (candidate()?, Database { rows: vec![1, 2, 3] });
    let sum = sum_while_leader(&candidate, &database).await?;
    candidate.stop().await?;
    Ok(format!("sum {sum} of {} rows", database.rows.len()))
}
