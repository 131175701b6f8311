//! Traces as files.

use std::fs;

use serde_json::{Value, json};
use tenure_sim::engines::Engine;
use tenure_sim::trace::file::INSTANT_MOST;

use super::{FAULTS, command, json as told, path, refused};

/// The lines of a run's trace.
fn recorded(engine: Engine) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "trace.jsonl");
    let of = ["--engine", engine.name(), "--seed", "9", "--faults", FAULTS];
    command(&[&["run", "--runs", "1", "--trace", &file], &of[..]].concat());
    let text = fs::read_to_string(&file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Calls the command `check` on those lines.
fn check(lines: &[Value], then: impl FnOnce(&str)) {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "trace.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, text.join("\n")).unwrap();
    then(&file);
}

#[test]
fn a_trace_says_what_it_is_of_what_happened_and_how_it_ends() {
    for engine in Engine::ALL {
        let lines = recorded(*engine);
        let (header, rest) = lines.split_first().unwrap();
        let (end, entries) = rest.split_last().unwrap();
        assert_eq!((&header["trace"], &header["plan"]["seed"]), (&4.into(), &9.into()));
        assert_eq!(header["engine"], engine.name());
        assert!(entries.iter().all(|line| line["at"].is_u64() && !line["event"].is_null()));
        assert!(end["end"].as_u64() >= entries.last().unwrap()["at"].as_u64());
        check(&lines, |file| {
            let checked = told(&["check", file]);
            let of = ["--engine", engine.name(), "--seed", "9", "--faults", FAULTS];
            assert_eq!(checked, told(&[&["replay"], &of[..]].concat()));
            assert_eq!((&checked["verdict"], &checked["intact"]), (&"held".into(), &true.into()));
            assert_eq!(checked["trace_hash"], end["hash"]);
        });
    }
}

#[test]
fn a_trace_in_which_two_lead_at_once_is_a_violation() {
    let mut lines = recorded(Engine::Model);
    let leads = |line: &Value| !line["event"]["leads"].is_null();
    let first = lines.iter().position(leads).unwrap();
    let mut second = lines[first].clone();
    let node = second["event"]["leads"]["who"]["node"].as_u64().unwrap();
    second["event"]["leads"]["who"]["node"] = (1 - node.min(1)).into();
    lines.insert(first + 1, second);
    check(&lines, |file| {
        let only = told(&["check", file, "--properties", "single-leader"]);
        assert_eq!(only["failed"]["property"], "single-leader", "{only}");
        assert_eq!((&only["verdict"], &only["intact"]), (&"violated".into(), &false.into()));
        let ran = command(&["check", file]);
        let text = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{text}");
        assert!(text.contains("VIOLATED") && text.contains("Leads"), "{text}");
    });
}

#[test]
fn a_trace_that_was_changed_is_noticed() {
    let mut lines = recorded(Engine::Model);
    let healthy = lines.len() - 2;
    lines.remove(healthy);
    check(&lines, |file| refused(&["check", file], &["trace.jsonl", "its events were changed"]));
    // Written by hand: there is no hash to compare with.
    lines.last_mut().unwrap().as_object_mut().unwrap().remove("hash");
    check(&lines, |file| assert_eq!(command(&["check", file]).status.code(), Some(0)));
}

#[test]
fn what_is_no_trace_is_refused_with_line_and_field() {
    let lines = recorded(Engine::Model);
    let changed = |change: &dyn Fn(&mut Vec<Value>), said: &[&str]| {
        let mut lines = lines.clone();
        change(&mut lines);
        check(&lines, |file| {
            refused(&["check", file], &[&["trace.jsonl: "], said].concat());
        });
    };
    let started = "field \"event.started.who.node\": invalid type: string \"one\"";
    changed(
        &|lines| lines[1]["event"]["started"]["who"]["node"] = "one".into(),
        &["line 2, column", started],
    );
    changed(&|lines| lines[2] = json!({ "at": 0 }), &["line 3, column", "missing field `event`"]);
    changed(
        &|lines| lines[2] = json!({ "at": 0, "event": "party" }),
        &["line 3", "field \"event\""],
    );
    changed(&|lines| lines[3]["at"] = INSTANT_MOST.into(), &["line 5, field \"at\""]);
    changed(&|lines| lines[0]["trace"] = 1.into(), &["field \"trace\" is 1, and must be 4"]);
    changed(&|lines| lines[0]["plan"]["calm_from_ms"] = 0.into(), &["line 1", "calm_from_ms"]);
    changed(&|lines| lines[0]["plan"]["luck"] = 0.into(), &["line 1", "field \"plan.luck\""]);
    changed(&|lines| drop(lines.pop()), &["the trace is cut off"]);
    changed(&|lines| lines.truncate(1), &["line 1 is the last one", "the trace is cut off"]);
    changed(&|lines| lines.clear(), &["the file is empty"]);
    refused(&["check", "/nowhere/trace.jsonl"], &["/nowhere/trace.jsonl", "No such file"]);
}
