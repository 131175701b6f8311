//! `tenure status` and `tenure handover`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::exclusion::Election;
use super::hosts::{Host, Place, wait_until};

fn leads(place: &Place, name: &str, arguments: &[&str]) -> Host {
    let mut command = place.tenure();
    command.args(["run", "job", "--name", name]).args(arguments).args(["--", "sleep", "600"]);
    let host = Host::start(&mut command);
    wait_until("a leader", || place.status(&["status", "job"]) == 0);
    host
}

#[test]
fn status_says_who_leads() {
    let place = Place::new();
    assert_eq!(place.status(&["status", "job"]), 1);
    let mut host = leads(&place, "host-a", &[]);
    let output = place.output(&["status", "job", "other", "--json"]);
    assert_eq!(output.status.code(), Some(1), "the other one has no leader");
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["key"], &lines[0]["leader"]["name"]), (&"job".into(), &"host-a".into()));
    assert_eq!((&lines[1]["key"], &lines[1]["leader"]), (&"other".into(), &Value::Null));
    let words = String::from_utf8(place.output(&["status", "job"]).stdout).unwrap();
    assert!(words.starts_with("job: host-a leads since "), "{words}");
    host.signal(Signal::SIGTERM);
    host.ends();
    assert_eq!(place.status(&["status", "job", "--wait-for", "none"]), 0);
}

#[test]
fn status_escapes_control_characters() {
    let place = Place::new();
    let _leader = leads(&place, "host\u{1b}[2J\na", &[]);
    let words = String::from_utf8(place.output(&["status", "job"]).stdout).unwrap();
    assert!(words.starts_with("job: host\\u{1b}[2J\\na leads since "), "{words}");
}

#[test]
fn status_shows_all_elections() {
    let place = Place::new();
    let all = |arguments: &[&str]| place.output(&[&["status", "--all"], arguments].concat());
    let none = all(&[]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0), "there are none");
    let mut host = leads(&place, "host-a", &[]);
    for key in ["other", "third"] {
        assert_eq!(place.status(&["run", key, "--once", "--", "true"]), 0);
    }
    let output = all(&["--json"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines
        .iter()
        .map(|line| (line["key"].as_str().unwrap(), line["leader"]["name"].as_str()))
        .collect();
    assert_eq!(shown, [("job", Some("host-a")), ("other", None), ("third", None)]);
    assert_eq!(output.status.code(), Some(1), "two have no leader");
    host.signal(Signal::SIGTERM);
    host.ends();
    for wrong in [&["job"][..], &["--wait-for", "none"]] {
        assert_eq!(all(wrong).status.code(), Some(64), "{wrong:?}");
    }
}

#[test]
fn status_waits_for_a_leader() {
    let place = Place::new();
    assert_eq!(place.status(&["status", "job", "--wait-for", "leader", "--timeout", "200ms"]), 1);
    let mut waits = Host::start(place.tenure().args(["status", "job", "--wait-for", "host-a"]));
    let _host = leads(&place, "host-a", &[]);
    assert_eq!(waits.ends(), Some(0));
    let not_met = ["status", "job", "--wait-for", "host-b", "--timeout", "200ms"];
    assert_eq!(place.status(&not_met), 1);
}

#[test]
fn status_watches_changes() {
    let place = Place::new();
    let mut watches = place.tenure();
    watches.args(["status", "job", "other", "--watch"]).stdout(Stdio::piped());
    let mut watches = Host::start(&mut watches);
    let mut lines = BufReader::new(watches.0.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    let both = BTreeSet::from([next(), next()]);
    assert_eq!(both, BTreeSet::from(["job", "other"].map(|key| format!("{key}: nobody leads"))));
    let mut host = leads(&place, "host-a", &[]);
    let line = next();
    assert!(line.starts_with("job: host-a leads since "), "{line}");
    host.signal(Signal::SIGTERM);
    host.ends();
    assert_eq!(next(), "job: nobody leads");
    watches.signal(Signal::SIGTERM);
}

#[test]
fn handover_names_the_next_leader() {
    let election = Election::in_a_file().steady();
    let place = &election.place;
    assert_eq!(place.status(&["handover", "job"]), 1, "no candidate leads");
    let start = |name| Host::start(&mut election.command(&["--name", name], &[]));
    let first = start("host-a");
    let leader = election.journal.next_after(0);
    let wanted = || {
        let shown = place.output(&["status", "job", "--json"]).stdout;
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        shown["leader"]["wanted"].clone()
    };
    assert_eq!(wanted(), Value::Null);
    let mut handover = place.tenure();
    let mut handover =
        Host::start(handover.args(["handover", "job", "--to", "host-z", "--timeout", "10s"]));
    wait_until("a wish", || wanted().as_str().is_some_and(|digest| digest.len() == 32));
    let words = String::from_utf8(place.output(&["status", "job"]).stdout).unwrap();
    assert!(words.contains(", the candidate of another name is wanted"), "{words}");
    assert_eq!(handover.ends(), Some(75));
    assert_eq!(wanted(), Value::Null, "it was taken back");
    let others = [start("host-b"), start("host-c")];
    let handover = place.output(&["handover", "job", "--to", "host-c", "--timeout", "60s"]);
    assert_eq!(handover.status.code(), Some(0), "{}", String::from_utf8_lossy(&handover.stderr));
    let next = election.journal.next_after(leader.token);
    let words = String::from_utf8(place.output(&["status", "job"]).stdout).unwrap();
    assert!(words.starts_with("job: host-c leads since "), "{words}");
    assert!(next.token > leader.token);
    election.journal.assert_excluded(2);
    assert_eq!(place.status(&["handover", "job", "--to", "host-c"]), 0, "it leads already");
    drop((first, others));
}

/// A wish ends with its tenure; the command goes on to wish, until the one that is meant leads.
#[test]
fn handover_outlasts_another_end_of_the_tenure() {
    let place = Place::new();
    let first = leads(&place, "host-a", &[]);
    let mut handover = place.tenure();
    let mut handover =
        Host::start(handover.args(["handover", "job", "--to", "host-z", "--timeout", "60s"]));
    let says = |words: &str| {
        let shown = place.output(&["status", "job"]).stdout;
        String::from_utf8(shown).unwrap().contains(words)
    };
    wait_until("a wish", || says("wanted"));
    let next = leads(&place, "host-b", &[]);
    first.signal(Signal::SIGTERM);
    wait_until("another leader, and a wish", || says("host-b leads since") && says("wanted"));
    let meant = leads(&place, "host-z", &[]);
    assert_eq!(handover.ends(), Some(0));
    assert!(says("host-z leads since"));
    drop((next, meant));
}
