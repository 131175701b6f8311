use tenure_servers::Course;

use super::super::{Monitor, lock};
use super::*;
use crate::trace::Answer;

const HOLDER: u128 = 0xab;
const OTHER: u128 = 0xcd;
const NAMES: [&str; 5] = ["acquire", "look", "renew", "renew_first", "release"];
const WAITS: Answer = Answer::Not { past_is_watched: false };
const NOT: Answer = Answer::Not { past_is_watched: true };
const FIRST: Asked = Asked::Acquire { seen: 0, watched: None };

/// The stream of a server, whose times are seconds.
struct Stream(State);

fn hex(bits: u128) -> String {
    format!("{bits:032x}")
}

fn known_scripts() -> BTreeMap<String, &'static str> {
    NAMES.map(|name| (name.to_owned(), name)).into()
}

/// An acquire, without its holder and its number.
#[derive(Clone, Copy)]
struct Says {
    seen: &'static str,
    lost: &'static str,
    mark: Option<(u128, u64)>,
    name: u128,
}

const SAYS: Says = Says { seen: "0", lost: "", mark: None, name: 1 };

impl Stream {
    fn new() -> Self {
        Self(State::of(known_scripts()))
    }

    fn shows(&mut self, second: u64, client: &str, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        self.0.shown(&format!("+{second}.000000 [0 {client}] {}", words.join(" ")));
    }

    fn runs(&mut self, second: u64, script: &str, arguments: &[&str], commands: &[&[&str]]) {
        let call = [&["EVALSHA", script, "2", RECORD, PAST], arguments].concat();
        self.shows(second, "127.0.0.1:1", &call);
        self.shows(second, "lua", &["TIME"]);
        for command in commands {
            self.shows(second, "lua", command);
        }
    }

    fn acquires(&mut self, second: u64, by: (u128, &str), says: Says, commands: &[&[&str]]) {
        let (holder, name) = (hex(by.0), hex(says.name));
        let mark = says.mark.map(|(holder, number)| format!("{}:{number}", hex(holder)));
        let (mark, ttl) = (mark.unwrap_or_default(), "5000000");
        let says = [says.seen, says.lost, &mark, "", "0", ttl, ttl, &name, "name", ""];
        let arguments = [&[&*holder, by.1][..], &says, &["0", ""]].concat();
        self.runs(second, "acquire", &arguments, commands);
    }

    /// A past, stamped at that time and watched in full.
    fn stamps(&mut self, second: u64) {
        let stamp = ["HSET", PAST, "stamp", "ee", "watched", "0", "identity", "one/two"];
        let watched = ["HSET", PAST, "watched", "5000000"];
        self.runs(second, "look", &["5000000", "", "", "", "ff"], &[&["INFO", "server"], &stamp]);
        self.acquires(second, (OTHER, "1"), SAYS, &[&watched]);
        self.0.has_gaps = false;
        self.0.steps.clear();
        self.0.script = None;
    }

    /// Granted with a TTL of 5 s, by its first request.
    fn grants(&mut self, second: u64, holder: u128, token: &str, says: Says) {
        let (holder_text, written) = (hex(holder), format!("{}", second * 1_000_000));
        #[rustfmt::skip]
        let granted = [
            "HSET", RECORD, "token", token, "holder", &holder_text, "number", "1", "released", "0",
            "ttl", "5000000", "quarantine", "5000000", "asked", "", "defer", "0", "wanted", "",
            "reserved_for", "", "reserve", "0", "written", &written, "name", "a \"name\"", "metadata", "",
        ];
        self.acquires(
            second,
            (holder, "1"),
            says,
            &[&granted, &["HSET", PAST, "longest", "5000000"]],
        );
    }

    fn renews(&mut self, second: u64, (holder, token, number): (u128, &str, &str), writes: bool) {
        let (holder, written) = (hex(holder), format!("{}", second * 1_000_000));
        let renewed = ["HSET", RECORD, "number", number, "written", &written];
        let cleared = ["HSET", RECORD, "asked", "", "defer", "0"];
        let both: [&[&str]; 2] = [&renewed, &cleared];
        let arguments = [&*holder, token, number, "", "0", ""];
        self.runs(second, "renew", &arguments, if writes { &both } else { &[] });
    }

    fn releases(&mut self, second: u64, (holder, token): (u128, &str), reserved_for: Option<u128>) {
        let (holder, name) = (hex(holder), reserved_for.map(hex).unwrap_or_default());
        let back = ["HSET", RECORD, "released", "1", "reserved_for", &name, "reserve", "9"];
        self.runs(second, "release", &[&holder, token, &name, "9", "-"], &[&back]);
    }

    fn steps(mut self) -> Vec<(u64, Asked, Answer)> {
        self.0.script_ended();
        self.0.steps.iter().map(|step| (step.at / 1_000_000, step.request, step.answer)).collect()
    }

    fn answers(self) -> Vec<Answer> {
        self.steps().into_iter().map(|(_, _, answer)| answer).collect()
    }
}

#[test]
fn changes_are_read_from_what_scripts_write() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    stream.renews(4, (HOLDER, "7", "2"), true);
    stream.releases(5, (HOLDER, "7"), None);
    stream.0.script_ended();
    let marked: Vec<_> = stream
        .0
        .steps
        .iter()
        .filter_map(|step| step.after)
        .map(|after| (after.number, after.marked_at / 1_000_000))
        .collect();
    assert_eq!(marked, [(1, 2), (2, 4), (2, 4)]);
    let past_is_watched = true;
    assert_eq!(
        stream.steps(),
        [
            (2, FIRST, Answer::Granted { token: 7 }),
            (4, Asked::Renew { token: 7 }, Answer::Renewed { past_is_watched }),
            (5, Asked::Release { token: 7 }, Answer::Released),
        ]
    );
}

#[test]
fn refusals_follow_from_the_record_and_the_past() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    // Neither vacant nor watched, and then a late duplicate of a mark that is another by now.
    stream.acquires(3, (OTHER, "2"), SAYS, &[]);
    stream.renews(4, (HOLDER, "7", "2"), true);
    let mark = Some((HOLDER, 1));
    stream.acquires(5, (OTHER, "3"), Says { mark, ..SAYS }, &[]);
    stream.renews(6, (OTHER, "7", "1"), false);
    // A duplicate changes nothing, and has its answer.
    stream.renews(6, (HOLDER, "7", "1"), false);
    stream.runs(7, "release", &[&hex(OTHER), "7", "", "0", "-"], &[]);
    stream.runs(8, "look", &["6000000", "", "", "", ""], &[]);
    assert!(!stream.0.has_gaps);
    assert_eq!(
        stream.answers()[1..],
        [
            NOT,
            Answer::Renewed { past_is_watched: true },
            NOT,
            Answer::Superseded,
            Answer::Renewed { past_is_watched: true },
            Answer::NotHeld,
            // Its quarantine is longer than anybody has watched.
            Answer::At { past_is_watched: false },
        ]
    );
}

#[test]
fn a_lease_that_was_watched_is_taken() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    let mark = Some((HOLDER, 1));
    stream.grants(9, OTHER, "8", Says { seen: "7", mark, ..SAYS });
    let watched = Some(Mark { holder: HOLDER, number: 1 });
    let taken = (9, Asked::Acquire { seen: 7, watched }, Answer::Granted { token: 8 });
    assert_eq!(stream.steps()[1..], [taken]);
}

#[test]
fn a_loss_that_was_not_watched_out_is_refused() {
    let mut stream = Stream::new();
    stream.stamps(1);
    let news = ["HSET", PAST, "stamp", "ef", "watched", "0"];
    stream.acquires(3, (HOLDER, "1"), Says { seen: "9", ..SAYS }, &[&news]);
    assert_eq!(stream.0.past.stamped_at, 3_000_000);
    let watched = ["HSET", PAST, "watched", "5000000"];
    stream.acquires(9, (HOLDER, "2"), Says { seen: "9", lost: "5", ..SAYS }, &[&watched]);
    stream.grants(10, HOLDER, "10", Says { seen: "9", lost: "0", ..SAYS });
    assert_eq!(stream.answers(), [WAITS, NOT, Answer::Granted { token: 10 }]);
}

#[test]
fn a_lease_that_is_kept_for_another_name_is_refused() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    stream.releases(3, (HOLDER, "7"), Some(2));
    stream.acquires(4, (OTHER, "1"), Says { seen: "7", ..SAYS }, &[]);
    stream.grants(5, OTHER, "8", Says { seen: "7", name: 2, ..SAYS });
    assert!(!stream.0.has_gaps);
    assert_eq!(stream.answers()[2..], [NOT, Answer::Granted { token: 8 }]);
}

#[test]
fn a_grant_that_is_not_written_is_a_gap() {
    for (holder, number, seen) in [(OTHER, "1", "7"), (HOLDER, "2", "0")] {
        let mut stream = Stream::new();
        stream.stamps(1);
        stream.grants(2, HOLDER, "7", SAYS);
        if holder == OTHER {
            stream.releases(3, (HOLDER, "7"), None);
        }
        stream.acquires(4, (holder, number), Says { seen, ..SAYS }, &[]);
        stream.shows(8, "127.0.0.1:1", &["ECHO", "all-was-shown"]);
        assert!(stream.0.has_gaps && stream.0.marks == 1);
    }
}

#[test]
fn a_repeated_request_is_granted_the_same_again() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    stream.acquires(3, (HOLDER, "1"), SAYS, &[]);
    let again = ["HSET", RECORD, "number", "2", "written", "4000000"];
    stream.acquires(4, (HOLDER, "2"), SAYS, &[&again]);
    assert!(!stream.0.has_gaps);
    assert_eq!(stream.answers(), [Answer::Granted { token: 7 }; 3]);
}

#[test]
fn an_unknown_script_and_other_elections_are_no_steps() {
    let mut stream = Stream::new();
    // The server does not know the script: it runs nothing.
    let holder = hex(HOLDER);
    let arguments = [&*holder, "7", "", "0", "-"];
    stream.shows(1, "1", &[&["EVALSHA", "release", "1", RECORD][..], &arguments].concat());
    stream.shows(2, "1", &[&["EVALSHA", "other", "1", RECORD][..], &arguments].concat());
    stream.shows(2, "lua", &["TIME"]);
    stream.shows(3, "1", &[&["EVALSHA", "release", "1", "elsewhere"][..], &arguments].concat());
    stream.shows(3, "lua", &["TIME"]);
    assert_eq!(stream.steps(), []);
}

#[test]
fn the_place_of_the_election_among_others_counts() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    let (other, holder) = (hex(OTHER), hex(HOLDER));
    let arguments = [&*other, "3", "9", "", "0", &holder, "7", "2", "", "0", ""];
    let keys = ["EVALSHA", "renew", "3", "elsewhere", RECORD, PAST];
    stream.shows(3, "127.0.0.1:1", &[&keys[..], &arguments].concat());
    stream.shows(3, "lua", &["TIME"]);
    stream.shows(3, "lua", &["HSET", "elsewhere", "number", "9", "written", "3000000"]);
    stream.shows(3, "lua", &["HSET", RECORD, "number", "2", "written", "3000000"]);
    let past_is_watched = true;
    let renewed = (3, Asked::Renew { token: 7 }, Answer::Renewed { past_is_watched });
    assert_eq!(stream.steps()[1..], [renewed]);
}

#[test]
fn a_server_without_its_data_counts_as_another() {
    let mut stream = Stream::new();
    stream.shows(1, "127.0.0.1:2", &["FLUSHALL"]);
    assert_eq!((stream.0.server, stream.0.lost_at), (0, None), "there was nothing to lose");
    stream.stamps(1);
    stream.shows(1, "127.0.0.1:2", &["FLUSHALL"]);
    let lost = (stream.0.server, stream.0.lost_at.take());
    assert_eq!(lost, (1, Some(1_000_000)), "a past was lost");
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    stream.shows(3, "127.0.0.1:2", &["FLUSHALL"]);
    assert_eq!(stream.0.lost_at.take(), Some(3_000_000));
    stream.renews(4, (HOLDER, "7", "2"), false);
    stream.0.script_ended();
    let seen: Vec<_> = stream
        .0
        .steps
        .iter()
        .map(|step| (step.server, step.before.is_some(), step.answer))
        .collect();
    let granted = (1, false, Answer::Granted { token: 7 });
    assert_eq!(seen, [granted, (2, false, Answer::Superseded)]);
}

#[test]
fn a_record_that_moves_is_known_at_its_new_server() {
    let (mut old, mut new) = (Monitor::new(), Monitor::new());
    let grants = |monitor: &Monitor, second, holder, token| {
        let mut state = lock(&monitor.state);
        state.scripts = known_scripts();
        let mut stream = Stream(std::mem::take(&mut *state));
        if stream.0.past.stamp.is_none() {
            stream.stamps(second - 1);
        }
        stream.grants(second, holder, token, SAYS);
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
    assert_eq!(lock(&old.state).past.longest, 5_000_000);
    assert_eq!((old.stamped_at("one/two"), new.stamped_at("one/two")), (Some(1_000_000), None));
    assert_eq!(old.stamped_at("another"), None);
}

/// It is 3 s fast at 4 s of the machine's time, and 3 s slow at 10 s.
#[test]
fn steps_happen_in_the_time_of_the_machine_whatever_the_servers_clock_shows() {
    let mut stream = Stream::new();
    let seconds = |seconds: u64| seconds * 1_000_000_000;
    let course = |machine, shows| ServerTime(Some(Course::of(seconds(machine), seconds(shows))));
    stream.0.clock = course(4, 7);
    stream.stamps(8);
    stream.grants(8, HOLDER, "7", SAYS);
    stream.0.script_ended();
    stream.0.clock = course(10, 7);
    stream.grants(13, OTHER, "8", SAYS);
    stream.0.script_ended();
    let marked = |step: &Step| step.after.map(|after| after.marked_at / 1_000_000);
    let seen: Vec<_> =
        stream.0.steps.iter().map(|step| (step.at / 1_000_000, marked(step))).collect();
    assert_eq!(seen, [(5, Some(5)), (16, Some(16))]);
}

/// Its last change was not shown.
#[test]
fn a_server_that_was_killed_has_the_record_that_it_has() {
    let mut stream = Stream::new();
    stream.stamps(1);
    stream.grants(2, HOLDER, "7", SAYS);
    stream.0.script_ended();
    let (kept, past) = (stream.0.kept.expect("a record"), stream.0.past.clone());
    stream.0.recovers(Some(Record { marked_at: 2_000_003, ..kept }), past.clone(), 5_000_000);
    assert_eq!((stream.0.steps.len(), stream.0.kept), (1, Some(kept)));
    let renewed = Record { number: 2, marked_at: 4_000_000, ..kept };
    stream.0.recovers(Some(renewed), past, 5_000_000);
    assert_eq!((stream.0.steps.len(), stream.0.kept), (2, Some(renewed)));
    assert_eq!(stream.0.steps[1].at, 4_000_000);
}
