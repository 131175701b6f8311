//! Faults in variables.

use tenure_servers::RedisServer;

use super::super::hosts::Place;
use super::{Fault, Found, Planted, each_is_found};

/// The file of this user, so that no server is needed.
fn set(name: &'static str, value: &str) -> Planted {
    Planted::at("").set(name, value)
}

fn beside_a_url() -> Planted {
    let server = RedisServer::start_with(&["--appendonly", "yes"]).unwrap();
    let planted = Planted::at("").set("TENURE_STORE", server.url()).keeps(server);
    planted.set("TENURE_REDIS_PASSWORD", "secret")
}

fn beside_an_option() -> Planted {
    let planted = Planted::at("");
    let url = format!("sqlite://{}", planted.place.file("a.db").display());
    Planted { url, ..planted }.set("TENURE_STORE", "redis://10.0.0.7")
}

pub(super) const FAULTS: &[Fault] = &[
    ("a misspelt name", "unknown-variable", || set("TENURE_TLL", "5s")),
    ("a variable of another program", "unknown-variable", || set("TENURE_DATABASE", "a")),
    ("a value without a unit", "setting-refused", || set("TENURE_TTL", "15")),
    ("a stop margin too short", "setting-refused", || set("TENURE_STOP_MARGIN", "1ms")),
    ("two bounds for one thing", "setting-refused", || {
        set("TENURE_DRAIN_BOUND", "5s").set("TENURE_LONGEST_STOP", "5s")
    }),
    ("a password beside a URL", "variable-unused", beside_a_url),
    ("another store in the variables", "store-by-option", beside_an_option),
    ("a store that is not shared", "in-memory", || Planted::at("memory:")),
    ("no store", "own-file", || Planted::at("")),
    ("no store beside a server", "store-not-named", || set("REDIS_URL", "redis://10.0.0.7")),
];

#[test]
fn faults_of_variables_are_found_with_redis() {
    each_is_found(FAULTS);
}

#[test]
fn statuses_and_the_last_line_agree() {
    let run = |planted: &Planted, arguments: &[&str]| {
        let mut command = planted.place.tenure();
        command.envs(planted.variables.iter().map(|(name, value)| (name, value)));
        let output = command.arg("doctor").args(arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), said.lines().last().unwrap_or_default().to_owned())
    };
    let fine = "sqlite: nothing wrong was found".to_owned();
    let some = "sqlite: 1 problem was found; elections work".to_owned();
    let none = "redis: 1 problem was found; elections do not work".to_owned();
    assert_eq!(run(&Planted::at(""), &[]), (0, fine));
    assert_eq!(run(&set("TENURE_TLL", "5s"), &[]), (1, some));
    let away = ["--store", "redis://127.0.0.1:1"];
    assert_eq!(run(&Planted::at(""), &away), (69, none));
    assert_eq!(run(&Planted::at(""), &["--store", "mysql://a"]).0, 64);
    assert_eq!(run(&Planted::at(""), &["--store-file", "/no/such/file"]).0, 64);
}

/// The server takes connections and never answers.
#[test]
fn a_silent_server_does_not_keep_the_doctor() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let place = Place::new();
    let examine = |url: String| {
        // Several of its bounds, and far less than those of all its questions together.
        let script = format!("timeout 60 tenure doctor --store {url}");
        place.shell(&script).output().unwrap().status.code()
    };
    std::thread::scope(|scope| {
        let redis = scope.spawn(|| examine(format!("redis://{address}")));
        assert_eq!(examine(format!("postgres://app@{address}/app")), Some(69));
        assert_eq!(redis.join().unwrap(), Some(69));
    });
}

/// Each run uses one of a few elections again.
#[test]
fn runs_leave_few_records() {
    let planted = Planted::at("");
    for _ in 0..24 {
        planted.is_healthy();
    }
    let file = planted.place.file("tenure/elections.db");
    let mut count = std::process::Command::new("sqlite3");
    count.arg(file).arg("SELECT count(*), min(released), group_concat(key) FROM elections");
    let said = String::from_utf8(count.output().unwrap().stdout).unwrap();
    let (count, rest) = said.split_once('|').unwrap();
    let count: u32 = count.parse().unwrap();
    assert!((2..=16).contains(&count) && rest.starts_with("1|tenure-doctor-"), "{said}");
}

#[test]
fn findings_are_objects_with_every_part() {
    let found: Found = set("TENURE_TLL", "5s").examine();
    let finding = found.findings.iter().find(|one| one["id"] == "unknown-variable").unwrap();
    let has = |part: &str| finding[part].as_str().is_some_and(|text| !text.is_empty());
    assert!(["id", "level", "found", "follows", "change"].into_iter().all(has), "{finding}");
    assert!(finding["found"].as_str().unwrap().contains("TENURE_TTL may be meant"), "{finding}");
}
