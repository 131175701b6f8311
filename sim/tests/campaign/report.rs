//! `--report`: the data that the page is told. That it is shown is for the test with a browser.

use std::fs;

use serde_json::{Value, json};

use super::{FAULTS, command, in_a_shell, json, path, refused};
use crate::report::data;

/// The data of a page.
pub(super) fn told(file: &str) -> Value {
    data(&fs::read_to_string(file).unwrap())
}

fn titles(campaign: &Value) -> Vec<&str> {
    let tables = campaign["tables"].as_array().unwrap();
    tables.iter().map(|table| table["title"].as_str().unwrap()).collect()
}

#[test]
fn a_run_and_its_recorded_trace_have_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, one, other] =
        ["run.jsonl", "one.html", "other.html"].map(|name| path(folder.path(), name));
    let replay = ["replay", "--seed", "7", "--trace", &trace, "--report", &one];
    assert_eq!(command(&replay).status.code(), Some(0));
    assert_eq!(command(&["check", &trace, "--report", &other]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&one).unwrap(), fs::read_to_string(&other).unwrap());
    let run = &told(&one)["run"];
    assert_eq!((&run["seed"], &run["verdict"]), (&json!("7"), &json!("held")));
    assert_eq!(run["again"], "tenure-sim replay --engine model --seed 7");
    let drawn = ["replay", "--seed", "7", "--faults", FAULTS, "--report", &one];
    assert_eq!(command(&drawn).status.code(), Some(0));
    assert_eq!(told(&one)["run"]["again"], "tenure-sim replay --engine model --plan plan.json");
}

#[test]
fn a_campaign_has_a_page_with_what_else_is_handed_in() {
    let folder = tempfile::tempdir().unwrap();
    let [page, compared, mutants] =
        ["page.html", "compared.json", "mutants.json"].map(|name| path(folder.path(), name));
    fs::write(&compared, json(&["compare", "--runs", "1"]).to_string()).unwrap();
    fs::write(&mutants, json!([tried()]).to_string()).unwrap();
    let run = ["run", "--engine", "model", "--runs", "3", "--report", &page];
    let given = ["--compare", &compared, "--mutants", &mutants];
    assert_eq!(command(&[&run[..], &given[..]].concat()).status.code(), Some(2));
    let campaign = &told(&page)["campaign"];
    assert_eq!(campaign["verdict"], "inconclusive");
    let titles = titles(campaign);
    assert_eq!((titles[0], titles[2], titles[4]), ("Figures", "Properties", "Mutants"));
    assert!(titles[5].starts_with("cut-off"), "{titles:?}");
    let row = ["late", "model", "margin-kept", "7", "0.5 s", "4 s"];
    assert_eq!(campaign["tables"][4]["rows"][0], json!(row));
    assert!(told(&page)["run"].is_null());
    refused(&["run", "--runs", "1", "--mutants", &mutants], &["--report"]);
}

/// A mutant, as `mutants --format json` tells it.
fn tried() -> Value {
    let seen =
        json!({ "seen": { "property": "margin-kept" }, "seed": 7, "what": "", "wall_s": 0.5 });
    json!({
        "mutant": "late", "about": "what is wrong", "build_s": 4.0, "trials": [{
            "engine": "model", "faults": "", "seeds": 20_000, "wall_s": 0.5,
            "end": "by-properties", "missing": [], "sightings": [seen],
        }],
    })
}

#[test]
fn mutants_that_are_none_are_refused_with_line_entry_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let [page, mutants] = ["page.html", "mutants.json"].map(|name| path(folder.path(), name));
    let changed = |change: &dyn Fn(&mut Value), said: &str| {
        let mut second = tried();
        change(&mut second);
        fs::write(&mutants, format!("[{},\n{second}]", tried())).unwrap();
        let run = ["run", "--engine", "model", "--runs", "3", "--report", &page];
        let given = [&run[..], &["--mutants", &mutants]].concat();
        refused(&given, &["mutants.json", "line 2", said]);
    };
    changed(&|row| row["trials"][0]["seeds"] = "many".into(), "field \"[1].trials[0].seeds\"");
    changed(&|row| row["trials"][0]["engine"] = "steam".into(), "field \"[1].trials[0].engine\"");
    changed(&|row| row["killed"] = true.into(), "field \"[1].killed\"");
    changed(&|row| drop(row.as_object_mut().unwrap().remove("about")), "missing field `about`");
    let of = |text: &str, said: &[&str]| {
        fs::write(&mutants, text).unwrap();
        let given = ["run", "--runs", "3", "--report", &page, "--mutants", &mutants];
        refused(&given, &[&["mutants.json", "line 1"], said].concat());
    };
    of("[]", &["at least one mutant"]);
    of("[1]", &["field \"[0]\""]);
    of("{}", &["expected a sequence"]);
}

#[test]
fn merged_campaigns_show_the_run_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let [file, page] = ["one.json", "page.html"].map(|name| path(folder.path(), name));
    let mut summary = json(&["run", "--engine", "model", "--runs", "4"]);
    summary["failed"] = json!({
        "seed": 3, "kind": "violated", "property": "single-leader", "at_ns": 5, "what": "two lead",
    });
    fs::write(&file, summary.to_string()).unwrap();
    assert_eq!(command(&["merge", &file, "--report", &page]).status.code(), Some(1));
    let told = told(&page);
    assert_eq!(told["campaign"]["verdict"], "violated");
    assert_eq!(told["run"]["seed"], "3");
}

/// The link to the moment of the picture on the page about reports.
#[test]
fn the_picture_on_the_page_is_of_two_leaders() {
    let page = include_str!("../../../docs/report.md");
    let line = page.lines().find(|line| line.contains("drift.html#violation=")).unwrap();
    let (run, number) = line.split_once("drift.html#violation=").unwrap();
    let run = run.split('#').next().unwrap().replacen("sim ", "tenure-sim ", 1);
    let folder = tempfile::tempdir().unwrap();
    let ran = in_a_shell(&run, folder.path());
    assert_eq!(ran.status.code(), Some(0), "{run}: {ran:?}");
    let violations = &told(&path(folder.path(), "drift.html"))["run"]["violations"];
    let shown = &violations[number.parse::<usize>().unwrap() - 1];
    assert_eq!(shown["property"], "single-leader", "{violations}");
}

#[test]
fn a_control_shows_what_broke() {
    let folder = tempfile::tempdir().unwrap();
    let page = path(folder.path(), "page.html");
    let control = ["run", "--control", "unfenced", "--seed", "1", "--runs", "2", "--report", &page];
    assert_eq!(command(&control).status.code(), Some(0));
    let run = &told(&page)["run"];
    let violation = &run["violations"][0];
    assert_eq!(violation["property"], "unfenced-in-order");
    assert_eq!(violation["what"], "n0 wrote under token #1 after a write under #2");
    assert_eq!(
        run["items"].as_array().unwrap().iter().filter(|of| of["kind"] == "violation").count(),
        1
    );
    for file in ["--report", "--plan-out", "--shrink"] {
        refused(&["run", "--control", "all", "--runs", "1", file, &page], &["one control"]);
    }
}
