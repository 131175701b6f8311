//! Every command on every page is carried out by a test or a script, or listed here with the reason
//! why not. What it names exists.
//!
//! Commands of the simulator are left to `sim/tests/pages.rs`, which runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::process;

use serde_json::Value;

use super::shell::{self, Command};
use super::{read, root};

/// The evidence that a command works.
#[derive(Clone, Copy)]
enum Known {
    /// The file, a script or a test, has the text that carries it out.
    RunBy(&'static str, &'static str),
    /// Nothing carries it out, for that reason.
    NotRun(&'static str),
}
use Known::{NotRun, RunBy};

const NETWORK: Known = NotRun("it needs the network, or the address of the repository");
const CLUSTER: Known = NotRun("it needs a cluster of the user's");
const BY_HAND: Known = NotRun("it takes minutes to hours, and people read its result");
const OF_THE_READER: Known = NotRun("it is about the reader's own package");
const OF_THE_COMMAND: Known =
    RunBy("cli/tests/command/page.rs", "fn every_command_of_the_page_works_with_redis");
const OF_THE_SERVICE: Known =
    RunBy("examples/service/tests/processes.rs", "fn the_next_leader_ships_what_is_left");
const OTHER_LANGUAGE: Known = RunBy("cli/tests/command/languages.rs", "docs/other-languages.md");
const NEXTEST: Known = RunBy("scripts/test", "cargo nextest run \"${tested[@]}\" --profile test ");

/// The reviewed list. An entry that no page has any more fails the test.
const LIST: &[(&str, Known)] = &[
    ("scripts/test", RunBy(".ci/run", "\nscripts/test\n")),
    ("scripts/check", RunBy(".ci/run", "\nscripts/check\n")),
    ("scripts/flaky --frozen 1", BY_HAND),
    ("scripts/flaky 5", BY_HAND),
    ("scripts/flaky 20 'test(wakeup)'", BY_HAND),
    ("scripts/features", BY_HAND),
    ("scripts/advisories", BY_HAND),
    ("cargo update idna_adapter --precise 1.0.0", OF_THE_READER),
    ("scripts/plots", BY_HAND),
    ("scripts/mixed", BY_HAND),
    (
        "scripts/semver",
        RunBy(".github/workflows/test.yml", "      - run: scripts/semver \"$BASE\"\n"),
    ),
    (
        "scripts/release ready v0.1.0",
        RunBy(
            ".github/workflows/release.yml",
            "- run: scripts/release ready \"$GITHUB_REF_NAME\"\n",
        ),
    ),
    ("scripts/book", RunBy(".github/workflows/test.yml", "      - run: scripts/book\n")),
    ("scripts/playground pictures", BY_HAND),
    ("scripts/fuzz", RunBy("scripts/check", " scripts/fuzz 5\n")),
    ("scripts/fuzz 3600 plans", RunBy("scripts/check", " scripts/fuzz 5\n")),
    ("cargo nextest run -p tenure-core --features serde", NEXTEST),
    ("cargo nextest run -p tenure-driver", NEXTEST),
    ("cargo nextest run -p tenure --features redis", NEXTEST),
    ("cargo nextest run -p tenure-tests -E 'test(redis)'", NEXTEST),
    ("cargo nextest run -p tenure-cli", NEXTEST),
    ("cargo install --locked --profile dist --path ../tenure/cli", OF_THE_READER),
    ("tenure run nightly -- ./job", OF_THE_COMMAND),
    ("TENURE_STORE=redis://10.0.0.7:6379 tenure run nightly -- ./job", OF_THE_COMMAND),
    ("tenure run nightly --store-file store.url -- ./job", OF_THE_COMMAND),
    ("tenure status nightly", OF_THE_COMMAND),
    ("tenure status nightly other --json", OF_THE_COMMAND),
    ("tenure status nightly --wait-for leader --timeout 1m", OF_THE_COMMAND),
    ("tenure status nightly --watch", OF_THE_COMMAND),
    ("tenure status --all", OF_THE_COMMAND),
    ("tenure handover nightly --to web-2", OF_THE_COMMAND),
    ("TENURE_STORE=redis://10.0.0.7:6379 tenure notify nightly orders 'three new'", OF_THE_COMMAND),
    ("tenure sidecar nightly --name web-1", OF_THE_COMMAND),
    ("curl http://127.0.0.1:8406/", OF_THE_COMMAND),
    ("tenure migrate --store postgres://owner@db1/app --grant app", OF_THE_COMMAND),
    ("tenure purge --older-than 30d --watch 1m", OF_THE_COMMAND),
    ("tenure completions bash > ~/.local/share/bash-completion/completions/tenure", OF_THE_COMMAND),
    ("tenure man --out ~/.local/share/man/man1", OF_THE_COMMAND),
    ("sqlite3 reports.db < schema.sql", OTHER_LANGUAGE),
    ("tenure run nightly -- python3 report.py", OTHER_LANGUAGE),
    ("tenure run nightly -- node report.mjs", OTHER_LANGUAGE),
    ("go build report.go lead.go && tenure run nightly -- ./report", OTHER_LANGUAGE),
    ("tenure run nightly -- sh report.sh", OTHER_LANGUAGE),
    ("tenure doctor", OF_THE_COMMAND),
    ("tenure doctor --store-file store.url", OF_THE_COMMAND),
    ("tenure doctor --json", OF_THE_COMMAND),
    (
        "cargo test --release -p tenure-sim --no-default-features --test all -- compare --nocapture",
        NEXTEST,
    ),
    (
        "cargo clippy -p tenure --features redis --all-targets -- -D warnings; cargo fmt --all",
        RunBy("scripts/check", " cargo clippy \"${all[@]}\" --all-targets -- -D warnings\n"),
    ),
    (
        "cargo bench -p tenure-bench -- --test",
        RunBy("scripts/check", "--bench machine -- --test\n"),
    ),
    ("TENURE_ROUNDS=200 cargo test -p tenure-tests --test all -- client_go --nocapture", BY_HAND),
    (
        "TENURE_ROUNDS=8 cargo test -p tenure-tests --test all -- client_go_alone --nocapture",
        BY_HAND,
    ),
    (
        "TENURE_KUBECONFIG=~/.kube/config TENURE_NAMESPACE=default cargo test -p tenure-tests --test all -- \
         contract::in_a_kubernetes_of_yours",
        CLUSTER,
    ),
    ("kubectl delete lease --selector tenure.dev/managed=true", CLUSTER),
    ("CARGO_PROFILE_DEV_DEBUG=0 cargo mutants -p tenure-core -j2", BY_HAND),
    ("cargo run --release -p tenure-sim --features real --example chaos", BY_HAND),
    ("cargo run --release -p tenure-sim --features real --example chaos -- unfenced", BY_HAND),
    ("cargo run --release -p tenure-sim --example audit_logs -- 5000000 target/logs", BY_HAND),
    (
        "cargo run --release -p tenure-sim --example job_queue --no-default-features",
        RunBy("sim/tests/simulation/examples.rs", "example(\"job_queue\", "),
    ),
    (
        "cargo run --release -p tenure-sim --example shipping",
        RunBy("sim/tests/simulation/examples.rs", "example(\"shipping\", "),
    ),
    ("git clone URL-OF-THIS-REPOSITORY tenure", NETWORK),
    ("cargo new first-steps && cd first-steps", OF_THE_READER),
    ("cargo add tenure --path ../tenure/tenure --features redis", OF_THE_READER),
    ("cargo add tenure --path ../tenure/tenure --features kubernetes", OF_THE_READER),
    ("cargo add k8s-openapi@0.29 --features latest", NETWORK),
    ("cargo add tokio --features macros,rt-multi-thread,time", NETWORK),
    ("cargo add anyhow tracing-subscriber", NETWORK),
    ("cargo add futures-util", NETWORK),
    ("cargo install --locked tenure-sim && tenure-sim", NETWORK),
    ("redis-server", RunBy("tests/programs/leader.rs", "RedisServer::start()")),
    ("cargo run", RunBy("tests/programs/minimal.rs", "example(\"minimal\")")),
    ("docker run --rm -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres", NETWORK),
    ("cargo run -p tenure-example-service", OF_THE_SERVICE),
    ("LISTEN=127.0.0.1:8081 cargo run -p tenure-example-service", OF_THE_SERVICE),
    ("curl -i -X POST http://127.0.0.1:8080/orders", OF_THE_SERVICE),
    ("curl http://127.0.0.1:8081/shipped", OF_THE_SERVICE),
    (
        "cargo test -p tenure-example-service",
        RunBy("scripts/check", "nextest run \"${all[@]}\" --profile check"),
    ),
    ("cargo test", OF_THE_READER),
    ("cargo nextest run --no-capture", OF_THE_READER),
    (
        "cargo tree -p tenure-sim --no-default-features --features conformance -e normal,build",
        RunBy("tests/documents/commands.rs", "tree -p tenure-sim"),
    ),
    (
        "jq -c 'select(.event.leads? or .event[\"leads-no-more\"]?)' run.jsonl",
        RunBy("sim/tests/pages.rs", "\"jq \""),
    ),
];

/// The packages of the workspace: features, and targets as `kind name`.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let output = process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter().map(|package| {
        let features = package["features"].as_object().unwrap();
        let features = features.keys().map(|feature| format!("features {feature}"));
        let targets = package["targets"].as_array().unwrap().iter();
        let targets = targets
            .map(|target| format!("{} {}", target["kind"][0].as_str().unwrap(), name(target)));
        (name(package), features.chain(targets).collect())
    });
    packages.collect()
}

/// A name in a command of cargo's or of `scripts/` that does not exist, if it has one.
fn missing(command: &str, packages: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let words = shell::words(command);
    let mut words = words.iter().map(String::as_str).skip_while(|word| word.contains('='));
    let first = words.next()?;
    if first.starts_with("scripts/") {
        return (!root().join(first).is_file()).then(|| format!("no script {first}"));
    }
    if first != "cargo" || words.next() == Some("add") {
        return None;
    }
    let words: Vec<_> = words.take_while(|word| *word != "--").collect();
    let package = words.windows(2).find(|pair| pair[0] == "-p").map(|pair| pair[1])?;
    let Some(has) = packages.get(package) else { return Some(format!("no package {package}")) };
    let options = words.windows(2).filter_map(|pair| Some((pair[0].strip_prefix("--")?, pair[1])));
    for (option, value) in options {
        if matches!(option, "features" | "bench" | "example" | "test") {
            let lacks = |one: &&str| !has.contains(&format!("{option} {one}"));
            if let Some(lacking) = value.split(',').find(lacks) {
                return Some(format!("{package} has no {option} {lacking}"));
            }
        }
    }
    None
}

/// True if `scripts/check` runs that: a script that is one of its steps, or a benchmark, each of
/// which it runs once.
fn is_in_scripts(command: &str, check: &str) -> bool {
    if let Some((_, rest)) = command.split_once("--bench ") {
        let name = rest.split_whitespace().next().unwrap();
        return command.starts_with("cargo bench ") && check.contains(&format!("--bench {name} "));
    }
    let steps = ["\"", "\" if_possible"].map(|before| format!("{before} {command}"));
    let is_step = |line: &str| {
        line.trim_start().starts_with("step ") && steps.iter().any(|step| line.ends_with(step))
    };
    command.starts_with("scripts/") && check.lines().any(is_step)
}

/// The faults of the commands, given the list.
fn faults(commands: &[Command], list: &[(&str, Known)]) -> Vec<String> {
    let (packages, check) = (packages(), read("scripts/check"));
    let mut faults = Vec::new();
    let mut unused: BTreeSet<&str> = list.iter().map(|(command, _)| *command).collect();
    for command in commands {
        let mut fault = |what: &str| {
            faults.push(format!("{}:{}: {}: {what}", command.page, command.line, command.text));
        };
        if let Some(what) = missing(&command.text, &packages) {
            fault(&what);
        }
        let entry = list.iter().find(|(text, _)| *text == command.text);
        let is_known = is_in_scripts(&command.text, &check);
        match entry {
            Some(_) if is_known => fault("is listed although a script runs it"),
            Some((listed, known)) => {
                unused.remove(listed);
                if let RunBy(file, with) = known
                    && !read(file).contains(with)
                {
                    fault(&format!("{file} has no {with:?}"));
                }
            }
            None if is_known || shell::simulator(&command.text).is_some() => {}
            None => fault("no test or script runs it, and it is not listed"),
        }
    }
    faults.extend(unused.into_iter().map(|text| format!("no page has the listed {text:?}")));
    faults
}

#[test]
fn every_command_is_run_or_listed() {
    let pages = shell::pages(&root());
    let commands: Vec<_> =
        pages.iter().flat_map(|(page, text)| shell::commands(page, text)).collect();
    let faults = faults(&commands, LIST);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(commands.len() > 100, "{} commands", commands.len());
    assert!(LIST.iter().all(|(_, known)| !matches!(known, NotRun(reason) if reason.len() < 10)));
}

#[test]
fn commands_that_are_not_known_to_work_are_found() {
    let page = "```sh\nscripts/ops\ncargo add other   # a comment\ncargo run -p tenure --example none\nscripts/none\n```\n\
                A `cargo bench -p tenure-bench\n--bench store` is run.\n";
    let commands = shell::commands("page.md", page);
    let judged = |list| faults(&commands, list);
    let unlisted = "no test or script runs it, and it is not listed";
    let [example, script] = [
        "page.md:4: cargo run -p tenure --example none: tenure has no example none".to_owned(),
        "page.md:5: scripts/none: no script scripts/none".to_owned(),
    ];
    let listed: &[_] = &[
        ("cargo add other", NETWORK),
        ("cargo run -p tenure --example none", BY_HAND),
        ("scripts/none", BY_HAND),
    ];
    assert_eq!(judged(listed), [example.clone(), script.clone()]);
    let [first, second, third] = [
        "page.md:3: cargo add other",
        "page.md:4: cargo run -p tenure --example none",
        "page.md:5: scripts/none",
    ]
    .map(|command| format!("{command}: {unlisted}"));
    assert_eq!(judged(&[]), [first, example, second, script, third]);
    let changed: &[_] = &[
        ("cargo add other", RunBy("scripts/test", "cargo add")),
        ("cargo run -p tenure --example none", BY_HAND),
        ("scripts/none", BY_HAND),
        ("cargo gone", BY_HAND),
    ];
    let found = judged(changed);
    assert_eq!(found[0], "page.md:3: cargo add other: scripts/test has no \"cargo add\"");
    assert_eq!(found[3], "no page has the listed \"cargo gone\"");
}

/// The page says that they need neither Lua nor a C compiler.
#[test]
fn the_crates_of_the_conformance_tests_are_listed() {
    let tree = "tree -p tenure-sim --no-default-features --features conformance -e normal,build";
    let arguments = tree.split(' ').chain(["--locked", "--offline"]);
    let output = process::Command::new(env!("CARGO")).args(arguments).current_dir(root()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let names = tree.split([' ', '\n']);
    assert!(tree.starts_with("tenure-sim ") && names.clone().any(|name| name == "tokio"), "{tree}");
    assert!(!names.clone().any(|name| matches!(name, "cc" | "mlua")), "{tree}");
}
