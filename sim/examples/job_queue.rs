//! A job queue whose leader fires each job once: without the token it fires some twice. With the
//! token it still may, if a new leader reads before it has taken the queue over.
//!
//! `cargo run -p tenure-sim --example job_queue --no-default-features`

#![allow(clippy::print_stdout, reason = "an example tells what it found")]

use std::collections::BTreeMap;

use tenure_sim::Simulation;
use tenure_sim::simulation::{Effect, Leader, SimulationError, Workload};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    /// `UPDATE jobs SET next = $n + 1`
    Nothing,
    /// `UPDATE jobs SET next = $n + 1, fence = $token WHERE fence <= $token`
    LowerTokensRefused,
    /// First `UPDATE jobs SET fence = $token WHERE fence <= $token`, then reading, then
    /// `UPDATE jobs SET next = $n + 1 WHERE fence = $token`
    TakenOverFirst,
}

#[derive(Clone, Copy, Hash)]
enum Intent {
    TakeOver,
    Fire { job: u64 },
}

/// The row in the database that all leaders share, and what the world outside has seen.
struct JobQueue {
    guard: Guard,
    fence: u64,
    next: u64,
    fired: BTreeMap<u64, u32>,
}

impl JobQueue {
    fn guarded_by(guard: Guard) -> impl Fn() -> Self {
        move || Self { guard, fence: 0, next: 0, fired: BTreeMap::new() }
    }
}

impl Workload for JobQueue {
    type Intent = Intent;

    fn name(&self) -> &'static str {
        "each-job-once"
    }

    fn intend(&self, leader: Leader) -> Option<Intent> {
        let is_ours = self.fence == leader.token;
        Some(match self.guard {
            Guard::TakenOverFirst if !is_ours => Intent::TakeOver,
            Guard::TakenOverFirst | Guard::LowerTokensRefused | Guard::Nothing => {
                Intent::Fire { job: self.next }
            }
        })
    }

    fn effect(&mut self, effect: Effect<Intent>) {
        let token = effect.by.token;
        let is_refused = match (self.guard, effect.intent) {
            (Guard::Nothing, _) => false,
            (Guard::LowerTokensRefused, _) | (_, Intent::TakeOver) => token < self.fence,
            (Guard::TakenOverFirst, Intent::Fire { .. }) => token != self.fence,
        };
        if is_refused {
            return;
        }
        self.fence = token;
        if let Intent::Fire { job } = effect.intent {
            self.next = job + 1;
            *self.fired.entry(job).or_default() += 1;
        }
    }

    fn verify(&self) -> Result<(), String> {
        match self.fired.iter().find(|(_, times)| **times > 1) {
            Some((job, times)) => Err(format!("job {job} was fired {times} times")),
            None => Ok(()),
        }
    }
}

fn main() {
    for guard in [Guard::Nothing, Guard::LowerTokensRefused, Guard::TakenOverFirst] {
        let simulation = Simulation::new().runs(2_000).workload(JobQueue::guarded_by(guard));
        match simulation.run() {
            Ok(report) => println!("{guard:?}: held in {} runs", report.summary.runs),
            Err(SimulationError::Failed(failed)) => println!("{guard:?}: {failed}\n"),
            Err(error) => println!("{guard:?}: {error}"),
        }
    }
}
