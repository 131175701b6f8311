//! The lines that commands of several hosts have written, and their invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::hosts::{lives, wait_until};

/// The file of the example `alive`.
pub(crate) struct Journal(pub(crate) PathBuf);

/// A line of it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: u64,
    pub(crate) role: String,
    pub(crate) token: u64,
    pub(crate) process: i32,
    pub(crate) what: String,
}

impl Journal {
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let read = |line: &str| {
            let words: Vec<&str> = line.splitn(6, ' ').collect();
            let [at, role, token, process, _, what] = words[..] else { panic!("{line:?}") };
            let (role, what) = (role.to_owned(), what.to_owned());
            Line {
                at: at.parse().unwrap(),
                role,
                token: token.parse().unwrap(),
                process: process.parse().unwrap(),
                what,
            }
        };
        whole.lines().map(read).collect()
    }

    pub(crate) fn begins(&self, role: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.what == "begin" && line.role == role).collect()
    }

    /// Waits for the command of a tenure after that one, and its process.
    pub(crate) fn next_after(&self, token: u64) -> Line {
        let mut found = None;
        wait_until("a command under the next tenure", || {
            found = self.begins("main").into_iter().find(|line| line.token > token);
            found.is_some()
        });
        found.unwrap()
    }

    /// True if a command of a later tenure begins within that time.
    pub(crate) fn is_led_after(&self, token: u64, within: Duration) -> bool {
        let end = Instant::now() + within;
        loop {
            if self.begins("main").iter().any(|line| line.token > token) {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The same for the newest command that lives: there may have been several meanwhile.
    pub(crate) fn leads_after(&self, token: u64) -> Line {
        let mut found = None;
        wait_until("a command that lives under a later tenure", || {
            let newest = self.begins("main").into_iter().max_by_key(|line| line.token);
            found = newest.filter(|line| line.token > token && lives(line.process));
            found.is_some()
        });
        found.unwrap()
    }

    /// Waits until processes of that role and tenure have begun.
    pub(crate) fn begun(&self, role: &str, token: u64) -> Line {
        let mut found = None;
        wait_until("a process of the command", || {
            found = self.begins(role).into_iter().find(|line| line.token == token);
            found.is_some()
        });
        found.unwrap()
    }

    /// Processes of that role that live.
    pub(crate) fn living(&self, role: &str) -> Vec<i32> {
        let all = self.begins(role).into_iter().map(|line| line.process);
        all.filter(|process| lives(*process)).collect()
    }

    /// Processes alive when the command of a later tenure began, or that wrote afterwards: roles,
    /// and how often.
    pub(crate) fn overlaps(&self) -> BTreeMap<String, usize> {
        self.overlaps_without(&BTreeSet::new())
    }

    /// The same, without processes of these tenures.
    pub(crate) fn overlaps_without(&self, excused: &BTreeSet<u64>) -> BTreeMap<String, usize> {
        let lines = self.lines();
        let mut found = BTreeMap::new();
        let is_excused = |process: &str| {
            let begins = |line: &&Line| line.what == "begin" && line.process.to_string() == process;
            lines.iter().find(begins).is_some_and(|line| excused.contains(&line.token))
        };
        for line in &lines {
            if let Some((role, process)) =
                line.what.strip_prefix("beside ").and_then(|beside| beside.split_once(' '))
                && !is_excused(process)
            {
                *found.entry(role.to_owned()).or_default() += 1;
            }
        }
        let mut began: BTreeMap<u64, u64> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.what == "begin" && line.role == "main") {
            began.insert(line.token, line.at);
        }
        for line in lines.iter().filter(|line| !excused.contains(&line.token)) {
            let mut later = began.range(line.token + 1..);
            if later.any(|(_, at)| *at <= line.at) {
                *found.entry(line.role.clone()).or_default() += 1;
            }
        }
        found
    }

    /// Nothing of a command was alive beside the command of a later tenure, and there were so many
    /// tenures.
    pub(crate) fn assert_excluded(&self, tenures: usize) {
        assert_eq!(self.overlaps(), BTreeMap::new());
        let begun = self.begins("main").len();
        assert!(begun >= tenures, "{begun} tenures are too few to say anything");
    }
}

/// The judge finds what it is for.
#[test]
fn overlaps_are_found() {
    let place = super::hosts::Place::new();
    let journal = Journal(place.file("journal"));
    let judge = |text: &str| {
        fs::write(&journal.0, text).unwrap();
        journal.overlaps()
    };
    let of = |role: &str| BTreeMap::from([(role.to_owned(), 1)]);
    assert_eq!(
        judge("1 main 7 10 0 begin\n2 main 7 10 0 alive\n3 main 8 11 0 begin\n"),
        BTreeMap::new()
    );
    assert_eq!(
        judge("1 main 7 10 0 begin\n3 main 8 11 0 begin\n4 forked 7 12 0 alive\n"),
        of("forked")
    );
    assert_eq!(
        judge("1 main 7 10 0 begin\n3 main 8 11 0 beside main 10\n4 main 8 11 0 begin\n"),
        of("main")
    );
    assert_eq!(journal.overlaps_without(&BTreeSet::from([7])), BTreeMap::new());
}
