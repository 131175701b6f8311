//! `tenure-sim shrink` and `tenure-sim sweep`, as a user runs them.

use tenure_sim::evidence::controls::Control;
use tenure_sim::plan::Plan;

use super::{command, json, path, refused};

/// A plan beyond an assumption: it fails, if everything is judged.
fn failing(name: &str) -> Plan {
    name.parse::<Control>().unwrap().plan(1)
}

#[test]
fn a_failing_plan_is_made_small_and_written_with_its_test() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, out, test] = ["plan.json", "small.json", "test.rs"].map(|n| path(folder.path(), n));
    std::fs::write(&plan, failing("no-quarantine").to_text()).unwrap();
    let shrink = ["shrink", "--plan", &plan, "--everything", "--out", &out, "--test-out", &test];
    let told = json(&shrink);
    let small = Plan::parse(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(told["plan"], serde_json::to_value(&small).unwrap());
    assert_eq!((&told["done"], &told["out"]), (&true.into(), &out.clone().into()));
    assert!(told["after"]["faults"].as_u64() <= Some(3), "{told}");
    let test = std::fs::read_to_string(&test).unwrap();
    assert!(test.contains("#[test]") && test.contains(&small.to_text()), "{test}");
    let shown = command(&shrink);
    let said = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.status.code(), Some(0), "{said}");
    assert!(said.contains("tenure-sim replay --engine model --plan"), "{said}");
}

#[test]
fn what_cannot_be_shrunk_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, out] = ["plan.json", "small.json"].map(|name| path(folder.path(), name));
    std::fs::write(&plan, failing("drift").to_text()).unwrap();
    let said = ["the plan does not fail in the model engine", "it breaks candidate-clocks"];
    refused(&["shrink", "--plan", &plan, "--out", &out], &said);
    assert!(!std::path::Path::new(&out).exists());
    let harmless = ["shrink", "--seed", "7", "--faults", "latency", "--out", &out];
    refused(&harmless, &["there is nothing to shrink"]);
    for (arguments, said) in [
        (&["shrink"][..], "--seed <SEED>"),
        (&["shrink", "--seed", "1", "--plan", "p"], "cannot be used with"),
        (&["shrink", "--seed", "1", "--property", "luck"], "known are single-leader"),
        (&["shrink", "--seed", "1", "--runs", "0"], "0 is not in 1.."),
        (&["shrink", "--seed", "1", "--engine", "abacus"], "possible values: model"),
        (&["shrink", "--plan", "/nowhere/plan.json"], "/nowhere/plan.json"),
        (&["sweep", "--plan", "/nowhere/plan.json"], "/nowhere/plan.json"),
        (&["sweep", "--seed", "1", "--plan", "p"], "cannot be used with"),
        (&["sweep", "--jobs", "0"], "0 is not in 1..=1024"),
        (&["sweep", "--seeds", "0"], "0 is not in 1..=1000000"),
        (&["sweep", "--runs", "none"], "invalid digit"),
        (&["sweep", "--plan-out", "/nowhere/plan.json"], "/nowhere/plan.json"),
        (&["run", "--shrink", "/nowhere/plan.json"], "/nowhere/plan.json"),
    ] {
        refused(arguments, &[said]);
    }
    std::fs::write(&plan, "{}").unwrap();
    refused(&["sweep", "--plan", &plan], &["plan.json", "missing field"]);
    refused(&["shrink", "--plan", &plan], &["plan.json", "missing field"]);
    let to_nowhere = ["shrink", "--plan", &plan, "--everything", "--out", "/nowhere/small.json"];
    std::fs::write(&plan, failing("drift").to_text()).unwrap();
    refused(&to_nowhere, &["/nowhere/small.json"]);
}

#[test]
fn a_sweep_says_how_it_went_with_any_number_of_threads() {
    let sweep = |jobs| json(&["sweep", "--seeds", "2", "--jobs", jobs]);
    let alone = sweep("1");
    assert_eq!(alone["verdict"], "held");
    assert_eq!((&alone["violations"], &alone["missed"]), (&0.into(), &0.into()));
    assert_eq!(sweep("3"), alone);
    let few = command(&["sweep", "--runs", "20"]);
    assert_eq!(few.status.code(), Some(2), "{few:?}");
    assert!(String::from_utf8(few.stdout).unwrap().contains("INCONCLUSIVE"));
}

#[test]
fn what_a_sweep_finds_can_be_replayed_and_shrunk() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, out] = ["plan.json", "small.json"].map(|name| path(folder.path(), name));
    let swept = command(&["sweep", "--seeds", "1", "--everything", "--plan-out", &plan]);
    let text = String::from_utf8(swept.stdout).unwrap();
    assert_eq!(swept.status.code(), Some(1), "{text}");
    assert!(text.contains("unfenced-in-order violated") && text.contains("after check"), "{text}");
    let small = json(&["shrink", "--plan", &plan, "--everything", "--out", &out]);
    assert_eq!(
        (&small["property"], &small["after"]["faults"]),
        (&"unfenced-in-order".into(), &1.into())
    );
}
