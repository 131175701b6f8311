//! The engine of real processes and servers, as the command runs it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use serde_json::Value;

fn tenure_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().unwrap()
}

/// What holds however slow the machine is: safety, and that some candidate leads in the end.
const JUDGED: &str = "single-leader,margin-kept,fail-closed,token-monotonic,fenced-writes,fenced-reads,own-lease-only,\
    one-step-down-per-election,no-resurrection,no-release-under-work,drained-before-the-next,leases-handed-back,\
    store-loss-quarantine,leader-within";

/// Runs a few seeds on a store.
fn holds_on(store: &str, seed: &str) {
    let arguments = ["run", "--engine", "real", "--store", store, "--seed", seed];
    let more = ["--properties", JUDGED, "--runs", "4", "--jobs", "4", "--format", "json"];
    let output = tenure_sim(&[&arguments[..], &more].concat());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    // A few seeds do not meet every condition.
    let code = output.status.code().unwrap();
    assert!(code == 0 || code == 2, "{code}: {}", summary["failed"]);
    for property in
        ["single-leader", "fail-closed", "margin-kept", "own-lease-only", "fenced-writes"]
    {
        let compared = summary["properties"][property]["compared"].as_u64().unwrap();
        assert!(compared > 0, "{property} compared nothing");
    }
    let faults = summary["faults"].as_object().unwrap();
    let effects: u64 = faults.values().map(|count| count["effects"].as_u64().unwrap()).sum();
    assert!(effects >= 5, "{faults:?}");
}

#[test]
fn promises_hold_on_redis() {
    holds_on("redis", "101");
}

#[test]
fn promises_hold_on_redis_by_fred() {
    holds_on("fred", "301");
}

#[test]
fn promises_hold_on_redis_with_sentinels() {
    holds_on("redis-sentinel", "1301");
}

#[test]
fn promises_hold_on_a_redis_cluster() {
    holds_on("redis-cluster", "1501");
}

#[test]
fn promises_hold_on_postgres() {
    holds_on("postgres", "501");
}

#[test]
fn promises_hold_on_postgres_behind_advisory_locks() {
    holds_on("postgres-advisory", "701");
}

#[test]
fn promises_hold_on_etcd() {
    holds_on("etcd", "901");
}

#[test]
fn promises_hold_on_sqlite() {
    holds_on("sqlite", "1101");
}

#[test]
fn a_missing_server_is_named_with_its_package() {
    let ran = Command::new(env!("CARGO_BIN_EXE_tenure-sim"))
        .args(["replay", "--engine", "real", "--store", "redis", "--seed", "1"])
        .env("PATH", "")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("apt-get install redis-server"), "{text}");
    assert_eq!(ran.status.code(), Some(1));
}

#[test]
fn stores_belong_to_the_real_engine() {
    for (arguments, what) in [
        (&["run", "--engine", "real"][..], "'--engine real' needs '--store', one of redis, fred"),
        (&["run", "--store", "redis"], "'--store redis' needs '--engine real'"),
        (&["replay", "--seed", "1", "--store", "fred"], "'--store fred' needs '--engine real'"),
        (
            &["run", "--engine", "real", "--store", "paper"],
            "possible values: redis, fred, redis-sentinel",
        ),
        (
            &["run", "--engine", "real", "--store", "redis", "--check-determinism"],
            "'--check-determinism' needs an engine that simulates",
        ),
    ] {
        let ran = tenure_sim(arguments);
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(text.contains(what), "{arguments:?}: {text}");
        assert_eq!(ran.status.code(), Some(64), "{arguments:?}");
    }
}

#[test]
fn faults_that_no_process_has_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let plan = tenure_sim(&["plan", "--seed", "3", "--faults", "vm-stop"]);
    let mut plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    plan["faults"] = serde_json::json!([
        { "when": { "at_ms": 5 }, "for_ms": 5, "what": { "vm-stop": { "node": 0 } } }
    ]);
    plan["store"]["clock_rate_ppm"] = 0.into();
    std::fs::write(&path, plan.to_string()).unwrap();
    let plan = path.to_str().unwrap();
    let ran = tenure_sim(&["replay", "--engine", "real", "--store", "redis", "--plan", plan]);
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(text.contains("fault 0 (vm-stop): the real-redis engine can't suspend"), "{text}");
    assert_eq!(ran.status.code(), Some(64));
}
