//! Work in tasks of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::{Candidate, Stopped, Tenure};
use tokio::task::{JoinHandle, JoinSet};

use super::{Outcome, candidate};

/// Runs beside the rest of the program.
fn in_background(candidate: &Candidate) -> JoinHandle<Result<u64, Stopped>> {
    tokio::spawn(candidate.run_while_leader(async |tenure: Tenure| report(tenure).await))
}

async fn report(tenure: Tenure) -> u64 {
    tokio::task::yield_now().await;
    tenure.token().get()
}

pub(crate) async fn show_background() -> Outcome {
    let candidate = candidate()?;
    let token = in_background(&candidate).await??;
    candidate.stop().await?;
    Ok(if token > 0 { "done".into() } else { "no token".into() })
}

/// One task for each shard, for as long as the tenure lasts.
async fn serve_shards(tenure: Tenure, shards: u64, steps: Arc<AtomicU64>) {
    let mut tasks = JoinSet::new();
    for shard in 0..shards {
        let (tenure, steps) = (tenure.clone(), Arc::clone(&steps));
        tasks.spawn(async move {
            while tenure.is_current() {
                serve(shard, &steps).await;
            }
        });
    }
    tenure.ended().await;
    tasks.shutdown().await; // waits until the last task has stopped; then the lease is handed back
}

async fn serve(_shard: u64, steps: &AtomicU64) {
    steps.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) async fn show_set() -> Outcome {
    let (candidate, steps) = (candidate()?, Arc::<AtomicU64>::default());
    let soon = tokio::time::sleep(Duration::from_millis(200));
    candidate.run_until(soon, |tenure| serve_shards(tenure, 3, Arc::clone(&steps))).await?;
    let at_the_end = steps.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let later = steps.load(Ordering::Relaxed);
    Ok(format!("worked: {}, steps after the end: {}", at_the_end > 0, later - at_the_end))
}
