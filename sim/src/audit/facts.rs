//! The facts of all files.

use std::fmt;

use rustc_hash::FxHashMap;

/// A position in [`Facts::files`], and so on.
pub(super) type Index = usize;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Index,
    pub(super) line: u64,
}

/// A reading of a file's clock, and the line that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) reading: u64,
    pub(super) place: Place,
}

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) clock: Index,
    /// True if it begins with the header. If not, earlier lines may be in another file or lost.
    pub(super) has_header: bool,
    /// Lines that the process could not write.
    pub(super) lost: u64,
}

impl File {
    /// True if lines of its process may be missing, at its beginning or in it.
    pub(super) fn lacks_lines(&self) -> bool {
        !self.has_header || self.lost > 0
    }
}

/// A clock that the files of one boot share.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The largest drift bound of its candidates. Without a header and clock lines it is not known:
    /// then the largest that a log may state is assumed.
    pub(super) drift_ppm: Option<u32>,
    /// Its comparisons with the wall clock.
    pub(super) anchors: Vec<Anchor>,
}

/// The wall clock showed `wall` between the readings `at` and `at + within`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    pub(super) at: Moment,
    pub(super) within: u64,
    pub(super) wall: u64,
}

/// A candidate of a file.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) file: Index,
    pub(super) name: Box<str>,
}

/// One grant of the lead, as far as the lines of one file show it for certain.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    pub(super) key: Index,
    pub(super) token: u64,
    pub(super) candidate: Index,
    /// True if the line of its election is there. If not, it may be the rest of a tenure of another
    /// file.
    pub(super) is_elected: bool,
    /// The line that proves its claim first.
    pub(super) begins: Moment,
    /// The line that proves its claim last.
    pub(super) proven: Moment,
    /// The reading at which the claim ends unless it is renewed.
    pub(super) until: u64,
    pub(super) stepped_down: Option<Moment>,
}

impl Tenure {
    /// Up to when the claim stood for certain: to its step-down or its end by time, if the
    /// step-down was written. A process that wrote none may have been killed at any moment after
    /// its last line.
    pub(super) fn ends(&self) -> Moment {
        let Some(end) = self.stepped_down else { return self.proven };
        let reading = end.reading.min(self.until).max(self.begins.reading);
        Moment { reading, ..end }
    }

    /// Up to when it may have stood.
    pub(super) fn may_end(&self) -> u64 {
        match self.stepped_down {
            Some(_) => self.ends().reading,
            None => self.until.max(self.proven.reading),
        }
    }
}

/// The accepted writes of one tenure to one resource: only the last beginning and the first end can
/// contradict an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    pub(super) last_began: Moment,
    pub(super) first_ended: Moment,
    pub(super) candidate: Index,
}

/// A group of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WritesOf {
    pub(super) key: Index,
    pub(super) resource: Index,
    pub(super) token: u64,
    pub(super) clock: Index,
}

/// All files.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) files: Vec<File>,
    pub(super) clocks: Vec<Clock>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) tenures: Vec<Tenure>,
    pub(super) writes: FxHashMap<WritesOf, Writes>,
    pub(super) keys: Names,
    pub(super) resources: Names,
    boots: FxHashMap<Box<str>, Index>,
}

impl Facts {
    /// The clock of that boot; a new one for a file whose boot is not known.
    pub(super) fn clock_of(&mut self, boot: Option<&str>) -> Index {
        let new = self.clocks.len();
        let clock = match boot {
            Some(boot) => *self.boots.entry(boot.into()).or_insert(new),
            None => new,
        };
        if clock == new {
            self.clocks.push(Clock::default());
        }
        clock
    }

    pub(super) fn clock_at(&self, moment: Moment) -> Index {
        self.files[moment.place.file].clock
    }

    /// Adds an accepted write, or several.
    pub(super) fn wrote(&mut self, of: WritesOf, writes: Writes) {
        let all = self.writes.entry(of).or_insert(writes);
        if writes.last_began.reading > all.last_began.reading {
            all.last_began = writes.last_began;
        }
        if writes.first_ended.reading < all.first_ended.reading {
            all.first_ended = writes.first_ended;
        }
    }

    /// A line, as it is printed.
    pub(super) fn shown(&self, place: Place) -> String {
        format!("{}:{}", self.files[place.file].name, place.line)
    }
}

/// Texts that are stored once.
#[derive(Default)]
pub(super) struct Names {
    texts: Vec<Box<str>>,
    indices: FxHashMap<Box<str>, Index>,
}

impl Names {
    pub(super) fn index(&mut self, text: &str) -> Index {
        if let Some(known) = self.indices.get(text) {
            return *known;
        }
        let new = self.texts.len();
        self.texts.push(text.into());
        self.indices.insert(text.into(), new);
        new
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text(&self, index: Index) -> &str {
        &self.texts[index]
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}
