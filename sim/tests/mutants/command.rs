//! The command, on a few mutants and on changes from outside.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::simulator::Simulator;

fn mutants(arguments: &[&str]) -> (Option<i32>, Value, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap();
    let usual = ["mutants", "--format", "json", "--sources", root];
    let ran = Simulator::Sound.run(&[&usual, arguments].concat());
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    (ran.status.code(), serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null), said)
}

/// All are in one build.
#[test]
fn mutants_are_caught_by_the_properties_that_guard_against_them() {
    let names = ["claim-holds-at-its-end", "released-lease-renewed", "left-twice"];
    let (code, rows, said) = mutants(&names.map(|name| ["--only", name]).concat());
    assert_eq!(code, Some(0), "{said}");
    let seen = |row: usize, property: &str| {
        let sightings = rows[row]["trials"][0]["sightings"].as_array().unwrap();
        sightings.iter().any(|one| one["seen"]["property"] == property)
    };
    assert!(seen(0, "fail-closed"), "{rows}");
    assert!(seen(1, "linearizable") && seen(1, "own-lease-only"), "{rows}");
    assert!(seen(2, "driver-runs-on"), "{rows}");
    let engines = rows[2]["trials"].as_array().unwrap().iter().map(|trial| &trial["engine"]);
    assert_eq!(engines.collect::<Vec<_>>(), ["overload", "orders"], "{rows}");
}

#[test]
fn changes_from_outside_are_planted_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plant = |bugs: &[(&str, &str)]| {
        let mut arguments = vec!["--engine".to_owned(), "model".to_owned()];
        for (name, text) in bugs {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            arguments.extend(["--patch".to_owned(), path.display().to_string()]);
        }
        mutants(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let file = "core/src/contract.rs";
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = fs::read_to_string(root.join(file)).unwrap();
    let old =
        "        self.record.as_mut().filter(|record| !record.released && record.token == token)";
    let at = 1 + source.lines().position(|line| line == old).unwrap();
    let diff =
        |line: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -{at} +{at} @@\n-{old}\n+{line}\n");
    let wrong = diff("        self.record.as_mut().filter(|record| record.token == token)");
    let broken = diff("        nonsense");
    // They would share a build, which fails.
    let (code, rows, said) = plant(&[("wrong", &wrong), ("broken", &broken)]);
    assert!(code == Some(64) && said.contains("broken does not build"), "{said}");
    assert_eq!(rows[0]["trials"][0]["end"], "by-properties", "{said}");
    let (code, _, said) = plant(&[(
        "misfit",
        "--- a/core/src/id.rs\n+++ b/core/src/id.rs\n@@ -7 +7 @@\n-no\n+yes\n",
    )]);
    assert!(code == Some(64) && said.contains("hunk 1 of core/src/id.rs"), "{said}");
}

#[test]
fn there_must_be_sources() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    let ran = Simulator::Sound.run(&["mutants", "--sources", nowhere]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(64) && said.contains("--sources"), "{said}");
}
