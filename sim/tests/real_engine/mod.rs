//! The engine of real processes and servers, as the command runs it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clocks;
mod command;
mod effects;
mod refused;
mod seeds;

use std::process::{Command, Output};

use serde_json::Value;

fn tenure_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().unwrap()
}

/// Properties that hold on the slowest machine: safety, and that some candidate leads in the end.
const JUDGED: &str = "single-leader,margin-kept,fail-closed,token-monotonic,leads-in-order,fenced-writes,fenced-reads,\
    own-lease-only,one-step-down-per-election,no-resurrection,no-release-under-work,drained-before-the-next,leases-handed-back,\
    store-loss-quarantine,leader-within";

/// Two candidates, and those faults. The recovery phase begins when the last one has ended.
fn plan_of(faults: &Value) -> Value {
    let drawn = tenure_sim(&["plan", "--seed", "3", "--faults", "vm-stop"]);
    let mut plan: Value = serde_json::from_slice(&drawn.stdout).unwrap();
    plan["faults"] = faults.clone();
    plan["nodes"] = serde_json::json!([{ "clock_offset_ms": 1 }, { "clock_offset_ms": 2 }]);
    plan["store"]["clock_rate_ppm"] = 0.into();
    plan["work"] = serde_json::json!({ "every_ms": 100, "takes_us": 50_000 });
    plan["settings"] = serde_json::json!({
        "ttl_ms": 2_500, "renew_interval_ms": 500, "request_timeout_ms": 300, "stop_margin_ms": 250,
        "retry_least_ms": 20, "retry_most_ms": 100, "poll_bound_ms": 1_000, "drain_bound_ms": 100,
        "quarantine_ms": 2_500, "granularity_ns": 1_000_000, "drift_ppm": 1_000
    });
    let ends = |fault: &Value| {
        fault["when"]["at_ms"].as_u64().unwrap_or(0) + fault["for_ms"].as_u64().unwrap_or(0)
    };
    let last = faults.as_array().unwrap().iter().map(ends).max();
    plan["calm_from_ms"] = last.unwrap_or(0).max(15_000).into();
    plan["handover"] = false.into();
    plan
}

/// The settings of a cluster of etcd, whose TTLs are whole seconds.
fn suits_etcd(plan: &mut Value) {
    let settings = &mut plan["settings"];
    for (field, value) in [
        ("ttl_ms", 5_000),
        ("renew_interval_ms", 1_000),
        ("quarantine_ms", 5_000),
        ("granularity_ns", 1_600_000_000),
    ] {
        settings[field] = value.into();
    }
}

fn replayed(store: &str, faults: &Value) -> Output {
    let mut plan = plan_of(faults);
    if store.starts_with("etcd") {
        suits_etcd(&mut plan);
    }
    replayed_plan(store, &plan)
}

fn replayed_plan(store: &str, plan: &Value) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    std::fs::write(&path, plan.to_string()).unwrap();
    let plan = ["--plan", path.to_str().unwrap()];
    let judged = ["--properties", JUDGED, "--events", "100000"];
    let arguments = ["replay", "--engine", "real", "--store", store];
    tenure_sim(&[&arguments[..], &judged, &plan].concat())
}
