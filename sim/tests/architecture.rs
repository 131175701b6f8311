//! Dependencies point one way, and some things are absent on purpose.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Which package of the workspace depends on which, tests and build scripts left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let normal = |dependency: &&Value| dependency["kind"].is_null();
    packages
        .iter()
        .map(|package| {
            let of = package["dependencies"].as_array().unwrap();
            (name(package), of.iter().filter(normal).map(name).collect())
        })
        .collect()
}

/// Every Rust file below a folder, and its text without comments.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            found.push((path, code.collect::<Vec<_>>().join("\n")));
        }
    }
    found
}

#[test]
fn dependencies_point_one_way() {
    let dependencies = dependencies();
    let ours: BTreeSet<String> = dependencies.keys().cloned().collect();
    let allowed = |package: &str| match package {
        "tenure-core" | "tenure-servers" | "tenure-tests" => vec![],
        "tenure" => vec!["tenure-core"],
        "tenure-sim" => vec!["tenure-core", "tenure"],
        "tenure-bench" => vec!["tenure-core", "tenure", "tenure-servers"],
        other => panic!("{other} is new: say here what it may depend on"),
    };
    for (package, of) in &dependencies {
        let allowed: BTreeSet<String> =
            allowed(package).into_iter().map(ToOwned::to_owned).collect();
        let beyond: Vec<_> =
            of.intersection(&ours).filter(|name| !allowed.contains(*name)).collect();
        assert!(beyond.is_empty(), "{package} depends on {beyond:?}");
    }
    assert!(dependencies["tenure-core"].is_empty(), "core depends on nothing at all");
}

#[test]
fn stores_do_not_name_the_state_machine() {
    for (path, code) in sources(&root().join("tenure/src/store")) {
        for word in ["Candidate", "Input::", "Output::", "crate::driver", "crate::candidate"] {
            assert!(!code.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn only_the_runtime_touches_tokios_tasks_timers_and_sockets() {
    for (path, code) in sources(&root().join("tenure/src")) {
        let is_exempt =
            path.ends_with("runtime/tokio.rs") || path.to_string_lossy().contains("fred");
        for word in ["tokio::spawn", "tokio::time", "tokio::net", "TcpStream"] {
            assert!(is_exempt || !code.contains(word), "{} names {word}", path.display());
        }
    }
}
