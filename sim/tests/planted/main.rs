//! Proves that the checks can fail: each planted bug must violate the properties that guard against it.
//!
//! A bug is a snippet of the shipped sources and what replaces it. The sources are copied, the snippet
//! replaced, the simulator built from the copy and run. A snippet that does not stand in its file
//! exactly once is an error: a bug that is not planted proves nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bugs;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{fs, io};

use bugs::{BUGS, Bug, Edit};

const FOLDERS: [&str; 5] = ["core", "tenure", "sim", "bench", "servers"];
const FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

#[test]
fn every_planted_bug_is_caught_by_the_properties_that_guard_against_it() {
    let copy = Copy::of_the_sources();
    let mut missed = Vec::new();
    for bug in &BUGS {
        let began = Instant::now();
        copy.plant(bug);
        copy.build(bug);
        let built = began.elapsed();
        for property in bug.caught_by {
            if copy.violates(bug, property) {
                eprintln!("{}: caught by {property}", bug.name);
            } else {
                missed.push(format!("{} by {property}", bug.name));
            }
        }
        eprintln!("{}: {built:.1?} to build, {:.1?} in all", bug.name, began.elapsed());
        copy.mend(bug);
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn together_the_bugs_make_every_property_fail() {
    let caught: Vec<&str> = BUGS.iter().flat_map(|bug| bug.caught_by).copied().collect();
    let never: Vec<&str> =
        tenure_sim::properties::names().filter(|name| !caught.contains(name)).collect();
    assert!(never.is_empty(), "no bug shows that these can fail: {never:?}");
}

struct Copy {
    workspace: PathBuf,
    sources: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of_the_sources() -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf();
        // Beside the artifacts of this very test, and never among them: cargo tells packages of two
        // copies of a workspace apart by the age of their files alone, and would sooner or later take a
        // planted bug for the real thing.
        let target = std::env::current_exe().unwrap();
        let folder = target.ancestors().nth(3).unwrap().join("planted");
        let (sources, target) = (folder.join("sources"), folder.join("target"));
        for folder in FOLDERS {
            copy_folder(&workspace.join(folder), &sources.join(folder)).unwrap();
        }
        for file in FILES {
            fs::copy(workspace.join(file), sources.join(file)).unwrap();
        }
        Self { workspace, sources, target }
    }

    fn plant(&self, bug: &Bug) {
        bug.edits.iter().for_each(|edit| self.edit(edit));
    }

    fn edit(&self, Edit { file, from, to }: &Edit) {
        let path = self.sources.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let found = text.matches(from).count();
        assert_eq!(found, 1, "{file} holds {found} times, and should once:\n{from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn mend(&self, bug: &Bug) {
        for Edit { file, .. } in bug.edits {
            fs::copy(self.workspace.join(file), self.sources.join(file)).unwrap();
        }
    }

    fn build(&self, bug: &Bug) {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--package", "tenure-sim"])
            .current_dir(&self.sources)
            .env("CARGO_TARGET_DIR", &self.target)
            // Only the mutated crates change from build to build.
            .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{} does not build:\n{errors}", bug.name);
    }

    fn violates(&self, bug: &Bug, property: &str) -> bool {
        // A bug that makes the driver spin must fail the test, not hang it.
        let ran = Command::new("timeout")
            .args(["--signal=KILL", "120"])
            .arg(self.target.join("release/tenure-sim"))
            .args(["run", "--runs", "400", "--format", "json", "--faults", bug.faults])
            .args(["--properties", property])
            .output()
            .unwrap();
        if ran.stdout.is_empty() {
            return false;
        }
        let summary: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        ran.status.code() == Some(1)
            && summary["verdict"] == "violated"
            && summary["properties"][property]["violated"].as_u64() >= Some(1)
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if fs::read(entry.path())? != fs::read(&target).unwrap_or_default() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
