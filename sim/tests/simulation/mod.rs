//! The findings of the simulation of users' own code, and the examples that show how.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod stores;
mod workloads;

use tenure_sim::Simulation;
use tenure_sim::search::campaign::Failure;
use tenure_sim::simulation::{Failed, SimulationError};

fn failed(simulation: &Simulation) -> Failed {
    match simulation.run().unwrap_err() {
        SimulationError::Failed(failed) => *failed,
        other => panic!("failed, and not: {other}"),
    }
}

fn property(failed: &Failed) -> &str {
    match &failed.failure {
        Failure::Violated { property, .. } => property,
        other => panic!("violated, and not {other:?}"),
    }
}

#[test]
fn too_few_runs_are_told_and_fail_only_if_asked() {
    let report = Simulation::new().runs(1).run().unwrap();
    assert!(!report.unmet.is_empty());
    let error = Simulation::new().runs(1).needs_all_conditions().run().unwrap_err();
    assert!(matches!(error, SimulationError::Inconclusive { runs: 1, .. }), "{error}");
    let error = Simulation::new().seed(u64::MAX).runs(2).run().unwrap_err();
    assert_eq!(error.to_string(), format!("there are no 2 seeds from {} on", u64::MAX));
}
