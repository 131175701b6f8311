//! The engine of real processes and servers, as the command runs it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::MetadataExt;
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
fn promises_hold_on_an_etcd_cluster() {
    holds_on("etcd-cluster", "1701");
}

#[test]
fn promises_hold_on_sqlite() {
    // None of these seeds fills the disk, which takes a mount namespace.
    holds_on("sqlite", "1105");
}

/// Two candidates, and those faults.
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
    plan["calm_from_ms"] = 15_000.into();
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let mut plan = plan_of(faults);
    if store == "etcd-cluster" {
        suits_etcd(&mut plan);
    }
    std::fs::write(&path, plan.to_string()).unwrap();
    let plan = ["--plan", path.to_str().unwrap()];
    let judged = ["--properties", JUDGED, "--events", "100000"];
    let arguments = ["replay", "--engine", "real", "--store", store];
    tenure_sim(&[&arguments[..], &judged, &plan].concat())
}

/// Each of these faults has an effect on a store, and safety holds.
fn have_effects_on(store: &str, faults: &Value) {
    let ran = replayed(store, faults);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    for fault in faults.as_array().unwrap() {
        let what = &fault["what"];
        let kind =
            what["operator"].as_str().or_else(|| what.as_object()?.keys().next().map(|k| &**k));
        let kind = kind.or_else(|| what.as_str());
        let effect = format!("Effect {{ kind: {}", pascal(kind.unwrap()));
        assert!(text.contains(&effect), "{effect} is missing:\n{text}");
    }
}

/// `lock-row` as `LockRow`.
fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

#[test]
fn acts_at_redis_have_effects() {
    // The first leader waits out a quarantine. Without memory none is elected, and the next one waits after a loss.
    have_effects_on(
        "redis",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "what": { "operator": "disconnect" } },
            { "when": { "at_ms": 4_500 }, "what": { "operator": "flush-scripts" } },
            { "when": { "at_ms": 5_000 }, "for_ms": 2_000, "what": { "operator": "fill-memory" } },
            { "when": { "at_ms": 5_200 }, "what": { "resign": { "node": null } } },
            { "when": { "at_ms": 10_000 }, "what": { "operator": "flush-data" } },
            { "when": { "at_ms": 12_500 }, "for_ms": 1_000, "what": { "operator": "rotate-password" } }
        ]),
    );
}

#[test]
fn acts_at_postgres_have_effects() {
    have_effects_on(
        "postgres",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "what": { "operator": "disconnect-leader" } },
            { "when": { "at_ms": 4_300 }, "what": { "operator": "disconnect" } },
            { "when": { "at_ms": 5_000 }, "for_ms": 1_500, "what": { "operator": "lock-row" } },
            { "when": { "at_ms": 8_000 }, "for_ms": 1_500, "what": { "operator": "lock-table" } },
            { "when": { "at_ms": 10_500 }, "for_ms": 1_000, "what": { "operator": "pooler" } },
            { "when": { "at_ms": 12_500 }, "for_ms": 1_000, "what": { "operator": "rotate-password" } }
        ]),
    );
}

/// One candidate connects anew, to the new primary, and is granted a lease there. The other one may stay with the old
/// primary, which renews its lease, or grants it one.
#[test]
fn an_old_primary_elects_no_second_leader() {
    have_effects_on(
        "redis-sentinel",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 10_000, "what": { "operator": "split-brain" } },
            { "when": { "at_ms": 9_000 }, "what": { "reset": { "node": 0 } } }
        ]),
    );
}

/// Of the replica's two promotions, the first one loses what the leader has renewed last.
fn a_replica_is_promoted_on(store: &str) {
    have_effects_on(
        store,
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 500, "what": { "failover": { "lag_ms": 500, "clock_ahead_ms": 0 } } },
            { "when": { "at_ms": 12_000 }, "for_ms": 500, "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } } }
        ]),
    );
}

#[test]
fn a_replica_of_postgres_is_promoted() {
    a_replica_is_promoted_on("postgres");
}

#[test]
fn a_replica_is_promoted_behind_advisory_locks() {
    a_replica_is_promoted_on("postgres-advisory");
}

#[test]
fn acts_at_etcd_members_have_effects() {
    have_effects_on(
        "etcd-cluster",
        &serde_json::json!([
            { "when": { "at_ms": 6_000 }, "for_ms": 1_500, "what": { "operator": "kill-member" } },
            { "when": { "at_ms": 9_000 }, "for_ms": 900, "what": { "operator": "pause-raft-leader" } },
            { "when": { "at_ms": 11_000 }, "what": { "operator": "move-raft-leader" } }
        ]),
    );
}

#[test]
fn acts_at_a_redis_cluster_have_effects() {
    // The slot moves twice, and each of the primaries that keep it is replaced by its replica.
    have_effects_on(
        "redis-cluster",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "for_ms": 1_500, "what": { "operator": "move-slot" } },
            {
                "when": { "at_ms": 6_000 }, "for_ms": 1_000,
                "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } }
            },
            { "when": { "at_ms": 10_500 }, "for_ms": 2_000, "what": { "operator": "move-slot" } },
            {
                "when": { "at_ms": 13_500 }, "for_ms": 1_000,
                "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } }
            }
        ]),
    );
}

#[test]
fn acts_at_a_file_have_effects() {
    let delete = serde_json::json!(
        [{ "when": { "at_ms": 5_000 }, "what": { "operator": "delete-log" } }]
    );
    have_effects_on("sqlite", &delete);
}

/// Once for longer than a lease, and while the log is deleted and the file is replaced.
#[test]
fn a_full_disk_has_effects() {
    have_effects_on(
        "sqlite",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 3_000, "what": { "operator": "fill-disk" } },
            { "when": { "at_ms": 8_500 }, "what": { "operator": "delete-log" } },
            { "when": { "at_ms": 8_600 }, "for_ms": 2_000, "what": { "operator": "fill-disk" } },
            { "when": { "at_ms": 9_000 }, "what": { "operator": "delete-log" } },
            { "when": { "at_ms": 11_500 }, "for_ms": 1_500, "what": { "operator": "fill-disk" } },
            { "when": { "at_ms": 12_300 }, "for_ms": 200, "what": "store-loss" }
        ]),
    );
}

#[test]
fn a_machine_without_mounts_refuses_a_full_disk() {
    let faults = serde_json::json!([
        { "when": { "at_ms": 5 }, "for_ms": 5, "what": { "operator": "fill-disk" } }
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    std::fs::write(&path, plan_of(&faults).to_string()).unwrap();
    let tenure_sim = env!("CARGO_BIN_EXE_tenure-sim");
    let mut command = Command::new(tenure_sim);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command = Command::new("setpriv");
        command.args(["--bounding-set=-sys_admin", "--", tenure_sim]);
    }
    command.args(["replay", "--engine", "real", "--store", "sqlite", "--plan"]).arg(&path);
    // As if it had been started again, but in no namespace.
    let ran = command.env("TENURE_SIM_MOUNTS", "1").output().unwrap();
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(text.contains("fault 0 (fill-disk): the real-sqlite engine can't mount"), "{text}");
    assert_eq!(ran.status.code(), Some(64));
}

#[test]
fn broken_and_slow_connections_have_effects() {
    have_effects_on(
        "redis",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "what": { "reset": { "node": 0 } } },
            { "when": { "at_ms": 6_000 }, "what": { "half-open": { "node": 0 } } },
            {
                "when": { "at_ms": 9_000 }, "for_ms": 2_000,
                "what": { "throttle": { "node": 0, "bytes_per_second": 500 } }
            }
        ]),
    );
}

/// A process without descriptors can't connect again, by any of the clients.
fn has_no_descriptors_on(store: &str) {
    have_effects_on(
        store,
        &serde_json::json!([
            { "when": { "at_ms": 6_000 }, "for_ms": 2_000, "what": { "no-descriptors": { "node": 0 } } }
        ]),
    );
}

#[test]
fn descriptors_are_exhausted_on_redis() {
    has_no_descriptors_on("redis");
}

#[test]
fn descriptors_are_exhausted_on_redis_by_fred() {
    has_no_descriptors_on("fred");
}

#[test]
fn descriptors_are_exhausted_on_postgres() {
    has_no_descriptors_on("postgres");
}

#[test]
fn descriptors_are_exhausted_on_etcd() {
    has_no_descriptors_on("etcd-cluster");
}

#[test]
fn acts_that_a_store_lacks_are_refused_by_name() {
    for (store, act, why) in [
        ("postgres", "flush-data", "the real-postgres engine has no command that deletes all data"),
        ("redis", "lock-row", "the real-redis engine has no rows"),
        ("etcd", "disconnect-leader", "the real-etcd engine has no server that ends one session"),
        ("redis-sentinel", "rotate-password", "the real-redis-sentinel engine has servers without"),
        ("redis", "pooler", "the real-redis engine has no pooler"),
        ("postgres", "delete-log", "the real-postgres engine has no files beside a file"),
        ("etcd", "disconnect", "the real-etcd engine has no server that ends"),
        ("sqlite", "fill-memory", "the real-sqlite engine has no limit of its memory"),
        ("redis", "move-slot", "the real-redis engine has no slots that move"),
        ("redis-sentinel", "move-slot", "the real-redis-sentinel engine has no slots that move"),
        ("etcd", "kill-member", "the real-etcd engine has no member that the others do without"),
        ("etcd", "move-raft-leader", "the real-etcd engine has no members that elect one of them"),
        ("etcd-cluster", "pause-raft-leader", "the real-etcd-cluster engine keeps to pauses"),
        ("redis", "split-brain", "the real-redis engine has no sentinels"),
        ("redis-cluster", "split-brain", "the real-redis-cluster engine has no sentinels"),
        ("postgres", "split-brain", "the real-postgres engine has no sentinels"),
        ("postgres", "fill-disk", "the real-postgres engine has no file of the store"),
    ] {
        let is_of_a_moment =
            ["flush-data", "disconnect", "disconnect-leader", "delete-log", "move-raft-leader"]
                .contains(&act);
        let for_ms = if is_of_a_moment { 0 } else { 901 };
        let faults = serde_json::json!([
            { "when": { "at_ms": 5 }, "for_ms": for_ms, "what": { "operator": act } }
        ]);
        let ran = replayed(store, &faults);
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(text.contains(&format!("fault 0 ({act}): {why}")), "{text}");
        assert_eq!(ran.status.code(), Some(64));
    }
}

/// A hunt of `mutants` reports the condition that it waits for and that its runs do not meet.
#[test]
fn a_hunt_reports_what_is_never_met() {
    let hunt = ["hunt", "--engine", "real", "--store", "redis", "--runs", "1"];
    let until = ["--until", "login-refused-under-a-leader", "--faults", "resign"];
    let ran = tenure_sim(&[&hunt[..], &until].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = String::from_utf8_lossy(&ran.stdout).into_owned();
    let seen = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let unmet: Vec<_> =
        seen.filter_map(|one| Some(one["seen"]["unmet"].as_str()?.to_owned())).collect();
    assert_eq!(unmet, ["login-refused-under-a-leader"]);
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
