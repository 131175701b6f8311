//! The lines that commands of several hosts have written, and their invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::hosts::{lives, wait_until};

/// The file of the example `alive`. Each line is read once, so that a thousand tenures take a
/// thousand times as long as one.
pub(crate) struct Journal {
    pub(crate) file: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    bytes: u64,
    lines: Vec<Line>,
}

/// A line of it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: u64,
    pub(crate) role: String,
    pub(crate) token: u64,
    pub(crate) process: i32,
    what: String,
}

impl Line {
    fn read(line: &str) -> Self {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let [at, role, token, process, _, what] = words[..] else { panic!("{line:?}") };
        let (role, what) = (role.to_owned(), what.to_owned());
        Self {
            at: at.parse().unwrap(),
            role,
            token: token.parse().unwrap(),
            process: process.parse().unwrap(),
            what,
        }
    }

    fn begins(&self, role: &str) -> bool {
        self.what == "begin" && self.role == role
    }
}

impl Journal {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, known: Mutex::default() }
    }

    fn read(&self) -> MutexGuard<'_, Known> {
        let mut known = self.known.lock().unwrap();
        let mut text = String::new();
        if let Ok(mut file) = File::open(&self.file) {
            file.seek(SeekFrom::Start(known.bytes)).unwrap();
            file.read_to_string(&mut text).unwrap();
        }
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        known.bytes += u64::try_from(whole.len()).unwrap();
        known.lines.extend(whole.lines().map(Line::read));
        known
    }

    /// The first begin of such a process.
    fn first(&self, role: &str, is_it: impl Fn(&Line) -> bool) -> Option<Line> {
        let known = self.read();
        known.lines.iter().find(|line| line.begins(role) && is_it(line)).cloned()
    }

    pub(crate) fn begins(&self, role: &str) -> Vec<Line> {
        self.read().lines.iter().filter(|line| line.begins(role)).cloned().collect()
    }

    /// Processes beside the command itself, of that tenure, that live.
    pub(crate) fn descendants(&self, token: u64) -> Vec<i32> {
        let known = self.read();
        let of = |line: &&Line| line.what == "begin" && line.token == token && line.role != "main";
        let of = known.lines.iter().filter(of).map(|line| line.process);
        of.filter(|process| lives(*process)).collect()
    }

    /// Waits for the command of a tenure after that one, and its process.
    pub(crate) fn next_after(&self, token: u64) -> Line {
        let mut found = None;
        wait_until("a command under the next tenure", || {
            found = self.first("main", |line| line.token > token);
            found.is_some()
        });
        found.unwrap()
    }

    /// True if a command of a later tenure begins within that time.
    pub(crate) fn is_led_after(&self, token: u64, within: Duration) -> bool {
        let end = Instant::now() + within;
        loop {
            if self.first("main", |line| line.token > token).is_some() {
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
            let known = self.read();
            let begins = known.lines.iter().filter(|line| line.begins("main"));
            let newest = begins.max_by_key(|line| line.token);
            found = newest.filter(|line| line.token > token && lives(line.process)).cloned();
            found.is_some()
        });
        found.unwrap()
    }

    /// Waits until processes of that role and tenure have begun.
    pub(crate) fn begun(&self, role: &str, token: u64) -> Line {
        let mut found = None;
        wait_until("a process of the command", || {
            found = self.first(role, |line| line.token == token);
            found.is_some()
        });
        found.unwrap()
    }

    /// Processes of that role that live.
    pub(crate) fn living(&self, role: &str) -> Vec<i32> {
        let all = self.begins(role).into_iter().map(|line| line.process);
        all.filter(|process| lives(*process)).collect()
    }

    /// Processes alive when the command of a later tenure began, or that went on afterwards: roles,
    /// and how often.
    pub(crate) fn overlaps(&self) -> BTreeMap<String, usize> {
        self.overlaps_without(&BTreeSet::new())
    }

    /// The same, without processes of these tenures.
    pub(crate) fn overlaps_without(&self, excused: &BTreeSet<u64>) -> BTreeMap<String, usize> {
        let known = self.read();
        let lines = &known.lines;
        let begins = || lines.iter().filter(|line| line.what == "begin");
        let mut found = BTreeMap::new();
        // Numbers of processes are used again.
        let is_excused = |process: &str, before: &[Line]| {
            let mut begins = before.iter().rev().filter(|line| line.what == "begin");
            let begin = begins.find(|line| line.process.to_string() == process);
            begin.is_some_and(|line| excused.contains(&line.token))
        };
        for (index, line) in lines.iter().enumerate() {
            if let Some((role, process)) =
                line.what.strip_prefix("beside ").and_then(|beside| beside.split_once(' '))
                && !is_excused(process, &lines[..index])
            {
                *found.entry(role.to_owned()).or_default() += 1;
            }
        }
        let mut began: BTreeMap<u64, u64> = BTreeMap::new();
        for line in begins().filter(|line| line.role == "main") {
            began.insert(line.token, line.at);
        }
        let mut last = self.lives();
        for line in begins() {
            let at = last.entry((line.token, line.role.clone(), line.process)).or_default();
            *at = line.at.max(*at);
        }
        for ((token, role, _), at) in last {
            let mut later = began.range(token + 1..);
            if !excused.contains(&token) && later.any(|(_, began)| *began <= at) {
                *found.entry(role).or_default() += 1;
            }
        }
        found
    }

    /// The last sign of life of each process, by its tenure, role and number.
    fn lives(&self) -> BTreeMap<(u64, String, i32), u64> {
        let folder = format!("{}.lives", self.file.display());
        let mut found = BTreeMap::new();
        for life in fs::read_dir(folder).into_iter().flatten() {
            let life = life.unwrap();
            let name = life.file_name().into_string().unwrap();
            let words: Vec<&str> = name.split('-').collect();
            let [role, token, process, _] = words[..] else { panic!("{name:?}") };
            // Empty before its first sign.
            let at = fs::read_to_string(life.path()).unwrap().parse().unwrap_or(0);
            let of = (token.parse().unwrap(), role.to_owned(), process.parse().unwrap());
            found.insert(of, at);
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

/// The judge finds what it is for, however the journal was read before.
#[test]
fn overlaps_are_found() {
    let place = super::hosts::Place::new();
    let judge = |name: &str, parts: &[&str], lives: &[(&str, u64)]| {
        let journal = Journal::new(place.file(name));
        let folder = place.file(&format!("{name}.lives"));
        fs::create_dir(&folder).unwrap();
        for (of, at) in lives {
            fs::write(folder.join(of), format!("{at:020}")).unwrap();
        }
        let mut text = String::new();
        for part in parts {
            text.push_str(part);
            fs::write(&journal.file, &text).unwrap();
            journal.overlaps();
        }
        journal
    };
    let of = |role: &str| BTreeMap::from([(role.to_owned(), 1)]);
    let begins = ["1 main 7 10 0 begin\n", "3 main 8 11 0 be", "gin\n"];
    let journal = judge("one after the other", &begins, &[("main-7-10-0", 2)]);
    assert_eq!((journal.overlaps(), journal.begins("main").len()), (BTreeMap::new(), 2));
    let journal = judge("one goes on", &begins, &[("forked-7-12-0", 4)]);
    assert_eq!(journal.overlaps(), of("forked"));
    let beside = ["1 main 7 10 0 begin\n", "3 main 8 11 0 beside main 10\n4 main 8 11 0 begin\n"];
    let journal = judge("one was seen", &beside, &[]);
    assert_eq!(journal.overlaps(), of("main"));
    assert_eq!(journal.overlaps_without(&BTreeSet::from([7])), BTreeMap::new());
}
