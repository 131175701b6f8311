//! All crates that the workspaces depend on: their licences, where they come from, and which are
//! left out. Known vulnerabilities are checked by `scripts/advisories`, which needs the network.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// All of these allow use in a closed-source program, and require only that their text is included.
const LICENSES: [&str; 9] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "BSL-1.0",
    // Of data: Mozilla's list of authorities.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Only for the fuzz targets, which no package depends on.
const FOR_FUZZING: (&str, &str) = ("libfuzzer-sys", "NCSA");

/// TLS is rustls with ring: one implementation, no system library, no `CMake`. Addresses of servers
/// need no tables of Unicode, which would be twenty crates more: `Cargo.lock` has the version of
/// `idna_adapter` that has none.
const LEFT_OUT: [&str; 6] =
    ["openssl", "openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys", "icu_normalizer"];

fn packages(manifest: &str) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(root.join(manifest))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{metadata:?}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The faults of a package.
fn faults(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap();
    let mut faults = Vec::new();
    if LEFT_OUT.contains(&name) {
        faults.push(format!("{name} is to be left out"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    let is_allowed = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|required| {
            let required = required.to_string();
            LICENSES.contains(&&*required) || (name, &*required) == FOR_FUZZING
        })
    });
    if !is_allowed {
        faults.push(format!("{name} has the licence {licence:?}"));
    }
    match package["source"].as_str() {
        // Of a workspace.
        None => {
            for dependency in package["dependencies"].as_array().unwrap() {
                if dependency["req"] == "*" && dependency["path"].is_null() {
                    faults.push(format!("{name} needs {} of any version", dependency["name"]));
                }
            }
        }
        Some(source) if source.starts_with("registry+") => {}
        Some(source) => faults.push(format!("{name} comes from {source}")),
    }
    faults
}

#[test]
fn licences_and_sources_are_allowed() {
    for (manifest, least) in [("Cargo.toml", 300), ("fuzz/Cargo.toml", 50)] {
        let packages = packages(manifest);
        assert!(packages.len() > least, "{manifest}: {} packages", packages.len());
        let faults: Vec<_> = packages.iter().flat_map(faults).collect();
        assert!(faults.is_empty(), "{manifest}:\n{}", faults.join("\n"));
        let registries: BTreeSet<_> =
            packages.iter().filter_map(|package| package["source"].as_str()).collect();
        assert_eq!(registries.len(), 1, "{registries:?}");
    }
}

#[test]
fn other_licences_and_sources_are_found() {
    let package = |name: &str, licence: Value, source: Value, req: &str| {
        faults(&serde_json::json!({
            "name": name, "license": licence, "source": source,
            "dependencies": [{ "name": "other", "req": req, "path": null }],
        }))
    };
    let registry = || Value::from("registry+index");
    for licence in ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "ISC AND (MIT OR GPL-2.0)"] {
        assert_eq!(package("a", licence.into(), registry(), "1"), [""; 0], "{licence}");
    }
    for licence in ["GPL-3.0", "MIT AND GPL-3.0", "", "unknown", "NCSA"] {
        assert_eq!(package("a", licence.into(), registry(), "1").len(), 1, "{licence}");
    }
    assert_eq!(package("libfuzzer-sys", "NCSA".into(), registry(), "1"), [""; 0]);
    assert_eq!(package("a", Value::Null, registry(), "1").len(), 1);
    assert_eq!(package("openssl", "MIT".into(), registry(), "1").len(), 1);
    assert_eq!(package("a", "MIT".into(), "git+elsewhere".into(), "1").len(), 1);
    assert_eq!(package("a", "MIT".into(), Value::Null, "*").len(), 1);
}

/// docs.rs builds a package without the configuration of cargo that this repository has.
#[test]
fn documentation_needs_no_file_outside_of_its_package() {
    let of_kubernetes = packages("Cargo.toml").into_iter().filter(|package| {
        let is_library = |target: &Value| target["kind"][0] == "lib";
        package["source"].is_null()
            && package["publish"].is_null()
            && package["targets"].as_array().unwrap().iter().any(is_library)
            && tree(&["-p", package["name"].as_str().unwrap(), "--all-features"])
                .lines()
                .any(|name| name.starts_with("k8s-openapi "))
    });
    let mut checked = Vec::new();
    for package in of_kubernetes {
        let arguments = package["metadata"]["docs"]["rs"]["cargo-args"].to_string();
        let name = package["name"].as_str().unwrap().to_owned();
        assert!(arguments.contains("env.K8S_OPENAPI_ENABLED_VERSION="), "{name}: {arguments}");
        checked.push(name);
    }
    checked.sort();
    assert_eq!(checked, ["tenure", "tenure-sim"]);
}

/// The names and versions of the crates of such a build, one a line.
fn tree(of: &[&str]) -> String {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"])
        .args(of)
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    String::from_utf8(tree.stdout).unwrap()
}

/// A new user waits for them. Those of this repository are not counted.
#[test]
fn the_first_command_builds_few_crates() {
    let tree = tree(&["-p", "tenure-sim"]);
    let crates: BTreeSet<_> = tree.lines().filter(|line| !line.contains("(/")).collect();
    assert!((90..=107).contains(&crates.len()), "{} crates: {crates:#?}", crates.len());
}
