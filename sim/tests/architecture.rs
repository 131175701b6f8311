//! Dependencies point one way, and some things are absent on purpose.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The dependencies between the workspace's packages, tests and build scripts left out.
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

/// Every Rust file below a folder, without those of builds and of hidden folders.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().as_encoded_bytes();
        if name == b"target" || name.starts_with(b".") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The same files, and the text of each without comments.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let without_comments = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        (path, code)
    };
    files(folder).into_iter().map(without_comments).collect()
}

#[test]
fn dependencies_point_one_way() {
    let dependencies = dependencies();
    let ours: BTreeSet<String> = dependencies.keys().cloned().collect();
    let allowed = |package: &str| match package {
        "tenure-core" | "tenure-servers" | "tenure-tests" | "tenure-integrations" => vec![],
        "tenure-driver" => vec!["tenure-core"],
        "tenure" => vec!["tenure-core", "tenure-driver"],
        "tenure-cli" => vec!["tenure"],
        "tenure-sim" => vec!["tenure-core", "tenure-driver", "tenure", "tenure-servers"],
        "tenure-playground" => vec!["tenure-sim"],
        "tenure-bench" => vec!["tenure-core", "tenure", "tenure-servers"],
        "tenure-example-service" => vec!["tenure"],
        other => panic!("{other} is new: say here what it may depend on"),
    };
    for (package, of) in &dependencies {
        let allowed: BTreeSet<String> =
            allowed(package).into_iter().map(ToOwned::to_owned).collect();
        let beyond: Vec<_> =
            of.intersection(&ours).filter(|name| !allowed.contains(*name)).collect();
        assert!(beyond.is_empty(), "{package} depends on {beyond:?}");
    }
    // Its own tests say that this is optional.
    let core: Vec<&str> = dependencies["tenure-core"].iter().map(String::as_str).collect();
    assert_eq!(core, ["serde"], "core depends on nothing unless it is asked to");
}

/// Cargo finds no tests by itself here: a file that no program has as a module would never run.
#[test]
fn every_file_of_tests_is_a_module() {
    let packages =
        ["core", "tenure", "sim", "servers", "integrations", "playground", "examples/service"];
    let folders = packages.map(|package| root().join(package).join("tests"));
    let mut count = 0;
    for folder in folders.into_iter().chain([root().join("tests")]) {
        let is_program = |name: &str| ["main", "process"].contains(&name);
        let mut declared = BTreeSet::new();
        for (path, code) in sources(&folder) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.parent() == Some(&folder) && is_program(name) {
                let modules = code.lines().filter_map(|line| line.strip_prefix("mod "));
                declared.extend(modules.map(|rest| rest.trim_end_matches(';').to_owned()));
            }
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_module = path.join("mod.rs").is_file()
                || path.extension().is_some_and(|extension| extension == "rs");
            if is_module && !is_program(name) {
                assert!(declared.contains(name), "no program has the module {}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count} modules");
}

/// The rooms of a package that each room names: a room is a folder or a file beside `lib.rs`, and
/// all that is below it.
fn arrows(package: &str, ours: &str) -> BTreeSet<(String, String)> {
    let root = root().join(package).join("src");
    let rooms: BTreeSet<String> =
        fs::read_dir(&root).unwrap().map(|entry| room(&entry.unwrap().path())).collect();
    let lib = fs::read_to_string(root.join("lib.rs")).unwrap();
    let exports = exports(&lib);
    let mut found = BTreeSet::new();
    for (path, code) in sources(&root).into_iter().filter(|(path, _)| *path != root.join("lib.rs"))
    {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        let from = room(Path::new(first.as_os_str()));
        for prefix in ["crate::", ours] {
            for (at, _) in code.match_indices(prefix) {
                let rest = &code[at + prefix.len()..];
                for name in named(rest) {
                    let to = exports.get(name).map_or(name, String::as_str);
                    // Anything else belongs to another package that the root exports, or is a
                    // macro.
                    if rooms.contains(to) && to != from {
                        found.insert((from.clone(), to.to_owned()));
                    }
                }
            }
        }
    }
    found
}

fn room(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The names that the root exports, and the room of each.
fn exports(root: &str) -> BTreeMap<&str, String> {
    let mut found = BTreeMap::new();
    for (at, prefix) in root.match_indices("pub use ") {
        let statement = &root[at + prefix.len()..];
        let statement = &statement[..statement.find(';').unwrap()];
        let Some((from, names)) = statement.split_once("::") else { continue };
        for name in names.split(['{', '}', ',']) {
            let name = name.rsplit("::").next().unwrap().trim();
            if !name.is_empty() && name != "self" {
                found.insert(name, from.to_owned());
            }
        }
    }
    found
}

#[test]
fn exports_of_the_root_are_read() {
    let found = exports(
        "pub use kit::conformance;\npub use candidate::{\n    Candidate,\n    Stopped,\n};",
    );
    let names: Vec<_> = found.iter().map(|(name, room)| (*name, room.as_str())).collect();
    assert_eq!(
        names,
        [("Candidate", "candidate"), ("Stopped", "candidate"), ("conformance", "kit")]
    );
}

/// The first names of a path, of which there are several if it begins with a group.
fn named(path: &str) -> Vec<&str> {
    let word =
        |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let Some(group) = path.strip_prefix('{') else { return vec![&path[..word(path)]] };
    let mut depth = 0_i32;
    let (mut names, mut expects_name) = (Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expects_name = true,
            c if c.is_alphabetic() && depth == 0 && expects_name => {
                names.push(&group[at..at + word(&group[at..])]);
                expects_name = false;
            }
            _ => {}
        }
    }
    names
}

#[test]
fn groups_of_names_are_read() {
    assert_eq!(named("plan::Plan;"), ["plan"]);
    assert_eq!(named("{judge::{Judge, Outcome}, plan, trace::Trace};"), ["judge", "plan", "trace"]);
}

/// Each room of the simulator, and the rooms that it may name: those above it in this list, and no
/// others.
const SIM: [(&str, &[&str]); 10] = [
    ("plan", &[]),
    ("trace", &["plan"]),
    ("judge", &["plan", "trace"]),
    ("audit", &["plan", "judge"]),
    ("engines", &["plan", "trace", "judge"]),
    ("search", &["plan", "trace", "judge", "engines"]),
    ("evidence", &["plan", "trace", "judge", "audit", "engines", "search"]),
    ("report", &["plan", "trace", "judge", "engines", "search", "evidence"]),
    ("kit", &["plan", "trace", "judge", "engines", "search", "report"]),
    ("bin", &["plan", "trace", "judge", "audit", "engines", "search", "evidence", "report"]),
];

/// The same for the library.
const TENURE: [(&str, &[&str]); 20] = [
    ("settings", &[]),
    ("logging", &[]),
    ("runtime", &["logging"]),
    ("deadline", &[]),
    ("tls", &["runtime"]),
    ("store", &["settings", "logging", "runtime", "tls"]),
    ("signal", &["runtime", "logging"]),
    ("fence", &["settings", "store"]),
    ("trace", &["logging", "runtime", "store", "fence"]),
    ("watchdog", &["runtime"]),
    ("tenure", &["logging", "deadline", "runtime", "store", "trace", "watchdog"]),
    ("event", &["store", "tenure"]),
    ("metrics", &["logging", "store"]),
    (
        "shared",
        &[
            "deadline", "runtime", "store", "logging", "trace", "watchdog", "tenure", "event",
            "metrics",
        ],
    ),
    (
        "driver",
        &["runtime", "store", "logging", "watchdog", "tenure", "event", "metrics", "shared"],
    ),
    (
        "candidate",
        &[
            "settings", "deadline", "runtime", "store", "logging", "trace", "tenure", "event",
            "metrics", "shared", "driver",
        ],
    ),
    ("error", &["settings", "store", "trace", "shared", "candidate"]),
    ("health", &["store", "shared", "candidate"]),
    ("leader_only", &["store", "tenure", "candidate", "health"]),
    ("testing", &["runtime", "store", "candidate"]),
];

/// The same for the driver.
const DRIVER: [(&str, &[&str]); 11] = [
    ("alphabet", &[]),
    ("turn", &[]),
    ("outage", &["alphabet"]),
    ("spread", &["alphabet"]),
    ("subscriptions", &["alphabet"]),
    ("timers", &["alphabet"]),
    ("admission", &["alphabet"]),
    ("calls", &["alphabet", "admission"]),
    ("world", &["alphabet", "spread", "admission", "calls"]),
    ("election", &["alphabet", "spread", "admission", "calls", "world"]),
    (
        "driver",
        &[
            "alphabet",
            "turn",
            "spread",
            "subscriptions",
            "timers",
            "admission",
            "calls",
            "world",
            "election",
        ],
    ),
];

#[test]
fn rooms_of_the_driver_name_only_those_below() {
    check_rooms("driver", "tenure_driver::", &DRIVER);
}

#[test]
fn rooms_of_the_library_name_only_those_below() {
    check_rooms("tenure", "tenure::", &TENURE);
}

#[test]
fn rooms_of_the_simulator_name_only_those_below() {
    check_rooms("sim", "tenure_sim::", &SIM);
}

/// The folders of the engines, and those beside them that each names.
const ENGINES: [(&str, &[&str]); 6] = [
    ("model", &[]),
    ("node", &[]),
    ("overload", &[]),
    ("real", &["node"]),
    ("redis", &[]),
    ("turmoil", &["node", "redis"]),
];

#[test]
fn engines_name_no_other_engine() {
    for (engine, allowed) in ENGINES {
        let mut found = BTreeSet::new();
        for (_, code) in sources(&root().join("sim/src/engines").join(engine)) {
            for (at, prefix) in code.match_indices("engines::") {
                let names = named(&code[at + prefix.len()..]).into_iter().map(ToOwned::to_owned);
                found.extend(names);
            }
        }
        let is_engine = |name: &String| ENGINES.iter().any(|(other, _)| other == name);
        found.retain(|name| name != engine && is_engine(name));
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, allowed, "{engine} names these engines");
    }
}

/// Also that the list holds nothing that is not there.
fn check_rooms(package: &str, ours: &str, list: &[(&str, &[&str])]) {
    let found = arrows(package, ours);
    let allowed: BTreeSet<(String, String)> = list
        .iter()
        .flat_map(|(from, to)| to.iter().map(|to| ((*from).to_owned(), (*to).to_owned())))
        .collect();
    let beyond: Vec<_> = found.difference(&allowed).collect();
    assert!(beyond.is_empty(), "{package} has arrows that its list does not allow: {beyond:?}");
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(
        gone.is_empty(),
        "{package} no longer has these arrows; take them off its list: {gone:?}"
    );
    for (index, (from, to)) in list.iter().enumerate() {
        let below: Vec<&str> = list[..index].iter().map(|(room, _)| *room).collect();
        assert!(
            to.iter().all(|to| below.contains(to)),
            "{from} names a room that is not below it: {to:?}"
        );
    }
}

#[test]
fn stores_do_not_name_the_state_machine() {
    for (path, code) in sources(&root().join("tenure/src/store")) {
        for word in [
            "Candidate",
            "Input::",
            "Output::",
            "crate::driver",
            "crate::candidate",
            "crate::shared",
        ] {
            assert!(!code.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn only_the_runtime_touches_tokios_tasks_timers_and_sockets() {
    let runtime = root().join("tenure/src/runtime");
    for (path, code) in sources(&root().join("tenure/src")) {
        let is_exempt = path.starts_with(&runtime) || path.to_string_lossy().contains("fred");
        for word in ["tokio::spawn", "tokio::time", "tokio::net", "TcpStream"] {
            assert!(is_exempt || !code.contains(word), "{} names {word}", path.display());
        }
    }
}

/// The log lines of some code whose target is not a stable one.
fn lines_without_target(code: &str) -> Vec<&str> {
    let macros = ["error!(", "warn!(", "info!(", "debug!("];
    let calls = code.match_indices("logging::").map(|(at, prefix)| &code[at + prefix.len()..]);
    let logs = calls.filter_map(|call| macros.iter().find_map(|name| call.strip_prefix(name)));
    let targets = ["target: LIFE,", "target: REQUEST,", "target: \"tenure\","];
    let has_none = |fields: &&str| !targets.iter().any(|of| fields.trim_start().starts_with(of));
    logs.filter(has_none).collect()
}

/// Stores, the log of leadership and timers report under their own modules' names, as
/// `docs/operations.md` says.
#[test]
fn log_lines_have_stable_targets() {
    let source = root().join("tenure/src");
    let others = ["store", "trace", "runtime"].map(|room| source.join(room));
    let mut count = 0;
    for (path, code) in sources(&source) {
        if others.iter().any(|room| path.starts_with(room)) {
            continue;
        }
        count += code.matches("logging::").count();
        let faults = lines_without_target(&code);
        assert!(faults.is_empty(), "{}: {:.60}", path.display(), faults[0]);
    }
    assert!(count > 20, "{count} names of the log");
    assert_eq!(lines_without_target("logging::warn!(%error, \"a\"); logging::Span").len(), 1);
    assert_eq!(lines_without_target("logging::info!(\n    target: LIFE, \"a\")").len(), 0);
}

/// A subscriber and a recorder are the application's, and may panic.
#[test]
fn the_log_and_the_recorder_are_called_at_one_guarded_place() {
    let source = root().join("tenure/src");
    let guarded = [("tracing", "logging.rs"), ("with_recorder", "metrics/table.rs")];
    // All other ways to a recorder are macros.
    let macros = ["counter!", "gauge!", "histogram!"].map(|name| (name, ""));
    let mut count = 0;
    for (path, code) in sources(&source) {
        for (word, place) in guarded.into_iter().chain(macros) {
            let has_it = code.contains(word);
            assert!(!has_it || path == source.join(place), "{} calls {word}", path.display());
            count += usize::from(has_it);
        }
    }
    assert_eq!(count, 2);
}
