//! The commands of `docs/command.md`, each as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tenure_servers::RedisServer;

use super::hosts::{Host, Place, wait_until};

/// What each of them does, in the order in which they are run: the status, and a part of what it prints.
const BEFORE: &[(&str, i32, &str)] = &[
    ("tenure run nightly -- ./job", 0, "job of nightly"),
    ("TENURE_STORE=redis://10.0.0.7:6379 tenure run nightly -- ./job", 0, "job of nightly"),
    ("tenure run nightly --store-file store.url -- ./job", 0, "job of nightly"),
    ("tenure run nightly --try -- ./job", 0, "job of nightly"),
    ("tenure run nightly --wait 30s -- ./job", 0, "job of nightly"),
    ("tenure run nightly --once -- ./job", 0, "job of nightly"),
    ("tenure run nightly --stop-grace 1m -- ./job", 0, "job of nightly"),
    ("tenure run nightly --name web-1 --verbose -- ./job", 0, "elected"),
    ("tenure run nightly -- sh -c './fetch && ./job'", 0, "fetched\njob of nightly"),
    ("tenure doctor", 0, "sqlite: nothing wrong was found"),
    ("tenure doctor --store-file store.url", 1, "problem: not-persistent"),
    ("tenure doctor --json", 0, "\"id\":\"own-file\""),
];
/// While web-1 leads, and web-2 waits.
const WHILE_LEADING: &[(&str, i32, &str)] = &[
    ("tenure status nightly", 0, "nightly: web-1 leads, token "),
    ("tenure status nightly other --json", 1, "{\"key\":\"other\",\"leader\":null}"),
    ("tenure status nightly --wait-for leader --timeout 1m", 0, "web-1 leads"),
    ("tenure handover nightly --to web-2", 0, ""),
    ("tenure run nightly --try -- ./job", 75, "web-2 leads"),
];

/// In blocks and tables of the page.
fn commands(page: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        in_block = if line.starts_with("```") { line == "```sh" } else { in_block };
        if in_block && line.contains("tenure ") && !line.starts_with("cargo ") {
            found.insert(line.to_owned());
        }
        if line.starts_with("| ") {
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(
                spans.filter(|span| span.starts_with("tenure run ")).map(ToOwned::to_owned),
            );
        }
    }
    found
}

fn script(file: &Path, text: &str) {
    fs::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn sandbox() -> Place {
    let place = Place::new();
    script(&place.file("job"), "echo job of $TENURE_KEY");
    script(&place.file("fetch"), "echo fetched");
    place
}

/// As in a shell in that folder, with the server of the test.
fn run(place: &Place, redis: &RedisServer, command: &str) -> Output {
    let tenure = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
    let path = format!("{}:{}", tenure.display(), std::env::var("PATH").unwrap());
    let text = command.replace("redis://10.0.0.7:6379", &redis.url());
    let mut shell = Command::new("sh");
    shell.env("PATH", path).env("XDG_STATE_HOME", place.file("state")).env("TENURE_TTL", "2s");
    shell.args(["-c", &text]).current_dir(place.file("")).stdin(Stdio::null()).output().unwrap()
}

fn check(place: &Place, redis: &RedisServer, (command, status, says): (&str, i32, &str)) {
    let output = run(place, redis, command);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(status), "{command}: {said}");
    assert!(said.contains(says), "{command}: {said}");
}

#[test]
fn every_command_of_the_page_works_with_redis() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/command.md")).unwrap();
    let listed = BEFORE.iter().chain(WHILE_LEADING).map(|(command, ..)| (*command).to_owned());
    assert_eq!(commands(&page), listed.collect());

    let (place, redis) = (sandbox(), RedisServer::start().unwrap());
    fs::write(place.file("store.url"), format!("{}\n", redis.url())).unwrap();
    for one in BEFORE {
        check(&place, &redis, *one);
    }
    let candidate = |name| {
        let mut command = place.tenure();
        command.env("XDG_STATE_HOME", place.file("state")).env("TENURE_TTL", "2s");
        Host::start(command.args(["run", "nightly", "--name", name, "--", "sleep", "600"]))
    };
    let first = candidate("web-1");
    let leads = "tenure status nightly --wait-for web-1";
    wait_until("a leader", || run(&place, &redis, leads).status.success());
    let second = candidate("web-2");
    for one in WHILE_LEADING {
        check(&place, &redis, *one);
    }
    drop((first, second));
}

/// The page has one list of statuses, and the help another.
#[test]
fn help_and_page_have_the_same_statuses() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/command.md")).unwrap();
    let help: String = ["run", "status", "handover"]
        .map(|what| String::from_utf8(place.output(&[what, "--help"]).stdout).unwrap())
        .concat();
    for status in ["64", "69", "71", "75", "76", "126", "127"] {
        assert!(help.contains(status), "the help lacks {status}");
        let row =
            |line: &str| line.starts_with('|') && line.split('|').nth(1).unwrap().contains(status);
        assert!(page.lines().any(row), "the page lacks {status}");
    }
}
