//! Pauses of the machine, which tests of real processes can't prevent.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at the clock.
const TICK: Duration = Duration::from_millis(20);
/// A pause that may fail a test: less than the stop margin of a lease of some seconds.
const PAUSE: Duration = Duration::from_millis(300);
/// The most runs of one test.
const RUNS: u32 = 5;

/// Runs a test that a pause of the machine may fail: once more, if it failed in a run with a pause.
///
/// A failure in a run without one is final, and so is the fifth. What the test says of each failure
/// is printed all the same. For short tests alone: in a long one there always is some pause. A test
/// whose leases and bounds outlast a pause does not need this.
pub fn undisturbed(test: impl Fn()) {
    for run in 1.. {
        let over = AtomicBool::new(false);
        let (outcome, longest) = thread::scope(|scope| {
            let watch = scope.spawn(|| longest_pause(&over));
            let outcome = catch_unwind(AssertUnwindSafe(&test));
            over.store(true, Ordering::Relaxed);
            (outcome, watch.join().unwrap_or_default())
        });
        match outcome {
            Ok(()) => return,
            Err(_) if longest > PAUSE && run < RUNS => {
                eprintln!("run {run} failed beside a pause of {longest:?}: once more");
            }
            Err(failure) => resume_unwind(failure),
        }
    }
}

/// The longest time in which this thread did not run though it wanted to.
fn longest_pause(over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        thread::sleep(TICK);
        longest = longest.max(began.elapsed().saturating_sub(TICK));
    }
    longest
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The number of runs of a test that fails in the first ones, and whether it passes then.
    fn runs(fails: u32) -> (u32, bool) {
        let runs = Cell::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            undisturbed(|| {
                runs.set(runs.get() + 1);
                assert!(runs.get() > fails, "on purpose");
            });
        }));
        (runs.get(), outcome.is_ok())
    }

    #[test]
    fn a_test_that_passes_runs_once() {
        assert_eq!(runs(0), (1, true));
    }

    #[test]
    fn a_test_that_fails_does_not_pass() {
        let (runs, passes) = runs(u32::MAX);
        assert!((1..=RUNS).contains(&runs) && !passes, "{runs}");
    }
}
