//! Each command that the simulator prints is carried out as it is printed, and gives the outcome
//! that it is printed for.

use std::fs;
use std::path::Path;

use tenure_sim::evidence::controls::Control;

use super::report::told;
use super::{in_a_shell, json, path};

/// The standard output of a shell's line. It must end with that code.
fn says(line: &str, folder: &Path, code: i32) -> String {
    let ran = in_a_shell(line, folder);
    assert_eq!(ran.status.code(), Some(code), "{line}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The commands that a text shows, each at the end of a line.
fn printed(text: &str) -> Vec<&str> {
    let command = |line: &str| line.find("tenure-sim ").filter(|at| line[..*at].ends_with(": "));
    text.lines().filter_map(|line| Some(&line[command(line)?..])).collect()
}

#[test]
fn commands_after_a_sweep_and_a_shrink_repeat_the_violation() {
    let (folder, violated) = (tempfile::tempdir().unwrap(), "unfenced-in-order violated");
    let folder = folder.path();
    let sweep = "tenure-sim sweep --seeds 1 --everything --plan-out 'a plan.json'";
    let swept = says(sweep, folder, 1);
    let [again, smaller] = printed(&swept)[..] else { panic!("{swept}") };
    assert!(says(again, folder, 1).contains(violated), "{again}");
    let shrunk = says(smaller, folder, 0);
    let [again] = printed(&shrunk)[..] else { panic!("{shrunk}") };
    assert!(says(again, folder, 1).contains(violated), "{again}");
}

#[test]
fn commands_on_pages_repeat_the_violation() {
    let folder = tempfile::tempdir().unwrap();
    let page = path(folder.path(), "page.html");
    let plan = "drift".parse::<Control>().unwrap().plan(1).to_text();
    fs::write(folder.path().join("drift.json"), plan).unwrap();
    for (run, code) in [
        ("tenure-sim replay --beyond --plan drift.json --report page.html", 1),
        ("tenure-sim run --control drift --runs 1 --report page.html", 0),
    ] {
        says(run, folder.path(), code);
        let run = &told(&page)["run"];
        // What the page's button does.
        fs::write(folder.path().join("plan.json"), run["plan"].as_str().unwrap()).unwrap();
        let again = run["again"].as_str().unwrap();
        assert!(says(again, folder.path(), 1).contains("VIOLATED"), "{again}");
    }
}

#[test]
fn what_the_first_screen_recommends_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let run = "tenure-sim run --engine model --runs 1 --faults latency";
    for (given, recommended) in [("", 2), (" --report 'a page.html'", 1)] {
        let text = says(&format!("{run}{given}"), folder.path(), 2);
        let commands = printed(&text);
        assert_eq!(commands.len(), recommended, "{text}");
        for command in commands {
            // One run does not meet each condition.
            says(command, folder.path(), 2);
        }
    }
}

#[test]
fn a_campaign_that_held_names_a_run_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut held = json(&["run", "--engine", "model", "--runs", "4", "--faults", "latency"]);
    for met in held["sometimes"].as_object_mut().unwrap().values_mut() {
        *met = 1.into();
    }
    for judged in held["properties"].as_object_mut().unwrap().values_mut() {
        judged["compared"] = 1.into();
    }
    fs::write(folder.join("held.json"), held.to_string()).unwrap();
    let screen = says("tenure-sim merge held.json", folder, 0);
    let fails = printed(&screen)[0];
    assert!(fails.contains("--control") && fails.contains("--report"), "{screen}");

    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let script = r#"#!/bin/sh
cp "$1" part; mv part opened.html
"#;
    fs::write(folder.join(opener), script).unwrap();
    let waits = "for i in $(seq 600); do test -e opened.html && break; sleep 0.1; done";
    let run = format!(
        "chmod +x {opener}; PATH=.:$PATH {fails} --runs 20 --plan-out plan.json && {{ {waits}; }}"
    );
    let found = says(&run, folder, 0);
    let commands = printed(&found);
    assert_eq!(commands.len(), 2, "{found}");
    for again in commands {
        assert!(says(again, folder, 1).contains("VIOLATED"), "{again}");
    }
    let [plan, small] = ["plan.json", "small.json"].map(|name| folder.join(name));
    let [plan, small] = [plan, small].map(|file| fs::read_to_string(file).unwrap());
    assert!(small.len() < plan.len(), "{small}");
    let page = ["drift.html", "opened.html"].map(|name| told(&path(folder, name)));
    assert_eq!(page[0], page[1]);
    assert_eq!(page[0]["run"]["plan"], small.trim_end());
}
