//! Every command of the simulator that a page shows runs, or is listed with the reason why not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::campaign::in_a_shell;

#[allow(dead_code, reason = "the tests of pages use the rest of it")]
#[path = "../../tests/documents/shell.rs"]
mod shell;

/// The trial of a command that does not run as it is shown and end with 0.
#[derive(Clone, Copy)]
enum Known {
    /// It runs with the second text in place of the first.
    Shorter(&'static str, &'static str),
    /// It runs, ends with that code, and says that.
    Ends(i32, &'static str),
    /// The file, a script or a test, with the text that carries it out.
    RunBy(&'static str, &'static str),
    /// Nothing carries it out, for that reason.
    NotRun(&'static str),
}
use Known::{Ends, NotRun, RunBy, Shorter};

const EXHAUST: Known = Shorter("exhaust", "exhaust --states 2000");
const FEW: Known = Shorter("run ", "run --runs 2 ");
const HOLDS: Known = Ends(64, "does not fail");
const CAMPAIGN: Known = RunBy("scripts/check", "    step \"the default campaign\" simulator\n");
const MUTANTS: Known = RunBy("sim/tests/mutants/command.rs", "\"mutants\", ");
const PICTURE: Known = RunBy("sim/tests/campaign/picture.rs", "\"--svg\"");
const REAL: Known = RunBy("sim/tests/real_engine/seeds.rs", "\"real\"");

const SOAK: Known = RunBy("sim/src/search/campaign/soak.rs", "campaign.soak(");

/// The reviewed list. An entry that no page has any more fails the test.
const LIST: &[(&str, Known)] = &[
    (
        "TMPDIR=/dev/shm cargo run --release -p tenure-sim --features real -- run --engine real --store redis \
         --seed 1001 --runs 60 --jobs 8",
        REAL,
    ),
    (
        "cargo run --release -p tenure-sim --features real -- situations --engine real --store redis --jobs 10",
        NotRun("it takes minutes with real servers, and people read its result"),
    ),
    ("cargo run --release -p tenure-sim", CAMPAIGN),
    ("tenure-sim --details", Shorter("--details", "--details --runs 2")),
    ("cargo run --release -p tenure-sim -- mutants", MUTANTS),
    ("cargo run --release -p tenure-sim -- mutants --engine model", MUTANTS),
    (
        "cargo run --release -p tenure-sim -- mutants --only stop-margin-ignored --only hints-ignored",
        MUTANTS,
    ),
    ("cargo run --release -p tenure-sim -- mutants --patch my.patch", MUTANTS),
    (
        "TMPDIR=/dev/shm cargo run --release -p tenure-sim --features real -- mutants --engine real --bound 600",
        NotRun("it takes half an hour with real servers, and a build of its own"),
    ),
    ("tenure-sim mutants --engine audit", MUTANTS),
    ("tenure-sim mutants --format json > mutants.json", MUTANTS),
    (
        "for i in $(seq \"$n\"); do ssh \"machine-$i\" tenure-sim run --engine model --runs 10000000 --shard \
         \"$i/$n\" --format json > \"shard-$i.json\" & done",
        NotRun("it needs machines of the user's"),
    ),
    ("tenure-sim exhaust --drift all", EXHAUST),
    ("tenure-sim exhaust", EXHAUST),
    ("tenure-sim exhaust --drift ends", EXHAUST),
    ("tenure-sim exhaust --horizon any --candidates 1", EXHAUST),
    ("tenure-sim exhaust --pauses 1 --faults 2", EXHAUST),
    ("tenure-sim audit --model 2000", Shorter("2000", "20")),
    (
        "tenure-sim audit --uncertainty 5ms machine-a.jsonl machine-b.jsonl",
        RunBy("sim/tests/audit/command.rs", "\"--uncertainty\""),
    ),
    (
        "tenure-sim audit --uncertainty 1ms target/logs/*.jsonl",
        RunBy("sim/tests/audit/command.rs", "\"--uncertainty\""),
    ),
    ("tenure-sim run --engine turmoil --minutes 60", SOAK),
    ("tenure-sim run --engine real --store redis --minutes 240", SOAK),
    ("tenure-sim compare --format json > compare.json", Shorter("compare", "compare --runs 1")),
    ("tenure-sim compare --runs 200", Shorter("200", "1")),
    ("tenure-sim compare --runs 200 --format json", Shorter("200", "1")),
    (
        "tenure-sim margin --plan-out closest.json",
        Shorter("margin", "margin --runs 4 --restarts 1"),
    ),
    ("tenure-sim merge shard-*.json", Ends(2, "INCONCLUSIVE")),
    ("tenure-sim merge shard-*.json --report campaign.html", Ends(2, "INCONCLUSIVE")),
    ("tenure-sim overload", Shorter("overload", "overload --seeds 1 --elections 300")),
    (
        "tenure-sim overload --seeds 100 --elections 1000",
        Shorter("100 --elections 1000", "1 --elections 300"),
    ),
    ("tenure-sim overload --faulty --seeds 2000", Shorter("2000", "10")),
    ("tenure-sim orders", Shorter("orders", "orders --steps 4")),
    ("tenure-sim orders --steps 18 --commands 2", Shorter("18", "4")),
    (
        "tenure-sim replay --beyond --plan out/drift-breaks.json",
        Shorter("out/drift-breaks", "plan"),
    ),
    ("tenure-sim replay --plan docs/pictures/handover.json --svg handover.svg", PICTURE),
    ("tenure-sim run --control all", Shorter("all", "all --runs 40")),
    (
        "tenure-sim run --control drift --shrink small.json --report drift.html --open",
        Shorter("--open", "--runs 20"),
    ),
    ("tenure-sim run --engine model --runs 1000000", Shorter("1000000", "2")),
    ("tenure-sim run --faults drift,pause --seed 7 --runs 50", Shorter("50", "2")),
    (
        "tenure-sim run --report campaign.html --compare compare.json --mutants mutants.json",
        RunBy("sim/tests/campaign/report.rs", "\"--mutants\""),
    ),
    ("tenure-sim run --report campaign.html", FEW),
    ("tenure-sim run --shrink small.json", FEW),
    ("tenure-sim run --trace run.jsonl --plan-out plan.json", FEW),
    ("tenure-sim shrink --plan failed.json --property single-leader --out small.json", HOLDS),
    ("tenure-sim shrink --plan failed.json --test-out tests/single_leader.rs", HOLDS),
    ("tenure-sim shrink --plan plan.json", HOLDS),
    ("tenure-sim shrink --seed 7", HOLDS),
    ("tenure-sim sweep", RunBy("scripts/check", " simulator sweep\n")),
    (
        "tenure-sim sweep --everything",
        RunBy("sim/tests/campaign/shrink.rs", "[\"sweep\", \"--seeds\", \"1\", \"--everything\", "),
    ),
    ("tenure-sim sweep --pairs", Shorter("sweep", "sweep --runs 20")),
    ("tenure-sim sweep --plan plan.json --seeds 20", Shorter("sweep", "sweep --runs 20")),
    ("tenure-sim sweep --plan-out failed.json", Shorter("sweep", "sweep --runs 20")),
    ("tenure-sim tolerance", RunBy("scripts/check", " simulator tolerance\n")),
    ("tenure-sim tolerance --magnitudes drift,cut --plan-out out", Shorter("drift,cut", "drift")),
    (
        "tenure-sim tolerance --plan plan.json --format json",
        Shorter("tolerance", "tolerance --magnitudes drift"),
    ),
    (
        "tenure-sim tolerance --ttl 5s --stop-margin 0ms --drift-ppm 30000",
        Shorter("tolerance", "tolerance --magnitudes drift"),
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The command as a line for a shell that finds the simulator by its name.
fn line(command: &str) -> String {
    let Some(at) = command.find("cargo run ") else { return command.to_owned() };
    let (before, cargo) = command.split_at(at);
    let after = cargo.split_once(" -- ").map_or("", |(_, arguments)| arguments);
    format!("{before}tenure-sim {after}").trim_end().to_owned()
}

/// A folder with the files that the pages assume.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "tenure-sim plan --seed 7 > plan.json",
        "tenure-sim replay --seed 7 --trace run.jsonl > /dev/null",
        "cp plan.json small.json; cp plan.json failed.json; mkdir tests",
        "for i in 1 2; do tenure-sim run --engine model --runs 4 --shard $i/2 --format json > shard-$i.json; done; true",
    ] {
        let output = in_a_shell(command, folder.path());
        assert!(output.status.success(), "{command}: {output:?}");
    }
    folder
}

/// Runs a command; what is wrong with it, if anything.
fn fault(command: &str, known: Option<Known>, folder: &Path) -> Option<String> {
    let line = line(command);
    let (line, codes, says) = match known {
        None => (line, &[0][..], ""),
        Some(Shorter(long, _)) if !line.contains(long) => {
            return Some(format!("{command}: no {long:?} to make shorter"));
        }
        // Few runs need not meet each condition.
        Some(Shorter(long, short)) => (line.replacen(long, short, 1), &[0, 2][..], ""),
        Some(Ends(code, says)) => (line, &[code][..], says),
        Some(RunBy(file, text)) => {
            let found = fs::read_to_string(root().join(file)).unwrap().contains(text);
            return (!found).then(|| format!("{command}: {file} has no {text:?}"));
        }
        Some(NotRun(why)) => return why.is_empty().then(|| format!("{command}: no reason")),
    };
    let output = in_a_shell(&line, folder);
    let told = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    let as_expected =
        output.status.code().is_some_and(|code| codes.contains(&code)) && told.contains(says);
    (!as_expected).then(|| format!("{command}: {line}: {}\n{told}", output.status))
}

/// True if a page shows that as something to run: all of a block, and what a sentence gives
/// arguments to.
fn is_shown(command: &shell::Command) -> bool {
    let arguments = shell::simulator(&command.text).map(|arguments| arguments.len());
    let placeholders = ["NAME", " N", "LOG.."];
    let is_placeholder = placeholders.iter().any(|end| command.text.ends_with(end));
    if command.in_prose {
        arguments.is_some_and(|number| number > 1) && !is_placeholder
    } else {
        arguments.is_some() || command.text.starts_with("jq ")
    }
}

#[test]
fn every_command_on_a_page_runs() {
    let folder = folder();
    let mut shown = BTreeSet::new();
    for (page, text) in shell::pages(&root()) {
        let commands = shell::commands(&page, &text).into_iter();
        shown.extend(commands.filter(is_shown).map(|command| command.text));
    }
    let known = |text: &str| LIST.iter().find(|(command, _)| *command == text).map(|(_, how)| *how);
    let mut faults: Vec<_> =
        shown.iter().filter_map(|text| fault(text, known(text), folder.path())).collect();
    let stale = LIST.iter().filter(|(command, _)| !shown.contains(*command));
    faults.extend(stale.map(|(command, _)| format!("no page has the listed {command:?}")));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(shown.len() > 50, "{} commands", shown.len());
}

/// The last column of the promises names planted bugs and controls by the names that the catalogue
/// has.
#[test]
fn what_promises_were_seen_to_fail_by_exists() {
    use tenure_sim::evidence::{controls, mutants};

    let page = fs::read_to_string(root().join("docs/guarantees-checked.md")).unwrap();
    let mutants = mutants::ALL.iter().copied().flatten().map(|mutant| mutant.name);
    let known: BTreeSet<&str> = mutants.chain(controls::ALL.iter().map(|one| one.name)).collect();
    let rows = page.lines().filter(|line| line.starts_with("| G"));
    let last =
        rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | ").map(|(_, last)| last));
    let named: Vec<&str> = last.flat_map(|last| last.split('`').skip(1).step_by(2)).collect();
    let unknown: Vec<_> = named.iter().filter(|name| !known.contains(*name)).collect();
    assert!(unknown.is_empty(), "neither a planted bug nor a control: {unknown:?}");
    assert!(named.len() > 20, "{named:?}");
}
