//! The steps of a real store: each request that its server has carried out, as the server itself
//! recorded them.
//!
//! Candidates can't tell these: the reply to a request that was carried out may be lost. So the
//! steps come from the server.

pub(super) mod etcd;
pub(super) mod kubernetes;
pub(super) mod mariadb;
pub(super) mod postgres;
pub(super) mod redis;
pub(super) mod sqlite;
pub(super) mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_servers::Course;

use super::clock::WallClock;
use crate::plan::clock::true_time;
use crate::trace::{Answer, Asked, Entry, Event, Kept, Mark, StoreStep};

/// An election's record, as far as answers depend on it. Durations are microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) token: u64,
    pub(super) holder: u128,
    pub(super) number: u64,
    pub(super) ttl: u64,
    pub(super) quarantine: u64,
    pub(super) released: bool,
    /// The digest of the name for which it is kept that was handed back; zero if for none.
    pub(super) reserved_for: u128,
    /// The time of its mark, by the machine's wall clock in microseconds.
    pub(super) marked_at: u64,
    /// The end of its lease by the server, if the server ends leases.
    pub(super) ends_at: Option<u64>,
}

impl Record {
    pub(super) fn mark(&self) -> Mark {
        Mark { holder: self.holder, number: self.number }
    }

    /// True if it is the lease of that tenure, and was not handed back.
    pub(super) fn is_held(&self, holder: u128, token: u64) -> bool {
        !self.released && self.holder == holder && self.token == token
    }

    /// The request that has changed a record, and its answer; `None` if it has changed nothing of a
    /// lease. What it said besides is not shown: the least that it must have said for that answer
    /// counts.
    pub(super) fn changed(
        before: Option<Self>,
        after: Self,
        past: &Past,
    ) -> Option<(Asked, Answer)> {
        let token = after.token;
        let Some(before) = before.filter(|before| before.token == token) else {
            let seen = before.map_or(0, |before| before.token);
            let watched = before.filter(|before| !before.released).map(|before| before.mark());
            return Some((Asked::Acquire { seen, watched }, Answer::Granted { token }));
        };
        if after.released != before.released {
            return Some((Asked::Release { token }, Answer::Released));
        }
        // A grant that is repeated looks like a renewal.
        let past_is_watched = past.is_watched(after.quarantine);
        let is_renewed = after.mark() != before.mark();
        is_renewed.then_some((Asked::Renew { token }, Answer::Renewed { past_is_watched }))
    }

    fn kept(self, wall: WallClock, drift_ppm: u32) -> Kept {
        let Self { token, ttl, released, marked_at, ends_at, .. } = self;
        let watched = true_time(Duration::from_micros(ttl), drift_ppm.into());
        let taken_at = wall.true_time(marked_at) + watched;
        let lease_ends = ends_at.map_or(taken_at, |ends| wall.true_time(ends));
        Kept { token, mark: self.mark(), lease_ends, released }
    }
}

/// A store's knowledge of its own past, as far as answers depend on it. Durations are microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// The server that it is about, as the store names it.
    pub(super) identity: Option<String>,
    pub(super) stamp: Option<String>,
    /// The time of its stamp, by the machine's wall clock in microseconds.
    pub(super) stamped_at: u64,
    pub(super) watched: u64,
    pub(super) longest: u64,
}

impl Past {
    /// True if a candidate of that quarantine is told of no past to watch.
    pub(super) fn is_watched(&self, quarantine: u64) -> bool {
        self.stamp.is_none() || self.watched >= quarantine.max(self.longest)
    }

    /// The store has that past from then on. Returns the event for a store that does not show the
    /// request which has led to a new stamp.
    pub(super) fn becomes(&mut self, at: u64, mut after: Self, server: u32) -> Option<Stamped> {
        after.stamped_at = self.stamped_at;
        let is_new = after.stamp.is_some() && after.stamp != self.stamp;
        let knew_more = self.stamp.is_some() && after.identity == self.identity;
        if is_new {
            after.stamped_at = at;
        }
        *self = after;
        is_new.then_some(Stamped { at, server, knew_more })
    }
}

/// A store has stamped its past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    /// The time, by the machine's wall clock in microseconds.
    pub(super) at: u64,
    pub(super) server: u32,
    /// True if a candidate knew of a later tenure: the server is the one that it was.
    pub(super) knew_more: bool,
}

impl Stamped {
    pub(super) fn traced(self, wall: WallClock) -> Entry {
        let Self { at, server, knew_more } = self;
        Entry { at: wall.true_time(at), event: Event::Elsewhere { server, knew_more } }
    }
}

/// The clock of a store's server: that of the machine, or one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerTime(pub(super) Option<Course>);

impl ServerTime {
    /// The machine's wall clock when the server's shows that, both in microseconds.
    pub(super) fn machine(self, reading: u64) -> u64 {
        self.0.map_or(reading, |course| course.machine_at(reading.saturating_mul(1_000)) / 1_000)
    }
}

/// A request that the store has carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its time, by the machine's wall clock in microseconds.
    pub(super) at: u64,
    /// Zero for a request without one.
    pub(super) holder: u128,
    pub(super) request: Asked,
    pub(super) answer: Answer,
    pub(super) before: Option<Record>,
    pub(super) after: Option<Record>,
    /// The number of the server.
    pub(super) server: u32,
}

/// A busy machine's longest delay of a past, in microseconds.
const SHOWN_WITHIN: u64 = 500_000;

/// The candidates' view of the store's steps: it completes those that the store shows in part.
/// Times are microseconds of the wall clock.
#[derive(Debug, Default)]
pub(super) struct Answers {
    granted: BTreeMap<u64, Grant>,
    /// The time of each renewal's answer, by its token and sending time.
    renewed: BTreeMap<(u64, u64), u64>,
    releases: BTreeMap<u64, Release>,
    /// The times of replies with a past that is not watched.
    told: BTreeSet<u64>,
}

/// The first answer that a token was granted.
#[derive(Clone, Copy, Debug)]
struct Grant {
    at: u64,
    sent_at: u64,
    request: Asked,
}

/// The first request to hand a token back, and the time of the answer that it was.
#[derive(Clone, Copy, Debug)]
struct Release {
    sent_at: u64,
    answered_at: Option<u64>,
}

impl Answers {
    pub(super) fn of(entries: &[Entry], wall: WallClock) -> Self {
        let mut answers = Self::default();
        let mut sent = BTreeMap::new();
        for Entry { at, event } in entries {
            let at = wall.reading_at(*at);
            match *event {
                Event::Sent { who, id, request } => {
                    sent.insert((who, id), (at, request));
                    if let Asked::Release { token } = request {
                        answers.asked_to_release(token, at);
                    }
                }
                Event::Answered { who, id, answer: Some(answer) } => {
                    if answer.past_is_watched() == Some(false) {
                        answers.told.insert(at);
                    }
                    match (answer, sent.remove(&(who, id))) {
                        (Answer::Granted { token }, Some((sent_at, request))) => {
                            answers.was_granted(token, Grant { at, sent_at, request });
                            // One that is repeated looks like a renewal.
                            answers.renewed.insert((token, sent_at), at);
                        }
                        (Answer::Renewed { .. }, Some((sent_at, Asked::Renew { token }))) => {
                            answers.renewed.insert((token, sent_at), at);
                        }
                        (Answer::Released, Some((_, Asked::Release { token }))) => {
                            answers.was_released(token, at);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        answers
    }

    fn was_granted(&mut self, token: u64, grant: Grant) {
        self.granted.entry(token).or_insert(grant);
    }

    fn asked_to_release(&mut self, token: u64, at: u64) {
        self.releases.entry(token).or_insert(Release { sent_at: at, answered_at: None });
    }

    fn was_released(&mut self, token: u64, at: u64) {
        if let Some(release) = self.releases.get_mut(&token) {
            release.answered_at.get_or_insert(at);
        }
    }

    fn granted(&self, token: u64) -> Option<u64> {
        self.granted.get(&token).map(|grant| grant.at)
    }

    /// The time of the answer to the renewal that wrote the mark then.
    fn renewed(&self, token: u64, written: u64) -> Option<u64> {
        let (_, answered) = self.renewed.range((token, 0)..=(token, written)).next_back()?;
        Some(*answered).filter(|answered| *answered >= written)
    }

    /// Moves a stamping back to the reply with that past, if that came a moment before it was
    /// shown.
    pub(super) fn told(&self, mut stamped: Vec<Stamped>) -> Vec<Stamped> {
        for Stamped { at, .. } in &mut stamped {
            let before = self.told.range(at.saturating_sub(SHOWN_WITHIN)..*at).next();
            *at = before.copied().unwrap_or(*at);
        }
        stamped
    }

    /// The time of the first request for its release.
    fn asked_for(&self, token: u64) -> Option<u64> {
        self.releases.get(&token).map(|release| release.sent_at)
    }

    fn released(&self, token: u64) -> Option<u64> {
        self.releases.get(&token)?.answered_at
    }

    /// Completes the step of a grant by the request of the candidate that was told of it. A request
    /// that was sent later was granted the same again.
    pub(super) fn complete(&self, step: &mut Step) {
        if let (Asked::Acquire { .. }, Answer::Granted { token }) = (step.request, step.answer)
            && let Some(grant) = self.granted.get(&token)
            && grant.sent_at <= step.at
        {
            step.request = grant.request;
        }
    }
}

/// All steps of a run.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// The stampings of stores that do not show the requests which have led to them.
    pub(super) stamped: Vec<Stamped>,
    /// True if some are missing.
    pub(super) has_gaps: bool,
}

impl Step {
    /// The event of a trace, and its time. A candidate's clock is fast by that much at most.
    pub(super) fn traced(self, wall: WallClock, drift_ppm: u32) -> Entry {
        let Self { at, holder, request, answer, before, after, server } = self;
        let kept = |record: Option<Record>| record.map(|record| record.kept(wall, drift_ppm));
        let (before, after) = (kept(before), kept(after));
        let step = StoreStep { server, holder, request, answer, before, after };
        Entry { at: wall.true_time(at), event: Event::Store(step) }
    }
}
