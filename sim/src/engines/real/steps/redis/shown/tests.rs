use tenure_servers::Course;

use super::super::{Monitor, lock};
use super::*;
use crate::trace::Answer;

const HOLDER: u128 = 0xab;
const OTHER: u128 = 0xcd;

/// The stream of a server, whose times are seconds.
struct Stream(State);

impl Stream {
    fn new() -> Self {
        let names = ["acquire", "renew", "release"];
        Self(State::of(names.map(|name| (name.to_owned(), name)).into()))
    }

    fn shows(&mut self, second: u64, client: &str, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        self.0.shown(&format!("+{second}.000000 [0 {client}] {}", words.join(" ")));
    }

    fn runs(&mut self, second: u64, script: &str, arguments: &[&str], commands: &[&[&str]]) {
        let call = [&["EVALSHA", script, "2", RECORD, "history"], arguments].concat();
        self.shows(second, "127.0.0.1:1", &call);
        self.shows(second, "lua", &["TIME"]);
        for command in commands {
            self.shows(second, "lua", command);
        }
    }

    fn acquires(&mut self, second: u64, holder: u128, seen: &str, commands: &[&[&str]]) {
        let holder = format!("{holder:032x}");
        self.runs(second, "acquire", &[&holder, seen, "5000000", "5000000", "name", ""], commands);
    }

    /// Granted with a TTL of 5 s.
    fn grants(&mut self, second: u64, holder: u128, token: &str) {
        let (holder_text, ends) =
            (format!("{holder:032x}"), format!("{}", (second + 5) * 1_000_000));
        let known = [
            "HSET",
            "history",
            "identity",
            "one/two",
            "known_since",
            "1000000",
            "longest_ttl",
            "5000000",
        ];
        let granted = [
            "HSET",
            RECORD,
            "token",
            token,
            "holder",
            &holder_text,
            "lease_end",
            &ends,
            "ttl",
            "5000000",
            "released",
            "0",
            "name",
            "a \"name\"",
            "quarantine",
            "5000000",
        ];
        self.acquires(second, holder, "0", &[&["INFO", "server"], &known, &granted]);
    }

    fn steps(mut self) -> Vec<(u64, Asked, Answer)> {
        self.0.script_ended();
        self.0.steps.iter().map(|step| (step.now / 1_000_000, step.request, step.answer)).collect()
    }
}

#[test]
fn grants_and_renewals_are_read_from_what_they_write() {
    let mut stream = Stream::new();
    stream.grants(2, HOLDER, "7");
    let holder = format!("{HOLDER:032x}");
    let renewed: &[&str] = &["HSET", RECORD, "lease_end", "9000000", "ttl", "5000000"];
    stream.runs(4, "renew", &[&holder, "7", "5000000"], &[renewed]);
    stream.runs(5, "release", &[&holder, "7"], &[&["HSET", RECORD, "released", "1"]]);
    assert_eq!(
        stream.steps(),
        [
            (2, Asked::Acquire { seen: 0 }, Answer::Granted { token: 7, waits: true }),
            (4, Asked::Renew { token: 7 }, Answer::Renewed),
            (5, Asked::Release { token: 7 }, Answer::Released),
        ]
    );
}

#[test]
fn refusals_follow_from_the_record_before() {
    let mut stream = Stream::new();
    stream.grants(2, HOLDER, "7");
    stream.acquires(3, OTHER, "0", &[]);
    stream.acquires(8, OTHER, "3", &[]);
    let other = format!("{OTHER:032x}");
    stream.runs(9, "renew", &[&other, "7", "5000000"], &[]);
    stream.runs(9, "release", &[&other, "7"], &[]);
    let answers: Vec<Answer> = stream.steps().into_iter().map(|(_, _, answer)| answer).collect();
    assert_eq!(answers[1..], [Answer::Held, Answer::Stale, Answer::Superseded, Answer::NotHeld]);
}

#[test]
fn a_refusal_at_the_end_of_a_lease_is_a_gap() {
    let mut stream = Stream::new();
    stream.grants(2, HOLDER, "7");
    stream.acquires(7, OTHER, "0", &[]);
    stream.shows(8, "127.0.0.1:1", &["ECHO", "all-was-shown"]);
    assert!(stream.0.has_gaps && stream.0.marks == 1);
    assert_eq!(stream.steps().len(), 1);
}

#[test]
fn an_own_lease_that_is_not_granted_again_is_a_gap() {
    let mut stream = Stream::new();
    stream.grants(2, HOLDER, "7");
    stream.acquires(4, HOLDER, "0", &[]);
    stream.0.script_ended();
    assert!(stream.0.has_gaps);
    assert_eq!(stream.steps().len(), 1);
}

#[test]
fn an_unknown_script_and_other_elections_are_no_steps() {
    let mut stream = Stream::new();
    // The server does not know the script: it runs nothing.
    let holder = format!("{HOLDER:032x}");
    stream.shows(1, "127.0.0.1:1", &["EVALSHA", "release", "1", RECORD, &holder, "7"]);
    stream.shows(2, "127.0.0.1:1", &["EVALSHA", "other", "1", RECORD, &holder, "7"]);
    stream.shows(2, "lua", &["TIME"]);
    stream.shows(3, "127.0.0.1:1", &["EVALSHA", "release", "1", "elsewhere", &holder, "7"]);
    stream.shows(3, "lua", &["TIME"]);
    assert_eq!(stream.steps(), []);
}

#[test]
fn a_server_without_its_data_counts_as_another() {
    let mut stream = Stream::new();
    stream.shows(1, "127.0.0.1:2", &["FLUSHALL"]);
    assert_eq!((stream.0.server, stream.0.lost_at), (0, None), "there was nothing to lose");
    stream.grants(2, HOLDER, "7");
    stream.shows(3, "127.0.0.1:2", &["FLUSHALL"]);
    assert_eq!(stream.0.lost_at.take(), Some(3_000_000));
    let holder = format!("{HOLDER:032x}");
    stream.runs(4, "renew", &[&holder, "7", "5000000"], &[]);
    stream.0.script_ended();
    let seen: Vec<_> = stream
        .0
        .steps
        .iter()
        .map(|step| (step.server, step.before.is_some(), step.answer))
        .collect();
    assert_eq!(
        seen,
        [(0, false, Answer::Granted { token: 7, waits: true }), (1, false, Answer::Superseded),]
    );
}

#[test]
fn a_record_that_moves_is_known_at_its_new_server() {
    let (mut old, mut new) = (Monitor::new(), Monitor::new());
    let grants = |monitor: &Monitor, second, holder, token| {
        let mut state = lock(&monitor.state);
        let names = ["acquire", "renew", "release"];
        state.scripts = names.map(|name| (name.to_owned(), name)).into();
        let mut stream = Stream(std::mem::take(&mut *state));
        stream.grants(second, holder, token);
        stream.0.script_ended();
        *state = stream.0;
    };
    grants(&old, 2, HOLDER, "7");
    new.takes_over(&old);
    new.has_number(1);
    grants(&new, 9, OTHER, "8");
    old.takes_over(&new);
    let before = |monitor: &Monitor| -> Vec<_> {
        let steps = monitor.steps().all;
        steps.iter().map(|step| (step.server, step.before.map(|record| record.token))).collect()
    };
    assert_eq!((before(&old), before(&new)), (vec![(0, None)], vec![(1, Some(7))]));
    let known = |monitor: &Monitor| lock(&monitor.state).kept.map(|record| record.token);
    assert_eq!((known(&old), known(&new)), (Some(8), None));
    assert_eq!(lock(&old.state).history.longest_ttl, 5_000_000);
    assert_eq!((old.known_since("one/two"), new.known_since("one/two")), (Some(1_000_000), None));
    assert_eq!(old.known_since("another"), None);
}

/// It is 3 s fast at 4 s of the machine's time, and 3 s slow at 10 s.
#[test]
fn steps_happen_in_the_time_of_the_machine_whatever_the_servers_clock_shows() {
    let mut stream = Stream::new();
    let seconds = |seconds: u64| seconds * 1_000_000_000;
    let course = |machine, shows| ServerTime(Some(Course::of(seconds(machine), seconds(shows))));
    stream.0.clock = course(4, 7);
    stream.grants(8, HOLDER, "7");
    stream.0.script_ended();
    stream.0.clock = course(10, 7);
    stream.grants(13, OTHER, "8");
    stream.0.script_ended();
    let times = |step: &Step| (step.at / 1_000_000, step.now / 1_000_000);
    let seen: Vec<_> = stream.0.steps.iter().map(times).collect();
    assert_eq!(seen, [(5, 8), (16, 13)]);
    assert_eq!(stream.0.clock.machine(18_000_000), 21_000_000, "the end of the last lease");
}
