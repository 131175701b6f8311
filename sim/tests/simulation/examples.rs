//! The examples, run as programs.

use std::process::Command;

/// An example as CI finds it, and as its user may lengthen it.
fn example(name: &str, variables: &[(&str, &str)]) -> String {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        program.is_file(),
        "{} is missing; build it with: cargo build -p tenure-sim --example {name}",
        program.display()
    );
    let run = Command::new(program).envs(variables.iter().copied()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn the_job_queue_fires_once_only_if_taken_over_first() {
    let told = example("job_queue", &[]);
    assert!(told.contains("Nothing: each-job-once does not hold"), "{told}");
    assert!(told.contains("LowerTokensRefused: each-job-once does not hold"), "{told}");
    assert!(told.contains("TakenOverFirst: held in 2000 runs"), "{told}");
}

#[cfg(feature = "turmoil")]
#[test]
fn an_order_is_shipped_once_only_behind_a_fence() {
    let told = example("shipping", &[("TENURE_SIM_RUNS", "60")]);
    assert!(told.contains("Nothing: each-order-once does not hold"), "{told}");
    assert!(told.contains("Checks: each-order-once does not hold"), "{told}");
    assert!(told.contains("Fence: held in 60 runs"), "{told}");
}

#[test]
fn the_careless_store_is_found_and_the_careful_one_holds() {
    let told = example("user_store", &[]);
    assert!(told.contains("careless: own-lease-only does not hold"), "{told}");
    assert!(told.contains("careful: held in 2000 runs"), "{told}");
}

#[test]
fn the_environment_overrides_seed_and_runs_and_is_told_when_it_is_wrong() {
    let told = example("user_store", &[("TENURE_SIM_RUNS", "3"), ("TENURE_SIM_SEED", "50000")]);
    assert!(told.contains("careful: held in 3 runs"), "{told}");
    let told = example("user_store", &[("TENURE_SIM_RUNS", "many")]);
    assert!(told.contains("TENURE_SIM_RUNS is \"many\", and must be a number from 1 to"), "{told}");
}
