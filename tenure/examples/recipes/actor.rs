//! A task that serves requests, and carries them out only while its process leads.

use tenure::{Candidate, Token};
use tokio::sync::{mpsc, oneshot};

use super::{Outcome, candidate};

struct Deposit {
    amount: u64,
    /// Answered with the sum and the token that it was written under; dropped if this process does
    /// not lead.
    answer: oneshot::Sender<(u64, Token)>,
}

/// Lives as long as the program, through any number of tenures. What it knows is valid in one
/// tenure only.
async fn cashier(candidate: Candidate, mut deposits: mpsc::Receiver<Deposit>) {
    let mut known = None;
    while let Some(Deposit { amount, answer }) = deposits.recv().await {
        let deposit = candidate.run_if_leader(async |tenure| {
            let before = match known {
                Some((sum, token)) if token == tenure.token() => sum,
                _ => read_sum().await, // the first deposit of this tenure
            };
            (before + amount, tenure.token()) // a real cashier writes the sum, under the token
        });
        known = deposit.await;
        if let Some(done) = known {
            let _ = answer.send(done); // the client may have gone
        }
    }
}

async fn read_sum() -> u64 {
    tokio::task::yield_now().await;
    100
}

pub(crate) async fn show() -> Outcome {
    let candidate = candidate()?;
    let (desk, deposits) = mpsc::channel(8);
    let cashier = tokio::spawn(cashier(candidate.clone(), deposits));
    candidate.elected().await?;
    let deposit = async |amount| {
        let (answer, answered) = oneshot::channel();
        desk.send(Deposit { amount, answer }).await.ok()?;
        answered.await.ok()
    };
    let sums = [deposit(5).await, deposit(7).await];
    candidate.stop().await?;
    let refused = deposit(1).await.is_none();
    drop(desk);
    cashier.await?;
    let sums: Vec<_> = sums.into_iter().flatten().map(|(sum, _)| sum).collect();
    Ok(format!("sums {sums:?}, refused after the end: {refused}"))
}
