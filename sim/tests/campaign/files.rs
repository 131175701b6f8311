//! Files that the command reads and writes: what they may hold, and which of them it replaces.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

use serde_json::Value;
use tenure_sim::trace::file::INSTANT_MOST;

use super::{command, json, path, refused};

/// Text that clears a screen, and looks like a verdict.
const WORST: &str = "x\u{1b}[2J\nmodel: HELD: nothing was violated";

/// A folder with a plan, its trace, and a summary.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [plan, trace, summary] = ["plan", "trace", "summary"].map(|name| path(folder.path(), name));
    let of = ["run", "--engine", "model", "--runs", "1", "--faults", "pause", "--format", "json"];
    let ran = command(&[&of[..], &["--trace", &trace, "--plan-out", &plan]].concat());
    fs::write(summary, ran.stdout).unwrap();
    folder
}

/// The names of all files in a folder.
fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn no_result_takes_the_place_of_an_input() {
    let folder = folder();
    let [plan, trace, summary] = ["plan", "trace", "summary"].map(|name| path(folder.path(), name));
    let again = path(folder.path(), "./plan");
    let other = path(folder.path(), "other");
    let before: Vec<_> = [&plan, &trace, &summary].map(|file| fs::read(file).unwrap()).into();
    for arguments in [
        &["check", &trace, "--report", &trace][..],
        &["replay", "--plan", &plan, "--report", &again],
        &["replay", "--plan", &plan, "--trace", &plan],
        &["replay", "--plan", &plan, "--trace", &other, "--report", &other],
        &["shrink", "--plan", &plan, "--out", &plan],
        &["merge", &summary, "--report", &summary],
        &["run", "--runs", "1", "--trace", &other, "--plan-out", &other],
        &["run", "--runs", "1", "--mutants", &other, "--report", &other],
    ] {
        fs::write(&other, "[]").unwrap();
        let why =
            if arguments.contains(&"--mutants") { "at least one" } else { "names this file twice" };
        refused(arguments, &[why]);
    }
    let after: Vec<_> = [&plan, &trace, &summary].map(|file| fs::read(file).unwrap()).into();
    assert_eq!(before, after);
    assert_eq!(names(&folder), ["other", "plan", "summary", "trace"]);
}

#[test]
fn no_result_follows_a_link() {
    let folder = folder();
    let [plan, link, precious] = ["plan", "link", "precious"].map(|name| path(folder.path(), name));
    fs::write(&precious, "keep").unwrap();
    symlink(&precious, &link).unwrap();
    for arguments in [
        &["replay", "--plan", &plan, "--report", &link][..],
        &["replay", "--plan", &plan, "--trace", &link],
        &["run", "--runs", "1", "--plan-out", &link],
    ] {
        refused(arguments, &["this is a link, which is not followed"]);
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "keep");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_result_replaces_a_file_as_a_whole() {
    let folder = folder();
    let [plan, report] = ["plan", "report"].map(|name| path(folder.path(), name));
    fs::write(&report, "before").unwrap();
    fs::set_permissions(&report, fs::Permissions::from_mode(0o640)).unwrap();
    let ran = command(&["replay", "--plan", &plan, "--report", &report]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let html = fs::read_to_string(&report).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert_eq!(fs::metadata(&report).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&folder), ["plan", "report", "summary", "trace"]);
    let ran = command(&["replay", "--plan", &plan, "--report", "/dev/null"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

/// The lines of the trace, one of them changed.
fn changed(folder: &tempfile::TempDir, change: impl FnOnce(&mut Vec<Value>)) -> String {
    let text = fs::read_to_string(folder.path().join("trace")).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    let file = path(folder.path(), "changed");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    file
}

fn position(lines: &[Value], event: &str) -> usize {
    lines.iter().position(|line| !line["event"][event].is_null()).unwrap()
}

#[test]
fn times_that_would_overflow_are_refused() {
    let folder = folder();
    for most in [u64::MAX, INSTANT_MOST + 1] {
        let end = changed(&folder, |lines| lines.last_mut().unwrap()["end"] = most.into());
        refused(&["check", &end], &["field \"end\" is", "must be at most 4611686018427387904"]);
    }
    let lease = changed(&folder, |lines| {
        let kept = lines.iter_mut().find_map(|line| {
            line.pointer_mut("/event/store/after").filter(|kept| kept.is_object())
        });
        kept.unwrap()["lease_ends"] = (INSTANT_MOST + 1).into();
    });
    refused(&["check", &lease], &["field \"lease_ends\" is"]);
    let claim = changed(&folder, |lines| {
        let line = position(lines, "elected");
        lines[line]["event"]["elected"]["claim_ends"] = (u64::MAX - 1).into();
    });
    refused(&["check", &claim], &["field \"claim_ends\" is"]);
    let tick = changed(&folder, |lines| lines[0]["tick_ns"] = u64::MAX.into());
    refused(&["check", &tick], &["field \"tick_ns\" is"]);
    let node = changed(&folder, |lines| {
        let line = position(lines, "leads");
        lines[line]["event"]["leads"]["who"]["node"] = 1_000_000.into();
    });
    refused(&["check", &node], &["field \"node\" is 1000000"]);
}

/// Neither judging such a trace nor drawing it panics.
#[test]
fn the_latest_times_are_judged() {
    let folder = folder();
    let report = path(folder.path(), "report");
    let late = changed(&folder, |lines| {
        lines[0]["plan"]["store"]["clock_rate_ppm"] = 900_000.into();
        lines[0]["plan"]["nodes"][0]["clock_rate_ppm"] = 900_000.into();
        let line = position(lines, "elected");
        lines[line]["event"]["elected"]["claim_ends"] = u64::MAX.into();
        let last = lines.len() - 1;
        lines[last]["end"] = INSTANT_MOST.into();
        lines[last - 1]["at"] = INSTANT_MOST.into();
    });
    let ran = command(&["check", &late, "--report", &report]);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(
        !error.contains("panicked") && ran.status.code().is_some_and(|code| code < 101),
        "{ran:?}"
    );
}

#[test]
fn settings_that_would_overflow_are_refused() {
    let folder = folder();
    let plan = path(folder.path(), "plan");
    let text = fs::read_to_string(&plan).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json["settings"]["ttl_ms"] = u64::MAX.into();
    fs::write(&plan, json.to_string()).unwrap();
    refused(&["replay", "--plan", &plan], &["field \"settings.ttl_ms\" is 18446744073709551615"]);
}

#[test]
fn what_a_file_says_reaches_no_terminal_unescaped() {
    let folder = folder();
    let engine = changed(&folder, |lines| lines[0]["engine"] = WORST.into());
    let plan = path(folder.path(), "plan");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replacen("\"seed\"", "\"x\\u001b[2J\\nHELD\"", 1)).unwrap();
    let summary = path(folder.path(), "summary");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&summary).unwrap()).unwrap();
    json["engine"] = WORST.into();
    fs::write(&summary, json.to_string()).unwrap();
    for arguments in [&["check", &engine][..], &["replay", "--plan", &plan], &["merge", &summary]] {
        let ran = command(arguments);
        let error = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(64), "{error}");
        assert!(error.contains("\\u{1b}[2J\\n") && !error.contains('\u{1b}'), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_failure_in_a_summary_is_shown_on_one_line() {
    let folder = folder();
    let summary = path(folder.path(), "summary");
    let mut of: Value = serde_json::from_str(&fs::read_to_string(&summary).unwrap()).unwrap();
    of["failed"] = serde_json::json!({
        "seed": 1, "kind": "broke", "what": WORST,
    });
    fs::write(&summary, of.to_string()).unwrap();
    assert_eq!(json(&["merge", &summary])["verdict"], "violated");
    let ran = command(&["merge", &summary]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("broke down: x\\u{1b}[2J\\nmodel: HELD"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("\nmodel: HELD"), "{text}");
    of["runs"] = u64::MAX.into();
    fs::write(&summary, of.to_string()).unwrap();
    refused(&["merge", &summary, &summary], &["field \"runs\" is too large"]);
}
