//! The first screen: the verdicts, what they rest on, and what to do next, in less than thirty
//! lines.

use std::fs;

use serde_json::{Value, json};
use tenure_sim::engines::Engine;

use super::{FAULTS, command, json, path};

/// A command's output, and its exit code.
fn shown(arguments: &[&str]) -> (String, Option<i32>) {
    let ran = command(arguments);
    assert!(ran.stderr.is_empty(), "{ran:?}");
    (String::from_utf8(ran.stdout).unwrap(), ran.status.code())
}

/// Such a summary of few runs, with that failure, merged.
fn failed(failure: &Value) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = json(&["run", "--engine", "model", "--runs", "4", "--faults", FAULTS]);
    summary["failed"] = failure.clone();
    let file = path(folder.path(), "summary");
    fs::write(&file, summary.to_string()).unwrap();
    shown(&["merge", &file])
}

fn is_one_screen(text: &str) {
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn few_runs_prove_too_little_and_say_so() {
    let arguments = ["run", "--runs", "1", "--faults", "latency"];
    let (text, code) = shown(&arguments);
    assert_eq!(code, Some(2), "{text}");
    is_one_screen(&text);
    for (engine, line) in Engine::ALL.iter().zip(text.lines()) {
        assert!(line.starts_with(&format!("{engine}: INCONCLUSIVE: ")), "{text}");
        assert!(line.contains("never met: ") && line.contains(" more"), "{text}");
    }
    for row in ["seeds", "elections", "simulated time", "comparisons", "least safety margin"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(row)), "no {row}: {text}");
    }
    let further = "tenure-sim run --runs 1 --faults latency --details";
    assert!(text.contains(further) && text.contains("--runs, for each engine"), "{text}");

    let (all, code) = shown(&[&arguments[..], &["--details"]].concat());
    assert_eq!(code, Some(2), "{all}");
    for name in ["leader-crashed", "single-leader", "trace hash", "latency"] {
        assert!(all.contains(name), "no {name}: {all}");
    }
    assert!(all.lines().last().unwrap().contains(": INCONCLUSIVE: "), "{all}");
}

#[test]
fn an_argument_is_quoted_for_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "a page's.html");
    let run = ["run", "--engine", "model", "--runs", "1", "--faults", "latency", "--report", &file];
    let (text, _) = shown(&run);
    assert!(text.contains(r"a page'\''s.html' --details"), "{text}");
}

#[test]
fn a_failure_is_named_with_its_seed_and_replay() {
    let (text, code) = failed(&json!({
        "seed": 3, "kind": "violated", "property": "luck", "at_ns": 7_000_000, "what": "none left",
    }));
    assert_eq!(code, Some(1), "{text}");
    is_one_screen(&text);
    assert_eq!(text.lines().next(), Some("model: VIOLATED: luck, in seed 3"), "{text}");
    assert!(text.contains("luck violated at 7.000 ms: none left"), "{text}");
    assert!(text.contains("Again: tenure-sim replay --engine model --seed 3"), "{text}");
    assert!(text.contains("Smaller: tenure-sim shrink --engine model --seed 3"), "{text}");

    let hash = "0000000000000001";
    let (text, code) = failed(&json!({
        "seed": 2, "kind": "nondeterministic", "first": hash, "again": hash,
    }));
    assert_eq!(code, Some(3), "{text}");
    is_one_screen(&text);
    assert!(text.starts_with("model: NONDETERMINISTIC: the plan of seed 2 gave two"), "{text}");
    assert!(text.contains("Again: tenure-sim replay --engine model --seed 2"), "{text}");
}
