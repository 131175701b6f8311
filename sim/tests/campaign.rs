//! The campaign as a user runs it: the same plans give the same traces, whoever carries them out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use serde_json::Value;
use tenure_sim::campaign::Campaign;
use tenure_sim::plan::FaultKind;

const RUNS: u64 = 24;

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let ran = command(arguments);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_plan_has_one_trace_in_every_process_and_with_any_number_of_threads() {
    let campaign = |jobs| Campaign {
        seed: 1,
        runs: RUNS,
        jobs,
        faults: FaultKind::ALL.to_vec(),
        properties: None,
        check_determinism: false,
    };
    let here = campaign(3).run(|_| {}).trace_hash();
    assert_eq!(campaign(1).run(|_| {}).trace_hash(), here);
    let runs = RUNS.to_string();
    let there = json(&["run", "--runs", &runs, "--format", "json", "--jobs", "2"]);
    assert_eq!(there["trace_hash"], *here);
}

#[test]
fn the_summary_has_every_field() {
    let summary = json(&["run", "--seed", "7", "--runs", "2", "--format", "json"]);
    for field in ["engine", "seed", "runs", "simulated_s", "wall_s", "elections", "faults"] {
        assert!(!summary[field].is_null(), "{field} in {summary}");
    }
    for field in ["properties", "sometimes", "margin_min_ms", "verdict", "trace_hash"] {
        assert!(summary.get(field).is_some(), "{field} in {summary}");
    }
    assert_eq!(summary["properties"]["single-leader"]["violated"], 0);
    assert_eq!((summary["runs"].as_u64(), summary["engine"].as_str()), (Some(2), Some("turmoil")));
}

#[test]
fn few_runs_prove_too_little_and_say_so() {
    let ran = command(&["run", "--runs", "1", "--faults", "latency"]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("INCONCLUSIVE") && text.contains("leader-crashed"), "{text}");
}

#[test]
fn a_replay_is_compared_with_itself() {
    let ran = command(&["replay", "--seed", "5"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

#[test]
fn a_trace_begins_with_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    command(&["run", "--seed", "9", "--runs", "1", "--trace", path.to_str().unwrap()]);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["seed"], 9);
    assert!(lines[1..].iter().all(|line| line["event"].is_string() && line["at"].is_u64()));
    let ran = command(&["run", "--runs", "1", "--trace", "/nowhere/trace.jsonl"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("/nowhere/trace.jsonl"), "{ran:?}");
}

#[test]
fn a_wrong_command_line_ends_with_64_and_names_the_choices() {
    for (arguments, said) in [
        (&["run", "--faults", "gremlins"][..], "known are partition"),
        (&["run", "--properties", "luck"], "known are single-leader"),
        (&["run", "--runs", "-3"], "unexpected argument '-3'"),
        (&["run", "--runs", "0"], "0 is not in 1.."),
        (&["run", "--runs", "many"], "invalid digit"),
        (&["run", "--jobs", "0"], "0 is not in 1..=1024"),
        (&["run", "--engine", "abacus"], "possible values: turmoil"),
        (&["run", "--format", "poem"], "possible values: human, json"),
        (&["replay"], "--seed <SEED>"),
        (&["runn"], "'run'"),
    ] {
        let ran = command(arguments);
        let error = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(64), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    assert_eq!(command(&["--help"]).status.code(), Some(0));
}
