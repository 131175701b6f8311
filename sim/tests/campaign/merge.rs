//! Campaigns on several machines.

use std::fs;

use serde_json::Value;

use super::{FAULTS, command, json, path, refused};

/// Fields that depend on the machine and its speed.
const OF_THE_MACHINE: [&str; 6] =
    ["jobs", "wall_s", "core_s", "runs_per_s", "events_per_s", "simulated_s_per_core_s"];

fn without_the_machine(mut summary: Value) -> Value {
    let fields = summary.as_object_mut().unwrap();
    fields.retain(|field, _| !OF_THE_MACHINE.contains(&field.as_str()));
    let simulated = fields["simulated_s"].as_f64().unwrap();
    // Summed up in another order, and so rounded differently.
    fields.insert("simulated_s".into(), format!("{simulated:.6}").into());
    summary
}

const RUN: [&str; 7] = ["run", "--engine", "model", "--runs", "50", "--faults", FAULTS];

#[test]
fn shares_merged_say_what_the_whole_says() {
    let folder = tempfile::tempdir().unwrap();
    let shares = ["3/3", "1/3", "2/3"].map(|shard| {
        let summary = json(&[&RUN[..], &["--shard", shard]].concat());
        let file = path(folder.path(), &shard.replace('/', "of"));
        fs::write(&file, summary.to_string()).unwrap();
        file
    });
    let [one, other, third] = shares.each_ref().map(String::as_str);
    let merged = json(&["merge", one, other, third]);
    assert_eq!(without_the_machine(merged.clone()), without_the_machine(json(&RUN)));

    // Merged ones can be merged again.
    let two = path(folder.path(), "two");
    fs::write(&two, json(&["merge", third, other]).to_string()).unwrap();
    let again = json(&["merge", one, &two]);
    assert_eq!(without_the_machine(again), without_the_machine(merged));
    assert_eq!(command(&["merge", one, &two]).status.code(), Some(2));
    refused(&["merge", one, &two, other], &[&format!("{two} and {other} both hold seed 1")]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, summary: &Value| {
        let file = path(folder.path(), name);
        fs::write(&file, summary.to_string()).unwrap();
        file
    };
    let first = json(&["run", "--engine", "model", "--runs", "4", "--faults", "crash,drift"]);
    let a = file("a.json", &first);
    refused(&["merge", &a, &a], &["both hold seed 1 of the model engine"]);

    let other = |changes: &[(&str, Value)]| {
        let mut other = first.clone();
        other["seeds"][0]["first"] = 100.into();
        for (field, value) in changes {
            other[*field] = value.clone();
        }
        file("b.json", &other)
    };
    assert_eq!(command(&["merge", &a, &other(&[])]).status.code(), Some(2));
    for (field, value, said) in [
        ("version", "9.9.9".into(), "field \"version\" is 9.9.9, and must be"),
        ("allowed", serde_json::json!(["crash"]), "field \"allowed\" is crash, and must be"),
        ("properties", serde_json::json!({}), "field \"properties\" is , and must be"),
        ("engine", "abacus".into(), "field \"engine\" is abacus, and must be model"),
        ("schema", 1.into(), "field \"schema\" is 1, and must be 2"),
        ("runs", "four".into(), "line 1, column"),
        ("seeds", serde_json::json!([{ "first": 1 }]), "field \"seeds[0]\": missing field"),
    ] {
        refused(&["merge", &a, &other(&[(field, value)])], &["b.json", said]);
    }
    refused(&["merge", &a, "/nowhere/b.json"], &["/nowhere/b.json", "No such file"]);
    let broken = path(folder.path(), "b.json");
    fs::write(&broken, "{\n\"schema\": 1,\n").unwrap();
    refused(&["merge", &broken], &["b.json: line 3, column", "EOF"]);
}

#[test]
fn the_failed_run_of_the_lowest_seed_decides() {
    let folder = tempfile::tempdir().unwrap();
    let summary = json(&["run", "--engine", "model", "--runs", "4", "--faults", FAULTS]);
    let failed = |name, first: u64, seed: u64| {
        let mut summary = summary.clone();
        summary["seed"] = first.into();
        summary["seeds"][0]["first"] = first.into();
        summary["failed"] = serde_json::json!({
            "seed": seed, "kind": "violated", "property": "luck", "at_ns": 7, "what": "none left",
        });
        let file = path(folder.path(), name);
        fs::write(&file, summary.to_string()).unwrap();
        file
    };
    let (later, earlier) = (failed("later", 100, 102), failed("earlier", 10, 11));
    let merged = command(&["merge", &later, &earlier]);
    let text = String::from_utf8(merged.stdout).unwrap();
    assert_eq!(merged.status.code(), Some(1), "{text}");
    let again = format!("tenure-sim replay --engine model --seed 11 --faults {FAULTS}");
    assert!(text.contains("luck violated at 0.000 ms: none left"), "{text}");
    assert!(text.contains(&again), "no {again} in {text}");
    assert_eq!(json(&["merge", &later, &earlier])["failed"]["seed"], 11);
}
