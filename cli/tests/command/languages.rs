//! The programs of `docs/other-languages.md`, as they stand there: fenced writes under `tenure run`,
//! and beside a sidecar, within the validity of its answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::hosts::{Host, Place, wait_until};
use super::http::Sidecar;

/// The command by which the page starts a program.
const RUN: &str = "tenure run nightly -- ";
const COUNT: &str = "SELECT count(*) FROM reports";
const TOKENS: &str = "SELECT DISTINCT token FROM reports";

/// The commands of the page, and its files by name: a name is the first code in the line above.
fn page() -> (Vec<String>, BTreeMap<String, String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("docs/other-languages.md")).unwrap();
    let (mut commands, mut files) = (Vec::new(), BTreeMap::new());
    for pair in text.split("```").collect::<Vec<_>>().chunks_exact(2) {
        let (language, block) = pair[1].split_once('\n').unwrap();
        if language == "sh" {
            commands.extend(block.lines().map(ToOwned::to_owned));
            continue;
        }
        let above = pair[0].trim_end().lines().last().unwrap();
        let name = above.split('`').nth(1).unwrap().to_owned();
        assert!(files.insert(name, block.to_owned()).is_none(), "{above}");
    }
    (commands, files)
}

/// A folder with the page's files and an empty database.
fn folder() -> Place {
    let place = Place::new();
    let (commands, files) = page();
    for (name, text) in files {
        fs::write(place.file(&name), text).unwrap();
    }
    let status = place.shell(&commands[0]).status().unwrap();
    assert!(status.success(), "{}", commands[0]);
    place
}

/// In that place, `lead.*` asks that address.
fn asks(place: &Place, address: &str) {
    let is_reader = |(name, _): &(String, String)| name.starts_with("lead.");
    let readers: Vec<_> = page().1.into_iter().filter(is_reader).collect();
    assert_eq!(readers.len(), 4);
    for (name, text) in readers {
        assert_eq!(text.matches("http://127.0.0.1:8406/").count(), 1, "{name}");
        fs::write(place.file(&name), text.replace("127.0.0.1:8406", address)).unwrap();
    }
}

/// The database's answer.
fn sql(place: &Place, statements: &str) -> String {
    let command = format!("sqlite3 -cmd '.timeout 20000' reports.db \"{statements}\"");
    let output = place.shell(&command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn wait_for_writes(place: &Place) {
    let before = sql(place, COUNT);
    wait_until("a write", || sql(place, COUNT) != before);
}

/// The program's command, once it was built in that place.
fn built(place: &Place, command: &str) -> String {
    let (build, run) = command.split_once(RUN).unwrap();
    let output = place.shell(&format!("{build}true")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    run.to_owned()
}

/// It writes under the token of its tenure, and no more once a newer one has the database.
fn is_fenced_under_tenure_run(command: &str) {
    let place = folder();
    let program = built(&place, command);
    let mut run = place.shell(&format!("exec {RUN}{program}"));
    let mut host = Host::start(run.stderr(File::create(place.file("log")).unwrap()));
    wait_for_writes(&place);
    let status = place.output(&["status", "nightly", "--json"]).stdout;
    let status: Value = serde_json::from_slice(&status).unwrap();
    assert_eq!(sql(&place, TOKENS), status["leader"]["token"].to_string());

    let newer = "UPDATE tenure_fences SET token = token + 1";
    let written = sql(&place, &format!("BEGIN IMMEDIATE; {newer}; {COUNT}; COMMIT"));
    assert_eq!(host.ends(), Some(1));
    assert_eq!(sql(&place, COUNT), written);
    let log = fs::read_to_string(place.file("log")).unwrap();
    assert!(log.contains("refused by the fence"), "{log}");
}

/// It writes while answers are valid, and goes on with the next one.
fn stops_with_the_answers(command: &str) {
    let place = folder();
    let mut sidecar = place.tenure();
    sidecar.args(["sidecar", "nightly"]);
    let sidecar = Sidecar::start(&place, "log", &mut sidecar);
    asks(&place, &sidecar.address);
    let program = built(&place, command);
    let _program = Host::start(&mut place.shell(&format!("exec {program}")));
    wait_for_writes(&place);
    assert_eq!(sql(&place, TOKENS), sidecar.standing()["token"].to_string());
    sidecar.host.signal(Signal::SIGSTOP);
    wait_until("the end of the writes", || {
        let before = sql(&place, COUNT);
        thread::sleep(Duration::from_secs(3));
        sql(&place, COUNT) == before
    });
    sidecar.host.signal(Signal::SIGCONT);
    wait_for_writes(&place);
}

/// Answers that are over when they arrive count for nothing: validity begins before the request.
fn counts_from_before_the_request(command: &str) {
    let place = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    asks(&place, &listener.local_addr().unwrap().to_string());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let Ok(1..) = stream.read(&mut [0; 4096]) else { continue };
            let (token, valid_ms) = if number < 6 { (1, 290) } else { (2, 60_000) };
            if token == 1 {
                thread::sleep(Duration::from_millis(300));
            }
            let body = json!({ "leads": true, "token": token, "valid_ms": valid_ms }).to_string();
            let head = format!("content-length: {}\r\nconnection: close", body.len());
            // A reader that has given up is no fault.
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        }
    });
    let program = built(&place, command);
    let _program = Host::start(&mut place.shell(&format!("exec {program}")));
    wait_for_writes(&place);
    assert_eq!(sql(&place, TOKENS), "2");
}

fn works(interpreters: &[&str], program: &str) {
    let place = Place::new();
    for needed in interpreters.iter().chain(&["sqlite3"]) {
        let found = place.shell(&format!("command -v {needed}")).output().unwrap().status;
        assert!(
            found.success(),
            "`{needed}` is not installed; install it with: scripts/setup check"
        );
    }
    let (commands, _) = page();
    let command = commands.iter().find(|command| command.ends_with(&format!("{RUN}{program}")));
    let command = command.unwrap();
    is_fenced_under_tenure_run(command);
    stops_with_the_answers(command);
    counts_from_before_the_request(command);
}

#[test]
fn the_programs_in_python() {
    works(&["python3"], "python3 report.py");
}

#[test]
fn the_programs_in_node() {
    works(&["node"], "node report.mjs");
}

#[test]
fn the_programs_in_go() {
    works(&["go"], "./report");
}

#[test]
fn the_programs_in_shell() {
    works(&["curl", "jq"], "sh report.sh");
}

/// Each block is in a file that a test uses, and each command is run.
#[test]
fn the_page_has_nothing_else() {
    let (commands, files) = page();
    let ends = ["py", "mjs", "go", "sh"];
    let programs = ends.iter().flat_map(|end| [format!("lead.{end}"), format!("report.{end}")]);
    let statements = ["schema.sql", "take-over.sql", "write.sql"].map(ToOwned::to_owned);
    let expected: BTreeSet<_> = programs.chain(statements).collect();
    assert_eq!(files.into_keys().collect::<BTreeSet<_>>(), expected);
    assert_eq!(commands.len(), 5, "{commands:?}");
}

/// Apart from names of parameters, and the row that is returned.
#[test]
fn the_fence_is_that_of_the_library() {
    use tenure::fence::sqlite::Fence;

    let (_, files) = page();
    let words =
        |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
    let take_over = Fence::TAKE_OVER.replace("?1", "'nightly'").replace("?2", "@token");
    assert_eq!(words(&files["take-over.sql"]), format!("{} RETURNING token;", words(&take_over)));
    assert!(words(&files["schema.sql"]).starts_with(&format!("{};", words(Fence::SCHEMA))));
}
