//! The situations of the comparison, as the command runs them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use serde_json::Value;

fn situations(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-sim"));
    command.arg("situations").args(arguments).output().unwrap()
}

#[test]
fn no_situation_has_two_leaders() {
    for engine in ["model", "turmoil"] {
        let ran = situations(&["--engine", engine, "--runs", "2", "--format", "json"]);
        let rows: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(ran.status.code(), Some(0), "{engine}: {rows:#?}");
        let carried_out = rows.iter().filter(|row| row["refused"].is_null());
        let mut pauses = 0;
        for row in carried_out.clone() {
            assert_eq!((&row["runs"], &row["effects"]), (&2.into(), &2.into()), "{row:#}");
            pauses += row["paused"][0].as_u64().unwrap_or(0);
        }
        // The turmoil engine can't tell when an acquire was sent, and has one server.
        let least = if engine == "model" { 17 } else { 14 };
        assert_eq!((carried_out.count(), pauses), (least, 4), "{engine}");
    }
}

#[test]
fn a_situation_that_the_engine_lacks_is_named() {
    let ran = situations(&["--engine", "turmoil", "--only", "late-grant"]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("late-grant: not in turmoil: fault 1 (hold)"), "{text}");
    assert_eq!(ran.status.code(), Some(2));
    let unknown = situations(&["--only", "earthquake"]);
    let text = String::from_utf8_lossy(&unknown.stderr);
    assert!(text.contains("earthquake") && text.contains("late-grant"), "{text}");
    assert_eq!(unknown.status.code(), Some(64));
}
