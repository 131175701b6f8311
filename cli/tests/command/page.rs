//! The commands of `docs/command.md`, each as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use tenure_servers::RedisServer;

use super::hosts::{Host, Place, wait_until};
use super::http::Sidecar;

/// The commands in the order in which they are run, each with its status and a part of its output.
const BEFORE: &[(&str, i32, &str)] = &[
    ("tenure run nightly -- ./job", 0, "job of nightly"),
    ("TENURE_STORE=redis://10.0.0.7:6379 tenure run nightly -- ./job", 0, "job of nightly"),
    ("tenure run nightly --store-file store.url -- ./job", 0, "job of nightly"),
    ("tenure run nightly --try --hold 5m -- ./job", 0, "job of nightly"),
    ("tenure run nightly --wait 30s -- ./job", 0, "job of nightly"),
    ("tenure run nightly --once -- ./job", 0, "job of nightly"),
    ("tenure run nightly --stop-grace 1m -- ./job", 0, "job of nightly"),
    ("tenure run nightly --name web-1 --verbose -- ./job", 0, "elected"),
    ("tenure run nightly -- sh -c './fetch && ./job'", 0, "fetched\njob of nightly"),
    ("tenure run nightly -- sh -c './job; test $? = 0'", 0, "job of nightly"),
    (
        "TENURE_STORE=redis://10.0.0.7:6379 tenure notify nightly orders 'three new'",
        1,
        "no candidate leads nightly",
    ),
    ("tenure migrate --store postgres://owner@db1/app --grant app", 0, "TO \"app\""),
    ("tenure purge --older-than 30d --watch 1m", 0, "0 records deleted"),
    ("tenure completions bash > ~/.local/share/bash-completion/completions/tenure", 0, ""),
    ("tenure man --out ~/.local/share/man/man1", 0, ""),
    ("tenure doctor", 0, "sqlite: nothing wrong was found"),
    ("tenure doctor --store-file store.url", 1, "problem: not-persistent"),
    ("tenure doctor --json", 0, "\"id\":\"own-file\""),
];
/// While web-1 leads, and web-2 waits.
const WHILE_LEADING: &[(&str, i32, &str)] = &[
    ("tenure status nightly", 0, "nightly: web-1 leads since "),
    ("tenure status nightly other --json", 1, "{\"key\":\"other\",\"leader\":null}"),
    ("tenure status nightly --wait-for leader --timeout 1m", 0, "web-1 leads"),
    ("timeout 10 tenure status nightly --watch", 124, "nightly: web-1 leads since "),
    ("tenure status --all", 1, "nightly: web-1 leads since "),
    ("tenure handover nightly --to web-2", 0, ""),
    ("tenure run nightly --try --hold 5m -- ./job", 75, "web-2 leads"),
    ("tenure run nightly --try -E 0 -- ./job", 0, "web-2 leads"),
];

/// It answers at the address below, until it is asked to end.
const SIDECAR: &str = "tenure sidecar nightly --name web-1";
const ASKS: &str = "curl http://127.0.0.1:8406/";

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
    fs::create_dir_all(place.file(".local/share/bash-completion/completions")).unwrap();
    place
}

/// Runs a shell in that folder, with the server of the test.
fn run(place: &Place, redis: &RedisServer, command: &str) -> Output {
    let text = command.replace("redis://10.0.0.7:6379", &redis.url());
    let text = text.replace("--watch 1m", "--watch 1s").replace("--hold 5m", "--hold 1s");
    place.shell(&text).env("XDG_STATE_HOME", place.file("state")).output().unwrap()
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
    let listed = BEFORE.iter().chain(WHILE_LEADING);
    // What does not end by itself is ended.
    let listed = listed.map(|(command, ..)| command.trim_start_matches("timeout 10 ").to_owned());
    assert_eq!(commands(&page), listed.chain([SIDECAR.to_owned()]).collect());

    let (place, redis) = (sandbox(), RedisServer::start().unwrap());
    fs::write(place.file("store.url"), format!("{}\n", redis.url())).unwrap();
    for one in BEFORE {
        check(&place, &redis, *one);
    }
    let candidate = |name| {
        let mut command = place.tenure();
        command.env("XDG_STATE_HOME", place.file("state"));
        // The TTL is that of the commands above. The leader learns of the handover by a renewal.
        command.env("TENURE_TTL", "15s").env("TENURE_RENEW_INTERVAL", "500ms");
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

/// At a free port, since others may have the one of the page: the help says that it is the default.
#[test]
fn the_sidecar_of_the_page_answers_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/command.md")).unwrap();
    let place = sandbox();
    let help = String::from_utf8(place.output(&["sidecar", "--help"]).stdout).unwrap();
    let url = ASKS.strip_prefix("curl http://").unwrap().trim_end_matches('/');
    assert!(page.contains(ASKS) && help.contains(&format!("[default: {url}]")), "{help}");
    let mut command = place.tenure();
    command.args(SIDECAR.split(' ').skip(1));
    command.env("TENURE_TTL", "6s").env("TENURE_RENEW_INTERVAL", "500ms");
    let sidecar = Sidecar::start(&place, "log", &mut command);
    wait_until("the lead", || sidecar.leads());
    let shown = page.lines().find(|line| line.starts_with("{\"key\":")).unwrap();
    let given = sidecar.get("/").body;
    // Of the numbers, only that they are there.
    let without_numbers = |text: &str| {
        text.trim().split(|letter: char| letter.is_ascii_digit()).collect::<Vec<_>>().join("")
    };
    assert_eq!(without_numbers(&given), without_numbers(shown));
}

/// The page has one list of statuses, and the help another.
#[test]
fn help_and_page_have_the_same_statuses() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/command.md")).unwrap();
    let help: String = ["run", "status", "handover", "notify", "migrate", "purge", "sidecar"]
        .map(|what| String::from_utf8(place.output(&[what, "--help"]).stdout).unwrap())
        .concat();
    for status in ["64", "69", "71", "75", "76", "126", "127"] {
        assert!(help.contains(status), "the help lacks {status}");
        let row =
            |line: &str| line.starts_with('|') && line.split('|').nth(1).unwrap().contains(status);
        assert!(page.lines().any(row), "the page lacks {status}");
    }
}
