//! Refusal by name, before the run, of what a store or the machine lacks.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use serde_json::Value;

use super::{plan_of, replayed, tenure_sim};

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
        ("fred", "expire-certificate", "the real-fred engine has no encrypted connections"),
        ("redis-sentinel", "expire-certificate", "the real-redis-sentinel engine has no encrypted"),
        ("etcd-cluster", "expire-certificate", "the real-etcd-cluster engine has no encrypted"),
        ("sqlite", "expire-certificate", "the real-sqlite engine has no encrypted connections"),
        ("postgres", "revoke-rights", "the real-postgres engine has no rights that are taken away"),
        ("kubernetes", "disconnect", "the real-kubernetes engine has no server that ends"),
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
