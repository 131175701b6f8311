//! The command as a user runs it: the same plans give the same traces in every process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
#[cfg(feature = "install")]
mod install;
mod merge;
mod picture;
mod printed;
mod report;
mod screen;
mod shrink;
mod tolerance;
mod trace;

#[cfg(feature = "turmoil")]
use std::io::{Read, Write};
use std::path::Path;
#[cfg(feature = "turmoil")]
use std::process::Stdio;
use std::process::{Command, Output};

use serde_json::Value;
use tenure_sim::engines::Engine;
use tenure_sim::plan::FaultKind;
use tenure_sim::search::campaign::{Campaign, Seeds};

/// Faults under which every engine keeps its promises and few runs meet much.
const FAULTS: &str = "partition,latency,pause,crash,store-loss,drift";

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().unwrap()
}

/// A line of a shell in that folder, which finds the command by its name.
pub(crate) fn in_a_shell(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tenure-sim"));
    let path = std::env::var("PATH").unwrap();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let ran = command(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The command must not come to a verdict, because of what it was given, and say why.
fn refused(arguments: &[&str], why: &[&str]) {
    let ran = command(arguments);
    let error = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(64), "{arguments:?}: {error}");
    for said in why {
        assert!(error.contains(said), "{arguments:?}: no {said:?} in {error}");
    }
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// The engine that has finished is the model; the other one would take minutes.
#[cfg(feature = "turmoil")]
#[test]
fn an_interrupted_campaign_prints_what_has_finished() {
    // The terminal shows which engine runs, and sends SIGINT.
    let command =
        concat!(env!("CARGO_BIN_EXE_tenure-sim"), " run --runs 200 --jobs 1 --faults latency");
    let mut run = Command::new("script")
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, mut shown) = (run.stdin.take().unwrap(), run.stdout.take().unwrap());
    let mut text = String::new();
    let mut bytes = [0; 1_024];
    while !text.contains("turmoil ") {
        let count = shown.read(&mut bytes).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    keys.write_all(b"\x03").unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    let (_, finished) = rest.split_once("what follows had been finished").unwrap();
    assert!(finished.contains("model: ") && !finished.contains("turmoil"), "{finished}");
    assert_eq!(run.wait().unwrap().code(), Some(130), "{rest}");
}

#[test]
fn a_soak_has_a_length_and_no_number_of_seeds() {
    refused(&["run", "--minutes", "0"], &["--minutes", "1..=525600"]);
    refused(&["run", "--minutes", "1", "--runs", "9"], &["--minutes", "--runs"]);
    refused(&["run", "--minutes", "1", "--shard", "1/2"], &["--minutes", "--shard"]);
}

#[test]
fn a_plan_has_one_trace_in_every_process_and_with_any_number_of_threads() {
    for engine in Engine::ALL {
        let campaign = Campaign {
            engine: *engine,
            seeds: Seeds::range(1, 24),
            jobs: 3,
            faults: FAULTS.split(',').map(|name| name.parse::<FaultKind>().unwrap()).collect(),
            properties: None,
            check_determinism: false,
        };
        let here = campaign.run(|| {});
        assert_eq!((here.runs, here.failed.is_some()), (24, false), "{engine}");
        let arguments = ["--engine", engine.name(), "--runs", "24", "--faults", FAULTS];
        let there =
            json(&[&["run", "--jobs", "1", "--check-determinism"], &arguments[..]].concat());
        assert_eq!(there["trace_hash"], here.trace_hash.to_string(), "{engine}");
    }
}

#[test]
fn the_summary_has_every_field() {
    let arguments = ["run", "--engine", "model", "--seed", "7", "--runs", "2", "--faults", FAULTS];
    let summary = json(&arguments);
    for field in ["schema", "version", "seeds", "jobs", "simulated_s", "wall_s", "core_s"] {
        assert!(!summary[field].is_null(), "{field} in {summary}");
    }
    for field in ["events", "elections", "faults", "runs_per_s", "events_per_s", "trace_hash"] {
        assert!(!summary[field].is_null(), "{field} in {summary}");
    }
    for field in
        ["sometimes", "sometimes_runs", "sometimes_needed", "simulated_s_per_core_s", "allowed"]
    {
        assert!(!summary[field].is_null(), "{field} in {summary}");
    }
    assert!(summary.get("margin_min_seed").is_some() && !summary["margins"].is_null(), "{summary}");
    assert!(summary.get("margin_min_ms").is_some() && summary["failed"].is_null(), "{summary}");
    assert_eq!(summary["properties"]["single-leader"]["violated"], 0);
    assert_eq!((&summary["runs"], &summary["engine"]), (&2.into(), &"model".into()));
    assert_eq!((&summary["seed"], &summary["verdict"]), (&7.into(), &"inconclusive".into()));
}

#[test]
fn all_engines_stand_side_by_side() {
    let summary = json(&["--runs", "2", "--faults", FAULTS]);
    let several = summary["campaigns"].as_array();
    let campaigns = several.map_or_else(|| std::slice::from_ref(&summary), Vec::as_slice);
    let engines: Vec<&str> = campaigns.iter().map(|one| one["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, Engine::ALL.iter().map(|engine| engine.name()).collect::<Vec<_>>());
    assert_eq!(summary["verdict"], "inconclusive");
}

#[test]
fn only_the_properties_asked_for_are_judged() {
    let asked = "fail-closed,fenced-writes";
    let summary = json(&[
        "run",
        "--runs",
        "3",
        "--engine",
        "model",
        "--faults",
        FAULTS,
        "--properties",
        asked,
    ]);
    let judged: Vec<&String> = summary["properties"].as_object().unwrap().keys().collect();
    assert_eq!(judged, ["fail-closed", "fenced-writes"]);
}

#[test]
fn a_property_of_the_other_engine_is_inconclusive() {
    let of = |properties: &[&str]| {
        let run = ["run", "--runs", "3", "--engine", "model", "--faults", FAULTS];
        json(&[&run[..], properties].concat())
    };
    let asked = of(&["--properties", "told-of-the-end"]);
    assert_eq!(asked["verdict"], "inconclusive");
    assert_eq!(asked["properties"]["told-of-the-end"]["compared"], 0);
    assert!(of(&[])["properties"].get("told-of-the-end").is_none(), "nobody asked for it");
}

#[test]
fn a_plan_is_printed_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "plan.json");
    for engine in Engine::ALL {
        let of = ["--engine", engine.name()];
        let drawn = [&["--seed", "5", "--faults", FAULTS], &of[..]].concat();
        let printed = command(&[&["plan"], &drawn[..]].concat());
        std::fs::write(&file, &printed.stdout).unwrap();
        let by_seed = json(&[&["replay"], &drawn[..]].concat());
        let by_plan = json(&[&["replay", "--plan", &file], &of[..]].concat());
        assert_eq!(by_seed["verdict"], "held");
        assert_eq!(by_seed, by_plan);
    }
    // The last one's: others may lack what it draws.
    let engine = Engine::ALL.last().unwrap().name();
    let shown = command(&["replay", "--engine", engine, "--plan", &file]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.status.code(), Some(0), "{text}");
    assert!(text.contains("HELD") && text.contains("Renewed"), "{text}");
    let plan = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, plan.replace("\"ttl_ms\"", "\"tll_ms\"")).unwrap();
    refused(&["replay", "--plan", &file], &["plan.json: line 5, column", "settings.tll_ms"]);
    refused(&["replay", "--plan", "/nowhere/plan.json"], &["/nowhere/plan.json", "No such file"]);
}

#[test]
fn everything_there_is_is_listed() {
    let all = json(&["list"]);
    let faults: Vec<&str> =
        all["faults"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(faults, FaultKind::ALL.map(FaultKind::name));
    for section in ["engines", "faults", "assumptions", "properties", "sometimes"] {
        let rows = all[section].as_array().unwrap();
        assert!(!rows.is_empty(), "{section}");
        let text = String::from_utf8(command(&["list"]).stdout).unwrap();
        for row in rows {
            assert!(text.contains(row["name"].as_str().unwrap()), "{row}");
        }
    }
}

#[test]
fn a_wrong_command_line_ends_with_64_and_names_the_choices() {
    for (arguments, said) in [
        (&["run", "--faults", "gremlins"][..], "known are partition"),
        (&["run", "--properties", "luck"], "known are single-leader"),
        (&["run", "--runs", "-3"], "unexpected argument '-3'"),
        (&["run", "--runs", "0"], "0 is not in 1.."),
        (&["run", "--runs", "many"], "invalid digit"),
        (&["run", "--jobs", "0"], "0 is not in 1..=1024"),
        (&["run", "--engine", "abacus"], "possible values: model"),
        (&["run", "--format", "poem"], "possible values: human, json"),
        (&["run", "--shard", "6/5"], "shard 6 of 5 does not exist"),
        (&["run", "--shard", "half"], "is not a shard"),
        (&["run", "--seed", "18446744073709551615", "--runs", "2"], "no 2 seeds"),
        (&["run", "--runs", "1", "--trace", "/nowhere/trace.jsonl"], "/nowhere/trace.jsonl"),
        (&["replay"], "--seed <SEED>"),
        (&["replay", "--seed", "1", "--plan", "p"], "cannot be used with"),
        (&["merge"], "<FILES>..."),
        (&["check"], "<TRACE>"),
        (&["runn"], "'run'"),
    ] {
        refused(arguments, &[said]);
    }
    assert_eq!(command(&["--help"]).status.code(), Some(0));
}

#[cfg(feature = "turmoil")]
#[test]
fn faults_that_an_engine_lacks_are_refused_by_name() {
    let faults = ["--faults", "loss,crash,vm-stop"];
    let why = ["the turmoil engine has no loss, vm-stop"];
    refused(&[&["run", "--engine", "turmoil"], &faults[..]].concat(), &why);
    refused(&[&["run", "--engine", "all"], &faults[..]].concat(), &why);
    refused(&[&["plan", "--engine", "turmoil", "--seed", "1"], &faults[..]].concat(), &why);
}
