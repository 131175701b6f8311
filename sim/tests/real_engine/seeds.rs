//! A short campaign on each store.

use serde_json::Value;

use super::{JUDGED, tenure_sim};

/// Properties that even a short campaign must compare.
const COMPARED: [&str; 5] =
    ["single-leader", "fail-closed", "margin-kept", "own-lease-only", "fenced-writes"];
const EFFECTS: u64 = 5;

/// Runs seeds on a store, four at a time, until each property has compared something: the machine
/// decides who leads, so that of a few seeds none may have a second leader.
fn holds_on(store: &str, first: u64) {
    let mut compared = COMPARED.map(|_| 0);
    let mut effects = 0;
    for seed in (first..).step_by(4).take(10) {
        let summary = run(store, seed);
        for (sum, property) in compared.iter_mut().zip(COMPARED) {
            *sum += summary["properties"][property]["compared"].as_u64().unwrap();
        }
        let faults = summary["faults"].as_object().unwrap();
        effects += faults.values().map(|count| count["effects"].as_u64().unwrap()).sum::<u64>();
        if !compared.contains(&0) && effects >= EFFECTS {
            return;
        }
    }
    panic!("{COMPARED:?} compared {compared:?}, and {effects} faults took effect");
}

/// Runs four seeds.
fn run(store: &str, seed: u64) -> Value {
    let seed = seed.to_string();
    let arguments = ["run", "--engine", "real", "--store", store, "--seed", &seed];
    let more = ["--properties", JUDGED, "--runs", "4", "--jobs", "4", "--format", "json"];
    let output = tenure_sim(&[&arguments[..], &more].concat());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    // A few seeds do not meet every condition.
    let code = output.status.code().unwrap();
    assert!(code == 0 || code == 2, "{code}: {}", summary["failed"]);
    summary
}

#[test]
fn promises_hold_on_redis() {
    holds_on("redis", 101);
}

#[test]
fn promises_hold_on_redis_by_fred() {
    holds_on("fred", 301);
}

#[test]
fn promises_hold_on_redis_with_sentinels() {
    holds_on("redis-sentinel", 1301);
}

#[test]
fn promises_hold_on_a_redis_cluster() {
    holds_on("redis-cluster", 1501);
}

#[test]
fn promises_hold_on_postgres() {
    holds_on("postgres", 501);
}

#[test]
fn promises_hold_on_mariadb() {
    holds_on("mariadb", 2101);
}

#[test]
fn promises_hold_on_etcd() {
    holds_on("etcd", 901);
}

#[test]
fn promises_hold_on_an_etcd_cluster() {
    holds_on("etcd-cluster", 1701);
}

#[test]
fn promises_hold_on_kubernetes() {
    holds_on("kubernetes", 1901);
}

#[test]
fn promises_hold_on_sqlite() {
    // None of these seeds fills the disk, which takes a mount namespace.
    holds_on("sqlite", 1105);
}
