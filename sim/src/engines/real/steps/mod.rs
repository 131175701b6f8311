//! The steps of a real store: each request that its server has carried out, as the server itself recorded them.
//!
//! Candidates can't tell these: the reply to a request that was carried out may be lost. So the steps come from the
//! server, with the readings of its clock.

pub(super) mod etcd;
pub(super) mod postgres;
pub(super) mod redis;
pub(super) mod sqlite;

use std::collections::BTreeMap;

use tenure_servers::Course;

use super::clock::WallClock;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Entry, Event, Kept, StoreStep};

/// An election's record and the prefix's history, as far as answers depend on them. All times are microseconds of the
/// server's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) token: u64,
    pub(super) holder: u128,
    pub(super) lease_end: u64,
    pub(super) ttl: u64,
    pub(super) quarantine: u64,
    pub(super) released: bool,
}

impl Record {
    pub(super) fn is_live(&self, now: u64) -> bool {
        !self.released && now < self.lease_end
    }

    /// The request that has changed a record, the reading of the clock by which it was judged, and its answer: the change
    /// was seen at that time.
    pub(super) fn changed(
        before: Option<Self>,
        after: Self,
        history: History,
        at: u64,
    ) -> Option<(u64, Asked, Answer)> {
        let token = after.token;
        // A lease lasts a TTL from the reading of the clock on, unless its end had to stay where it was.
        let read = after.lease_end.saturating_sub(after.ttl);
        let Some(before) = before.filter(|before| before.token == token) else {
            let waits = history.waits(after.quarantine, read);
            let seen = before.map_or(0, |before| before.token);
            return Some((read, Asked::Acquire { seen }, Answer::Granted { token, waits }));
        };
        if after.released && !before.released {
            return Some((at, Asked::Release { token }, Answer::Released));
        }
        let is_renewed = !after.released && !before.released;
        let now = if after.lease_end > before.lease_end { read } else { at };
        is_renewed.then_some((now, Asked::Renew { token }, Answer::Renewed))
    }

    fn kept(self, clock: ServerTime, wall: WallClock) -> Kept {
        Kept {
            token: self.token,
            holder: self.holder,
            lease_end: self.lease_end.saturating_mul(1_000),
            lease_ends: wall.true_time(clock.machine(self.lease_end)),
            released: self.released,
        }
    }
}

/// Since when the server knows what it has granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) known_since: u64,
    pub(super) longest_ttl: u64,
}

impl History {
    /// Whether a grant at that time comes with a quarantine.
    pub(super) fn waits(self, quarantine: u64, now: u64) -> bool {
        self.known_since.saturating_add(quarantine.max(self.longest_ttl)) > now
    }
}

/// The clock of a store's server: that of the machine, or one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerTime(pub(super) Option<Course>);

impl ServerTime {
    /// What the machine's wall clock shows when the server's shows that, both in microseconds.
    pub(super) fn machine(self, reading: u64) -> u64 {
        self.0.map_or(reading, |course| course.machine_at(reading.saturating_mul(1_000)) / 1_000)
    }
}

/// A request that the store has carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// When it was carried out, by the machine's wall clock in microseconds: when the clock was read for it, unless an earlier step
    /// was carried out later.
    pub(super) at: u64,
    /// The reading of the clock by which it was judged.
    pub(super) now: u64,
    pub(super) holder: u128,
    pub(super) request: Asked,
    pub(super) answer: Answer,
    pub(super) before: Option<Record>,
    pub(super) after: Option<Record>,
    /// The number of the server.
    pub(super) server: u32,
    /// The clock that it has.
    pub(super) clock: ServerTime,
}

/// What candidates know of the store's steps: it bounds the times of those that the store shows without one. Times are
/// microseconds of the wall clock.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The time of the first answer that a token was granted, and whether its holder had to wait.
    granted: BTreeMap<u64, (u64, bool)>,
    /// The time of the answer that it was handed back, once a candidate has asked for that.
    releases: BTreeMap<u64, Option<u64>>,
}

impl Answers {
    pub(super) fn of(entries: &[Entry], wall: WallClock) -> Self {
        let mut answers = Self::default();
        let mut releases = BTreeMap::new();
        for Entry { at, event } in entries {
            let at = wall.reading_at(*at);
            match *event {
                Event::Sent { who, id, request: Asked::Release { token } } => {
                    releases.insert((who, id), token);
                    answers.asked_to_release(token);
                }
                Event::Answered { answer: Some(Answer::Granted { token, waits }), .. } => {
                    answers.was_granted(token, at, waits);
                }
                Event::Answered { who, id, answer: Some(Answer::Released) } => {
                    if let Some(token) = releases.get(&(who, id)) {
                        answers.releases.insert(*token, Some(at));
                    }
                }
                _ => {}
            }
        }
        answers
    }

    fn was_granted(&mut self, token: u64, at: u64, waits: bool) {
        self.granted.entry(token).or_insert((at, waits));
    }

    fn asked_to_release(&mut self, token: u64) {
        self.releases.entry(token).or_default();
    }

    fn granted(&self, token: u64) -> Option<u64> {
        self.granted.get(&token).map(|(at, _)| *at)
    }

    fn waits(&self, token: u64) -> Option<bool> {
        self.granted.get(&token).map(|(_, waits)| *waits)
    }

    /// Whether a candidate has asked for its release.
    fn was_asked_for(&self, token: u64) -> bool {
        self.releases.contains_key(&token)
    }

    fn released(&self, token: u64) -> Option<u64> {
        self.releases.get(&token).copied().flatten()
    }
}

/// All steps of a run.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// Whether some are missing.
    pub(super) has_gaps: bool,
}

impl Step {
    /// The event of a trace, and its time.
    pub(super) fn traced(self, wall: WallClock) -> (SimTime, StoreStep) {
        let Self { at, now, holder, request, answer, before, after, server, clock } = self;
        let kept = |record: Option<Record>| record.map(|record| record.kept(clock, wall));
        let now = now.saturating_mul(1_000);
        let (before, after) = (kept(before), kept(after));
        (wall.true_time(at), StoreStep { server, now, holder, request, answer, before, after })
    }
}
