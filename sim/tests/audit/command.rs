//! The command as a user calls it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::support::Log;

fn audit(folder: &Path, logs: &[Log], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-sim"));
    command.current_dir(folder).arg("audit");
    for log in logs {
        fs::write(folder.join(log.name), &log.text).unwrap();
        command.arg(log.name);
    }
    command.args(arguments).output().unwrap()
}

/// The exit code, and what the command says.
fn says(logs: &[Log], arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = audit(folder.path(), logs, arguments);
    let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    (status.code(), text)
}

fn overlapping() -> [Log; 2] {
    [Log::new("a.jsonl").leads(0, 1_000, 7), Log::new("b.jsonl").leads(980, 2_000, 8)]
}

#[test]
fn each_verdict_has_its_exit_code() {
    let (code, text) = says(&overlapping(), &["--uncertainty", "5ms"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("single-leader: no placement of the clocks"), "{text}");
    assert!(text.contains("lines: a.jsonl:3, b.jsonl:2") && text.contains("VIOLATED"), "{text}");
    let (code, text) = says(&overlapping(), &[]);
    assert!(code == Some(2) && text.contains("INCONCLUSIVE"), "{code:?} {text}");
    let [a, b] = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(1_020, 2_000, 8)];
    let after = [a.wrote(10, 20, 7, "accepted"), b.wrote(1_030, 1_040, 8, "accepted")];
    let (code, text) = says(&after, &["--uncertainty", "5000us"]);
    assert!(code == Some(0) && text.contains("HELD: "), "{code:?} {text}");
    assert!(text.contains("1 pairs of claims and 1 pairs of writes"), "{text}");
}

/// Leaders without a fence write no lines: what they wrote may be anything.
#[test]
fn leads_without_writes_are_inconclusive_unless_unfenced() {
    let after = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(1_020, 2_000, 8)];
    let (code, text) = says(&after, &["--uncertainty", "5ms"]);
    assert!(code == Some(2) && text.contains("INCONCLUSIVE: 1 pairs of claims hold"), "{text}");
    assert!(text.contains("Tenure::trace_write") && text.contains("--unfenced"), "{text}");
    let (code, text) = says(&after, &["--uncertainty", "5ms", "--unfenced"]);
    assert!(code == Some(0) && text.contains("HELD, by --unfenced for the leads alone"), "{text}");
    let (code, text) = says(&overlapping(), &["--uncertainty", "5ms", "--unfenced"]);
    assert!(code == Some(1) && text.contains("VIOLATED"), "{text}");
}

#[test]
fn uncertainty_and_drift_are_stated() {
    let wide = ["--uncertainty", "5ms", "--uncertainty", "b.jsonl=15ms"];
    assert_eq!(says(&overlapping(), &wide).0, Some(2));
    let drift = ["--uncertainty", "5ms", "--drift", "10000"];
    assert_eq!(says(&overlapping(), &drift).0, Some(2));
    for wrong in [["--uncertainty", "5"], ["--uncertainty", "c.jsonl=5ms"], ["--drift", "600000"]] {
        let (code, text) = says(&overlapping(), &wrong);
        assert_eq!(code, Some(64), "{text}");
    }
    assert_eq!(says(&[], &[]).0, Some(64), "a log is required");
}

#[test]
fn bad_input_names_file_and_line() {
    let (code, text) = says(&[Log::new("a.jsonl").line("hello").leads(0, 1, 7)], &[]);
    assert_eq!(code, Some(64));
    assert!(text.contains("a.jsonl: line 2 is no line of a log"), "{text}");
    let clocks = [Log::new("a.jsonl").clock(10_000, 30)];
    let (code, text) = says(&clocks, &["--uncertainty", "1ms"]);
    assert_eq!(code, Some(64));
    assert!(text.contains("the wall clock at a.jsonl:"), "{text}");
}

#[test]
fn the_result_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let out = audit(folder.path(), &overlapping(), &["--uncertainty", "5ms", "--format", "json"]);
    let told: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&told["verdict"], &told["tenures"]), (&"violated".into(), &2.into()));
    let violation = &told["violations"][0];
    assert_eq!(violation["property"], "single-leader");
    assert_eq!(violation["tokens"], serde_json::json!([7, 8]));
    assert_eq!(violation["lines"], serde_json::json!(["a.jsonl:3", "b.jsonl:2"]));
    assert_eq!(told["properties"]["single-leader"]["compared"], 1);
}

#[test]
fn runs_of_the_model_engine() {
    let command = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().unwrap()
    };
    let out = command(&["audit", "--model", "40", "--jobs", "1", "--format", "json"]);
    let told: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(0), "{told}");
    assert_eq!(told["violated"], serde_json::json!({}));
    assert!(told["runs"].as_u64() > Some(10), "{told}");
}
