//! Work that blocks its thread.

use std::time::{Duration, Instant};

use tenure::Tenure;
use tokio::task::{JoinError, spawn_blocking};

use super::{Outcome, candidate};

/// Blocking steps in a thread of their own; the thread looks before each step whether it may go on.
async fn compress(tenure: Tenure, files: Vec<String>) -> Result<usize, JoinError> {
    let steps = spawn_blocking(move || {
        let mut done = 0;
        for file in files {
            if !tenure.is_current() {
                break;
            }
            compress_file(&file); // each step shorter than the stop margin
            done += 1;
        }
        done
    });
    steps.await // the lease is not handed back before the thread has ended, or the bound is over
}

fn compress_file(_file: &str) {
    std::thread::sleep(Duration::from_millis(5));
}

pub(crate) async fn show() -> Outcome {
    let candidate = candidate()?;
    let files = || (0..1_000).map(|number| format!("{number}.log")).collect();
    let soon = tokio::time::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let done = candidate.try_run_until(soon, |tenure| compress(tenure, files())).await?;
    let between_files = done.is_none() && begun.elapsed() < Duration::from_secs(4);
    Ok(if between_files { "stopped between two files".into() } else { "not stopped".into() })
}
