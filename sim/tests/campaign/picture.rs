//! Pictures of runs: those of the documents are what the command draws, and any run can be drawn.

use std::fs;
use std::path::Path;

use super::{command, path, refused};

const PICTURES: [&str; 3] = ["handover", "pause", "store-loss"];

/// The picture of a run, named by its seed or plan, and the exit code.
fn drawn(which: [&str; 2]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run.svg");
    let ran = command(&["replay", which[0], which[1], "--svg", &out]);
    (fs::read_to_string(out).unwrap(), ran.status.code())
}

#[test]
fn pictures_of_documents_are_those_drawn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    for name in PICTURES {
        let plan = path(&folder, &format!("{name}.json"));
        let (picture, code) = drawn(["--plan", &plan]);
        assert_eq!(code, Some(0), "{name}");
        let kept = fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
        assert!(picture == kept, "draw it: tenure-sim replay --plan {plan} --svg {name}.svg");
    }
}

#[test]
fn every_run_can_be_drawn() {
    for seed in 1..=40 {
        let seed = seed.to_string();
        let (picture, code) = drawn(["--seed", &seed]);
        assert_eq!(code, Some(0), "seed {seed}");
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "seed {seed}");
        assert!(picture.contains(">store</text>") && picture.contains(">n0</text>"), "seed {seed}");
        assert!(picture.contains("prefers-color-scheme:dark"), "seed {seed}");
        // No other mark-up than that of the picture.
        let tags = picture.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap());
        let known = [
            "svg", "style", "rect", "line", "text", "title", "/svg", "/style", "/rect", "/text",
            "/title",
        ];
        tags.for_each(|tag| assert!(known.contains(&tag), "seed {seed}: {tag}"));
        assert_eq!(drawn(["--seed", &seed]).0, picture, "seed {seed}");
    }
}

#[test]
fn a_violation_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, out] = ["plan.json", "run.svg"].map(|name| path(folder.path(), name));
    let control: tenure_sim::evidence::controls::Control = "drift".parse().unwrap();
    fs::write(&plan, control.plan(1).to_text()).unwrap();
    let ran = command(&["replay", "--plan", &plan, "--beyond", "--svg", &out]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(fs::read_to_string(&out).unwrap().contains("class=\"bad\""));
    refused(&["replay", "--plan", &plan, "--svg", &plan], &["names this file twice"]);
}
