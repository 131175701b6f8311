//! The loop that compares a store with the contract: random requests and purges, and what a plain
//! client reads before and after them.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant as Now, SystemTime, UNIX_EPOCH};

use tenure::store::{Key, Request, Shown, Store, StoreErrorKind};
use tenure::{Instant, Token};
use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{Mark, Sight, Stamp, Transition};

use super::answer::{contract_reply, shown};
use super::draw::{Draw, Values};
use super::lines::Lines;
use super::{KEYS, kind, seed, steps};

/// The state of a server or file.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) records: BTreeMap<&'static str, Record>,
    pub(crate) past: Option<Past>,
    /// The server's identity, as the contract compares it.
    pub(crate) identity: u128,
}

impl Kept {
    fn last(&self, key: &str) -> Option<Token> {
        let purged = self.past.and_then(|past| past.purged);
        self.records.get(key).map_or(purged, |record| Some(record.token))
    }
}

/// The purges that compare the server with the one that the past names.
#[derive(PartialEq, Eq)]
pub(crate) enum Examines {
    Always,
    WithRecords,
    WithDeletions,
}

/// A store, and its server or file.
pub(crate) trait Subject {
    type Store: Store;
    const PURGE_EXAMINES: Examines;
    /// True for a store without connections.
    const EACH_IS_FIRST: bool = false;
    /// True if acquires about several elections may be sent in one call.
    const ACQUIRES_TOGETHER: bool = false;
    /// True if all answers of one call tell of the past after the last request.
    const TELLS_LAST_PAST: bool = false;
    /// True if requests about one election may be sent in one call: they are carried out at one
    /// time.
    const REPEATS_KEYS: bool = false;
    /// The largest difference between the store's clock and the test's.
    const CLOCK: Duration = Duration::from_secs(60);

    fn store(&self) -> &Self::Store;

    /// True if the store trusts an empty server or file.
    fn trusts(&self) -> bool;

    fn kept(&mut self) -> Kept;

    /// A restart, a loss of data, or a new connection; true if the store is a new one.
    fn disturb(&mut self, draw: &mut Draw, before: &Kept) -> bool;

    /// The request with times as the store keeps them.
    fn rounded(request: tenure_core::Request) -> tenure_core::Request {
        request
    }

    /// True if the store has no room for that record, and refuses a request for it.
    fn refuses(record: Option<Record>) -> bool {
        let _ = record;
        false
    }
}

/// A mark that purges have met.
#[derive(Clone, Copy)]
struct Watch {
    mark: Mark,
    /// The earliest beginning of the store's watch.
    earliest: Now,
    /// The latest one, once the store must have begun to watch.
    latest: Option<Now>,
}

struct Comparison<S> {
    subject: S,
    draw: Draw,
    /// No request over the store's connection has compared the server with the past.
    first: bool,
    stamps: HashSet<Stamp>,
    watches: BTreeMap<&'static str, Watch>,
    lines: Lines,
    counts: BTreeMap<String, u64>,
}

/// Compares each step of random requests with the contract.
pub(crate) async fn compare<S: Subject>(name: &str, subject: S, values: Values) {
    const USUAL: u64 = 600;
    let steps = steps(USUAL);
    let mut comparison = Comparison {
        subject,
        draw: Draw::new(seed(), values),
        first: true,
        stamps: HashSet::new(),
        watches: BTreeMap::new(),
        lines: Lines::new(name),
        counts: BTreeMap::new(),
    };
    comparison.begin().await;
    for _ in 0..steps {
        comparison.turn().await;
    }
    // What never happened was not compared.
    let counts = comparison.counts;
    println!("{name}: {counts:?}");
    let replies = ["Granted", "Not", "At", "Renewed", "Superseded", "Released", "Noted", "Purged"];
    let kept = (S::PURGE_EXAMINES != Examines::WithDeletions).then_some("Kept");
    for what in replies.into_iter().chain(kept).chain(["Stamped", "Together"]) {
        assert!(steps < USUAL || counts.contains_key(what), "no {what}: {counts:?}");
    }
    let others = ["Stamped", "Together"];
    let answers = counts.iter().filter(|(what, _)| !others.contains(&what.as_str()));
    let compared: u64 = answers.map(|(_, count)| *count).sum();
    assert!(steps < USUAL || compared > steps / 2, "{compared} were compared: {counts:?}");
}

fn wall() -> Instant {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Instant::ORIGIN + Duration::from_micros(u64::try_from(wall.as_micros()).unwrap())
}

impl<S: Subject> Comparison<S> {
    /// The first call of a new store: before that, there may be no table.
    async fn begin(&mut self) {
        (self.first, self.watches) = (true, BTreeMap::new());
        let key = Key::new("nobody").unwrap();
        self.subject.store().call(&key, Request::Observe).await.unwrap();
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// One call of random requests, a purge, or a disturbance.
    async fn turn(&mut self) {
        let before = self.subject.kept();
        for record in before.records.values() {
            self.draw.notes(Some(record), before.past.as_ref());
        }
        self.stamps.extend(before.past.map(|past| past.stamp));
        let key = self.draw.of(&KEYS);
        let (record, past) = (before.records.get(key).copied(), before.past);
        let (record, past) = (record.as_ref(), past.as_ref());
        let requests = match self.draw.below(40) {
            0 | 1 => {
                if self.subject.disturb(&mut self.draw, &before) {
                    self.begin().await;
                }
                return;
            }
            2 => return self.purge(&before).await,
            3 => vec![(key, Request::Observe)],
            4..=6 => self.several(&before),
            7..=19 => vec![(key, self.draw.acquire(record, past))],
            20..=23 => vec![(key, self.draw.look(record))],
            24..=30 => vec![(key, self.draw.renew(record, past))],
            _ => vec![(key, self.draw.other(record))],
        };
        self.call(before, requests).await;
    }

    /// Requests of one kind.
    fn several(&mut self, before: &Kept) -> Vec<(&'static str, Request)> {
        self.count("Together");
        let (acquires, past) =
            (S::ACQUIRES_TOGETHER && !self.subject.trusts(), before.past.as_ref());
        let (kind, mut requests) = (self.draw.below(3), vec![]);
        for key in KEYS {
            let key = if S::REPEATS_KEYS { self.draw.of(&KEYS) } else { key };
            let record = before.records.get(key);
            let mut request = match kind {
                0 if acquires => self.draw.acquire(record, past),
                0 | 1 => self.draw.renew(record, past),
                _ => self.draw.look(record),
            };
            if let Request::Renew { stamp, .. } = &mut request
                && S::TELLS_LAST_PAST
                && !requests.is_empty()
            {
                *stamp = None;
            }
            requests.push((key, request));
        }
        requests
    }

    /// Carries out the requests in one call, and compares each with the contract.
    async fn call(&mut self, mut expected: Kept, requests: Vec<(&'static str, Request)>) {
        let keyed = requests.iter().map(|(key, request)| (Key::new(key).unwrap(), request.clone()));
        let began = wall();
        let replies = self.subject.store().call_all(keyed.collect()).await;
        let during = began - S::CLOCK..=wall() + S::CLOCK;
        let after = self.subject.kept();
        for ((key, request), reply) in requests.into_iter().zip(replies) {
            let sight = reply.as_ref().ok().and_then(shown).map(|shown| {
                let Shown { sight, profile } = shown;
                assert!(during.contains(&sight.now), "{sight:?} is not of {during:?}");
                assert_eq!(sight.record.is_some(), profile.is_some());
                *sight
            });
            let record = expected.records.get(key).copied();
            let Some(request) = request.to_contract() else {
                let sight = sight.expect("an answer to an observer");
                let (last, past, now) = (expected.last(key), None, sight.now);
                assert_eq!(sight, Sight { last, record, past, now });
                continue;
            };
            let written = after.records.get(key).map_or(Instant::ORIGIN, |record| record.written);
            let at = self.moment(&after, sight.map_or(written, |sight| sight.now));
            let (mut kept, mut past) = (record, expected.past);
            let line = Transition::apply(&mut kept, &mut past, at, S::rounded(request));
            let reply = match reply {
                Ok(reply) => contract_reply(&reply),
                Err(error) => {
                    let kind = error.kind();
                    assert_eq!(kind, StoreErrorKind::BadRecord, "{error}: {line:?}");
                    assert!(S::refuses(kept), "{error}: {line:?}");
                    continue;
                }
            };
            assert_eq!(reply, line.reply, "{line:?}");
            let written = |record: Option<Record>| record.map(|record| record.written);
            if let Some(now) = written(kept).filter(|now| written(record) != Some(*now)) {
                assert!(during.contains(&now), "{now:?} is not of {during:?}");
            }
            self.stepped(key, &line, &mut expected);
        }
        self.ends(&expected, &after);
    }

    /// The contract's circumstances. A stamp that was there before is not fresh.
    fn moment(&self, after: &Kept, now: Instant) -> Moment {
        let new = after.past.map(|past| past.stamp).filter(|stamp| !self.stamps.contains(stamp));
        // Else one that is not kept afterwards: so no stamp is given twice, not even zero.
        let other = !after.past.map_or(0, |past| past.stamp.to_bits());
        Moment {
            now,
            identity: after.identity,
            fresh: new.unwrap_or(Stamp::from_bits(other)),
            first: self.first || S::EACH_IS_FIRST,
            trust_empty_store: self.subject.trusts(),
        }
    }

    fn stepped(&mut self, key: &'static str, line: &Transition, expected: &mut Kept) {
        self.lines.write(line);
        self.count(kind(line.reply));
        self.first = false;
        let (record, past) = line.after;
        expected.past = past;
        match record {
            Some(record) => drop(expected.records.insert(key, record)),
            None => drop(expected.records.remove(key)),
        }
    }

    /// The steps have left what is kept.
    fn ends(&mut self, expected: &Kept, after: &Kept) {
        assert_eq!((&after.records, after.past), (&expected.records, expected.past));
        if let Some(past) = after.past
            && self.stamps.insert(past.stamp)
        {
            self.count("Stamped");
        }
    }

    /// One purge is a request for each election.
    async fn purge(&mut self, before: &Kept) {
        // Records are a moment old, or older than the shortest TTL.
        let pause = self.draw.of(&[1, 6]);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let began = Now::now();
        let deleted = self.subject.store().purge(Duration::ZERO).await.unwrap();
        let ended = Now::now();
        let after = self.subject.kept();
        let may_delete = before.past.is_some() || self.first || S::EACH_IS_FIRST;
        let (mut expected, mut gone) = (before.clone(), 0);
        let watches = std::mem::take(&mut self.watches);
        for (&key, &record) in &before.records {
            let (mark, demand) = (record.mark(), record.ttl.max(record.quarantine));
            let met = watches.get(key).copied().filter(|watch| watch.mark == mark);
            let watch = met.unwrap_or(Watch { mark, earliest: began, latest: None });
            let is_gone = !after.records.contains_key(key);
            let by_watching = is_gone && !record.released;
            let in_time = ended - watch.earliest >= demand;
            assert!(!by_watching || in_time, "{key} was deleted too soon: {before:?}");
            let is_due = |latest| began.saturating_duration_since(latest) >= demand;
            let must_go = may_delete && (record.released || watch.latest.is_some_and(is_due));
            assert!(is_gone || !must_go, "{key} was kept for too long: {before:?}");
            if is_gone {
                gone += 1;
            } else {
                // Without a past, a purge watches nothing, and never what was released.
                let is_met = after.past.is_some() && !record.released;
                let latest = watch.latest.or(is_met.then_some(ended));
                self.watches.insert(key, Watch { latest, ..watch });
                if S::PURGE_EXAMINES == Examines::WithDeletions {
                    continue;
                }
            }
            let request = tenure_core::Request::Purge { mark, watched: by_watching };
            self.purges(key, request, &after, &mut expected);
        }
        if before.records.is_empty() && S::PURGE_EXAMINES == Examines::Always {
            let look = tenure_core::Request::Look { seen: None, quarantine: Duration::ZERO };
            self.purges(KEYS[0], look, &after, &mut expected);
        }
        assert_eq!(deleted, gone, "{before:?}");
        self.ends(&expected, &after);
    }

    fn purges(
        &mut self,
        key: &'static str,
        request: tenure_core::Request,
        after: &Kept,
        expected: &mut Kept,
    ) {
        let at = self.moment(after, Instant::ORIGIN);
        let (mut kept, mut past) = (expected.records.get(key).copied(), expected.past);
        let line = Transition::apply(&mut kept, &mut past, at, request);
        self.stepped(key, &line, expected);
    }
}
