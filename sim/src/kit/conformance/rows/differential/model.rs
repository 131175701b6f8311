//! The contract's own code, its state, and the comparison of its answers with those of a store.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::store::{HistoryKind, Profile, Reply, Shown, StoreTraits};
use tenure::{Instant, Token};
use tenure_core::contract::{self, FOREVER, Moment, Past, Record};
use tenure_core::{Request, Sight, Stamp, Transition, UnwatchedPast};

use crate::conformance::Mishap;
use crate::conformance::probe::{Found, broken, must, profile_of, without_time};

/// Until the store tells the stamp of a past, it has one of these, which no store makes.
const UNTOLD: u128 = u128::MAX << 32;

#[derive(Clone)]
pub(super) struct Model {
    pub(super) records: [Option<Record>; 3],
    /// One of all elections, or one of each.
    pasts: Vec<Option<Past>>,
    pub(super) at: Moment,
    profiles: [Option<Profile>; 3],
    /// All that the store has told.
    stamps: BTreeSet<u128>,
    /// Every step.
    pub(super) lines: Vec<Transition>,
}

impl Model {
    /// A store without any requests.
    pub(super) fn new(traits: &StoreTraits, trust_empty_store: bool) -> Self {
        let watched = Past {
            identity: 0,
            stamp: Stamp::from_bits(UNTOLD),
            watched: FOREVER,
            longest: Duration::ZERO,
            purged: None,
        };
        let past = (traits.history == HistoryKind::SharesFate).then_some(watched);
        let (now, fresh) = (Instant::ORIGIN, Stamp::from_bits(UNTOLD));
        Self {
            records: [None; 3],
            pasts: vec![past; if traits.past_per_election { 3 } else { 1 }],
            at: Moment { now, identity: 0, fresh, first: true, trust_empty_store },
            profiles: [const { None }; 3],
            stamps: BTreeSet::new(),
            lines: Vec::new(),
        }
    }

    pub(super) fn suffers(&mut self, mishap: Mishap) {
        match mishap {
            Mishap::RecordsLost => self.records = [None; 3],
            Mishap::OtherServer => self.at.identity += 1,
            Mishap::PastLost => self.pasts.fill(None),
            Mishap::AllLost => {
                self.records = [None; 3];
                self.pasts.fill(None);
            }
        }
    }

    fn place(&self, election: usize) -> usize {
        election.min(self.pasts.len() - 1)
    }

    /// A value that has its own past is examined by each request.
    fn is_examined(&self) -> bool {
        self.at.first || self.pasts.len() > 1
    }

    /// The stamp of the election's past, if it was told.
    pub(super) fn stamp(&self, election: usize) -> Option<Stamp> {
        self.pasts[self.place(election)]
            .map(|past| past.stamp)
            .filter(|stamp| stamp.to_bits() < UNTOLD)
    }

    /// All stamps that were told.
    pub(super) fn stamps(&self) -> Vec<Stamp> {
        self.stamps.iter().copied().map(Stamp::from_bits).collect()
    }

    pub(super) fn last(&self, election: usize) -> Option<Token> {
        let purged = || self.pasts[self.place(election)].and_then(|past| past.purged);
        self.records[election].map_or_else(purged, |record| Some(record.token))
    }

    /// Carries out a request that the store has answered, and compares the answers.
    pub(super) fn answers(
        &mut self,
        election: usize,
        request: Request,
        reply: &Reply,
    ) -> Found<()> {
        let before = self.records[election].map(|record| record.token);
        let Some(given) = contracts(reply) else {
            return broken(format!("{reply:?} is no answer to {request:?}"));
        };
        // The clock that makes this token, unless one that the candidate knows is above it.
        self.at.now = match reply {
            Reply::Granted { token } => Instant::ORIGIN + Duration::from_micros(token.get()),
            _ => Instant::ORIGIN,
        };
        self.takes_stamp(election, request, told(reply))?;
        let (place, at) = (self.place(election), Moment { first: self.is_examined(), ..self.at });
        let (record, past) = (&mut self.records[election], &mut self.pasts[place]);
        let line = Transition::apply(record, past, at, request);
        self.at.first = false;
        let due = without_hints(line.reply);
        if without_hints(given) != due {
            return broken(format!("the answer to {request:?} should be {due:?}"));
        }
        self.lines.push(line);
        let record = self.records[election];
        if let Request::Acquire(asks) = request
            && record.map(|record| record.token) != before
        {
            self.profiles[election] = Some(profile_of(asks.holder));
        }
        match reply {
            Reply::Not(shown) | Reply::At(shown) => self.has_profile(election, shown),
            _ => Ok(()),
        }
    }

    /// Takes over the stamp of a past that has begun, or that was not told yet.
    fn takes_stamp(
        &mut self,
        election: usize,
        request: Request,
        told: Option<UnwatchedPast>,
    ) -> Found<()> {
        let place = self.place(election);
        self.at.fresh = Stamp::from_bits(UNTOLD + 1 + self.lines.len() as u128);
        let begins = {
            let (mut record, mut past) = (self.records[election], self.pasts[place]);
            let (fresh, first) = (self.at.fresh, self.is_examined());
            let at = Moment { first, ..self.at };
            contract::apply(&mut record, &mut past, at, request);
            past.is_some_and(|past| past.stamp == fresh)
        };
        let Some(UnwatchedPast { stamp, .. }) = told else { return Ok(()) };
        match &mut self.pasts[place] {
            _ if begins => self.at.fresh = stamp,
            Some(past) if past.stamp.to_bits() >= UNTOLD => past.stamp = stamp,
            Some(_) | None => return Ok(()),
        }
        let is_new = self.stamps.insert(stamp.to_bits());
        must(is_new, || format!("a past has begun, and its stamp was there before: {stamp:?}"))
    }

    /// Compares what an observer is told.
    pub(super) fn shows(&mut self, election: usize, reply: &Reply) -> Found<()> {
        let Reply::At(shown) = reply else {
            return broken(format!("{reply:?} is no answer to an observer"));
        };
        let Sight { last, record, .. } = without_times(shown.sight);
        let due = (self.last(election), self.records[election].map(without_time));
        must((last, record) == due, || format!("an observer should be told {due:?}"))?;
        self.has_profile(election, shown)
    }

    fn has_profile(&self, election: usize, shown: &Shown) -> Found<()> {
        let leads = self.records[election].is_some_and(|record| !record.released);
        let due = self.profiles[election].as_ref();
        must(!leads || shown.profile.as_ref() == due, || format!("the leader should be {due:?}"))
    }

    /// Deletes the records of leases that were given back, and returns their number.
    pub(super) fn purges(&mut self) -> u64 {
        let mut deleted = 0;
        self.at.now = Instant::ORIGIN;
        for election in 0..self.records.len() {
            let place = self.place(election);
            let (record, past) = (&mut self.records[election], &mut self.pasts[place]);
            let Some(mark) = record.filter(|record| record.released).map(|record| record.mark())
            else {
                continue;
            };
            let purge = Request::Purge { mark, watched: false };
            let line = Transition::apply(record, past, self.at, purge);
            deleted += u64::from(line.reply == tenure_core::Reply::Purged);
            self.lines.push(line);
        }
        deleted
    }
}

/// The past that an answer tells.
fn told(reply: &Reply) -> Option<UnwatchedPast> {
    match reply {
        Reply::Not(shown) | Reply::At(shown) => shown.sight.past,
        Reply::Renewed { past, .. } => *past,
        _ => None,
    }
}

fn contracts(reply: &Reply) -> Option<tenure_core::Reply> {
    match reply {
        Reply::Noted => Some(tenure_core::Reply::Noted),
        Reply::NotNoted => Some(tenure_core::Reply::NotNoted),
        reply => reply.to_contract(),
    }
}

/// Without the times that are hints.
fn without_hints(reply: tenure_core::Reply) -> tenure_core::Reply {
    use tenure_core::Reply::{At, Not};
    match reply {
        Not(sight) => Not(without_times(sight)),
        At(sight) => At(without_times(sight)),
        other => other,
    }
}

fn without_times(sight: Sight) -> Sight {
    Sight { now: Instant::ORIGIN, record: sight.record.map(without_time), ..sight }
}
