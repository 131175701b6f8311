//! A server, a store that is asked at random, and what else happens to the server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant as Now};

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{self, Key, Profile, Store};
use tenure::{HolderId, Token};
use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{
    Acquire, Asked, Instant, Loss, Mark, NameId, Reply, Request, RequestId, Reservation, Sight,
    Stamp, Transition, WatchedStamp, Wish,
};
use tenure_servers::{PostgresServer, PostgresSession};

use super::draw::Draw;
use super::state::State;
use crate::replay::KEYS;
use crate::replay::answer::contract_reply;
use crate::replay::lines::Lines;

const MICROS: [u64; 4] = [1_000, 2_000, 3_000, 5_000];

pub(crate) struct World {
    draw: Draw,
    server: PostgresServer,
    session: PostgresSession,
    store: Postgres,
    trusts: bool,
    /// No request has examined the past over the store's connection yet.
    first: bool,
    stamps: BTreeSet<u128>,
    /// Marks and stamps of old.
    marks: Vec<Mark>,
    tokens: Vec<Token>,
    /// The marks met by this store's purges, and when.
    watches: BTreeMap<String, (Mark, Now, Now)>,
    lines: Lines,
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

fn store(server: &PostgresServer, trusts: bool) -> Postgres {
    let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
    Postgres::new(config.accept_fsync_off(true).trust_empty_store(trusts))
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let server = PostgresServer::start_with(&["fsync=off"]).expect("a server");
        let session = server.session().expect("a session");
        Self {
            draw: Draw::new(seed),
            store: store(&server, false),
            server,
            session,
            trusts: false,
            first: true,
            stamps: BTreeSet::new(),
            marks: Vec::new(),
            tokens: Vec::new(),
            watches: BTreeMap::new(),
            lines: Lines::new("postgres"),
            counts: BTreeMap::new(),
        }
    }

    pub(crate) async fn step(&mut self) {
        self.disturb();
        self.create().await;
        let before = State::read(&mut self.session);
        for record in before.records.values() {
            self.marks.push(record.mark());
            self.tokens.push(record.token);
        }
        let old = self.marks.len().saturating_sub(64);
        self.marks.drain(..old);
        self.tokens.drain(..old);
        match self.draw.below(20) {
            0 => self.purge(&before).await,
            1 => self.observe(&before).await,
            2 | 3 => self.together(&before).await,
            _ => self.one(&before).await,
        }
    }

    /// The table is made by the first connection.
    async fn create(&mut self) {
        let key = Key::new("nobody").expect("a key");
        let seen = self.store.call(&key, store::Request::Observe).await;
        seen.expect("an answer, and a table from now on");
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// A change from outside.
    fn disturb(&mut self) {
        let sql = match self.draw.below(400) {
            0 => {
                self.server.restart().expect("restarted");
                self.session = self.server.session().expect("a session");
                self.reconnect();
                return self.count("restarted");
            }
            1 => {
                self.session.sql("SET client_min_messages = error").expect("set");
                self.session.sql("DROP SCHEMA IF EXISTS tenure CASCADE").expect("dropped");
                self.reconnect();
                return self.count("dropped");
            }
            2..20 => return self.reconnect(),
            20..24 => "TRUNCATE tenure.leases",
            24..28 => "DELETE FROM tenure.leases",
            28..32 => "DELETE FROM tenure.leases_past",
            32..36 => "UPDATE tenure.leases_past SET identity = NULL",
            36..42 => "UPDATE tenure.leases SET token = token - 7 WHERE token > 7",
            _ => return,
        };
        // Before the first connection, there is no table yet.
        if !self.session.sql("SELECT to_regclass('tenure.leases')").expect("read").is_empty() {
            self.session.sql(sql).expect("done");
            self.count("disturbed");
        }
    }

    fn reconnect(&mut self) {
        self.trusts = self.draw.once_in(3);
        self.store = store(&self.server, self.trusts);
        self.first = true;
        self.watches.clear();
    }

    async fn one(&mut self, before: &State) {
        let key = self.draw.of(&KEYS);
        let request = self.request(key, before);
        let asked = of_store(request);
        let reply = self.store.call(&Key::new(key).expect("a key"), asked).await;
        self.compare(before, &[(key, request)], &[reply.expect("an answer")]);
    }

    /// Renewals or looks of several elections in one call.
    async fn together(&mut self, before: &State) {
        let looks = self.draw.once_in(2);
        let mut requests = Vec::new();
        for key in KEYS {
            let request = if looks {
                Request::Look { seen: None, quarantine: self.duration() }
            } else {
                match self.renew(key, before) {
                    // The answers to all of them are of after what all of them tell of the past.
                    Request::Renew { holder, token, number, stamp } => {
                        let stamp = stamp.filter(|_| requests.is_empty());
                        Request::Renew { holder, token, number, stamp }
                    }
                    other => other,
                }
            };
            requests.push((key, request));
        }
        let asked = requests
            .iter()
            .map(|&(key, request)| (Key::new(key).expect("a key"), of_store(request)));
        let replies = self.store.call_all(asked.collect()).await;
        let replies: Vec<_> = replies.into_iter().map(|reply| reply.expect("an answer")).collect();
        self.count("together");
        self.compare(before, &requests, &replies);
    }

    async fn observe(&mut self, before: &State) {
        let key = self.draw.of(&KEYS);
        let of = Key::new(key).expect("a key");
        let reply = self.store.call(&of, store::Request::Observe).await.expect("an answer");
        let store::Reply::At(shown) = reply else { panic!("{reply:?}") };
        let record = before.records.get(key).copied();
        let now = shown.sight.now;
        assert_eq!(shown.sight, Sight { last: before.last(key), record, past: None, now });
        assert_eq!(&State::read(&mut self.session), before, "an observer has left a trace");
        self.count("observe");
    }

    /// Compares the replies and what is kept with what the contract says.
    fn compare(
        &mut self,
        before: &State,
        requests: &[(&'static str, Request)],
        replies: &[store::Reply],
    ) {
        let after = State::read(&mut self.session);
        let fresh = self.fresh(before, &after);
        let mut expected = before.clone();
        for (&(key, request), reply) in requests.iter().zip(replies) {
            let record = after.records.get(key).copied();
            let written = record.map(|record| record.written).unwrap_or_default();
            let at = self.moment(before.identity, fresh, written);
            let mut kept = expected.records.get(key).copied();
            let said = self.said(&mut kept, &mut expected.past, at, request);
            match kept {
                Some(kept) => expected.records.insert(key.to_owned(), kept),
                None => expected.records.remove(key),
            };
            assert_eq!(
                in_time(contract_reply(reply)),
                in_time(said),
                "{key}: {request:?} at {before:#?}"
            );
            self.first = false;
            self.count(name(said));
        }
        assert_eq!(after, expected, "{requests:?} at {before:#?}");
    }

    /// The stamp that was given, if one was; never one of before.
    fn fresh(&mut self, before: &State, after: &State) -> Stamp {
        let stamp = |state: &State| state.past.map(|past| past.stamp);
        let given = stamp(after).filter(|&fresh| stamp(before) != Some(fresh));
        if let Some(given) = given {
            assert!(self.stamps.insert(given.to_bits()), "the stamp {given} was given twice");
            self.count("stamped");
        }
        given.unwrap_or_else(|| Stamp::from_bits(self.draw.number().into()))
    }

    /// The contract's reply.
    fn said(
        &mut self,
        record: &mut Option<Record>,
        past: &mut Option<Past>,
        at: Moment,
        request: Request,
    ) -> Reply {
        let step = Transition::apply(record, past, at, request);
        self.lines.write(&step);
        step.reply
    }

    fn moment(&self, identity: u128, fresh: Stamp, now: Instant) -> Moment {
        Moment { now, identity, fresh, first: self.first, trust_empty_store: self.trusts }
    }

    /// One purge is a request for each election.
    async fn purge(&mut self, before: &State) {
        if self.draw.once_in(2) {
            tokio::time::sleep(Duration::from_millis(6)).await;
        }
        let began = Now::now();
        let deleted = self.store.purge(Duration::ZERO).await.expect("purged");
        let ended = Now::now();
        let after = State::read(&mut self.session);
        let fresh = self.fresh(before, &after);
        let mut expected = before.clone();
        let mut gone = 0;
        let mut watches = BTreeMap::new();
        for (key, record) in &before.records {
            let mark = record.mark();
            let met = self.watches.remove(key).filter(|(same, ..)| *same == mark);
            let (_, earliest, latest) = met.unwrap_or((mark, began, ended));
            // A purge does not watch what was released, and a mark of this test may return.
            if !record.released {
                watches.insert(key.clone(), (mark, earliest, latest));
            }
            let demand = record.ttl.max(record.quarantine);
            let is_gone = !after.records.contains_key(key);
            let in_time = is_gone && ended - earliest >= demand;
            let may_go = expected.past.is_some() || self.first;
            if may_go && !record.released && met.is_some() && began - latest >= demand {
                assert!(is_gone, "{key} was watched, and is still there: {before:#?}");
            }
            let at = self.moment(before.identity, fresh, Instant::ORIGIN);
            let mut kept = Some(*record);
            let request = Request::Purge { mark, watched: in_time };
            let said = self.said(&mut kept, &mut expected.past, at, request);
            self.first = false;
            if said == Reply::Purged {
                expected.records.remove(key);
                gone += 1;
            }
            self.count(name(said));
        }
        // A purge of nothing examines the past too.
        if before.records.is_empty() {
            let at = self.moment(before.identity, fresh, Instant::ORIGIN);
            let look = Request::Look { seen: None, quarantine: Duration::ZERO };
            self.said(&mut None, &mut expected.past, at, look);
            self.first = false;
        }
        self.watches = watches;
        assert_eq!((after, deleted), (expected, gone), "a purge at {before:#?}");
    }

    fn request(&mut self, key: &str, before: &State) -> Request {
        let token = self.token(key, before);
        let quarantine = self.duration();
        match self.draw.below(12) {
            0..4 => Request::Acquire(self.acquire(key, before)),
            4 => Request::Look { seen: Some(token), quarantine },
            5..8 => self.renew(key, before),
            8 => {
                let (holder, token) = self.tenure(key, before);
                let (name, reserve) = (self.name(), self.duration());
                let reservation = self.draw.once_in(2).then_some(Reservation { name, reserve });
                Request::Release { holder, token, reservation }
            }
            9 | 10 => {
                let asked = Asked { name: self.name(), defer: self.duration() };
                Request::Ask { token, asked, seen: Some(token), quarantine }
            }
            _ => {
                let wish = [None, Some(Wish::Anybody), Some(Wish::Name(self.name()))];
                Request::Want { token, wish: self.draw.of(&wish) }
            }
        }
    }

    fn acquire(&mut self, key: &str, before: &State) -> Acquire {
        let last = before.last(key);
        let token = self.token(key, before);
        let seen = match self.draw.below(12) {
            0 => None,
            1 => Some(token),
            2 => Token::new(last.map_or(1, Token::get) + 1 + self.draw.below(3)),
            // Above what a floating-point number keeps exactly.
            3 if self.draw.once_in(20) => Token::new((1 << 53) + 1 + self.draw.below(100)),
            _ => last,
        };
        let loss = match self.draw.below(4) {
            0 => Some(Loss { last }),
            1 => Some(Loss { last: Some(token) }),
            _ => None,
        };
        let current = before.records.get(key).map(Record::mark);
        let other = self.number();
        let mark = match self.draw.below(4) {
            0 => None,
            1 => current.map(|mark| Mark { number: other, ..mark }),
            2 if !self.marks.is_empty() => Some(self.draw.of(&self.marks)),
            _ => current,
        };
        let (ttl, quarantine) = (self.duration(), self.duration());
        let (number, stamp) = (self.number(), self.stamp(before));
        let holder = self.holder();
        Acquire {
            holder,
            number,
            seen,
            lost: loss,
            mark,
            stamp,
            ttl,
            quarantine,
            name: self.name(),
        }
    }

    fn renew(&mut self, key: &str, before: &State) -> Request {
        let (holder, token) = self.tenure(key, before);
        let number = match before.records.get(key) {
            Some(record) if self.draw.once_in(2) => {
                RequestId::new(record.number.get() + self.draw.below(2)).expect("a number")
            }
            _ => self.number(),
        };
        Request::Renew { holder, token, number, stamp: self.stamp(before) }
    }

    /// The one that is recorded, mostly.
    fn tenure(&mut self, key: &str, before: &State) -> (HolderId, Token) {
        let (holder, token) = (self.holder(), self.token(key, before));
        match before.records.get(key) {
            Some(record) if !self.draw.once_in(4) => (record.holder, token),
            _ => (holder, token),
        }
    }

    fn token(&mut self, key: &str, before: &State) -> Token {
        let old = if self.tokens.is_empty() { Token::FIRST } else { self.draw.of(&self.tokens) };
        match before.last(key) {
            Some(last) if !self.draw.once_in(4) => last,
            _ => old,
        }
    }

    fn stamp(&mut self, before: &State) -> Option<WatchedStamp> {
        let time = Duration::from_micros(self.draw.of(&[0, 1_000, 2_500, 5_000, 9_000_000]));
        let other = Stamp::from_bits(self.draw.number().into());
        let stamp = if self.draw.once_in(4) { other } else { before.past?.stamp };
        self.draw.once_in(2).then_some(WatchedStamp { stamp, time })
    }

    fn duration(&mut self) -> Duration {
        Duration::from_micros(self.draw.of(&MICROS))
    }

    fn number(&mut self) -> RequestId {
        RequestId::new(1 + self.draw.below(20)).expect("not zero")
    }

    fn holder(&mut self) -> HolderId {
        HolderId::from_bits(self.draw.of(&[0xa, 0xb << 120, 0xc]))
    }

    fn name(&mut self) -> NameId {
        profile(self.draw.below(3)).name_id()
    }
}

fn of_store(request: Request) -> store::Request {
    match request {
        Request::Acquire(asks) => {
            let named = (0..3).map(profile).find(|profile| profile.name_id() == asks.name);
            store::Request::Acquire { asks, profile: named.expect("a known name") }
        }
        Request::Look { seen, quarantine } => store::Request::Look { seen, quarantine },
        Request::Renew { holder, token, number, stamp } => {
            store::Request::Renew { holder, token, number, stamp }
        }
        Request::Release { holder, token, reservation } => {
            store::Request::Release { holder, token, reservation }
        }
        Request::Ask { token, asked, seen, quarantine } => {
            store::Request::Ask { token, asked, seen, quarantine }
        }
        Request::Want { token, wish } => store::Request::Want { token, wish },
        Request::Purge { .. } => unreachable!("purges are drawn apart"),
    }
}

fn profile(number: u64) -> Profile {
    Profile::new(format!("candidate {number}"), "somewhere").expect("a profile")
}

/// The reply without the clock: it is a hint.
fn in_time(reply: Reply) -> Reply {
    let now = Instant::ORIGIN;
    match reply {
        Reply::Not(sight) => Reply::Not(Sight { now, ..sight }),
        Reply::At(sight) => Reply::At(Sight { now, ..sight }),
        other => other,
    }
}

fn name(reply: Reply) -> &'static str {
    match reply {
        Reply::Granted { .. } => "acquire granted",
        Reply::Not(_) => "acquire not",
        Reply::At(_) => "look",
        Reply::Renewed { .. } => "renew renewed",
        Reply::Superseded { .. } => "renew superseded",
        Reply::Released => "release released",
        Reply::NotHeld => "release not held",
        Reply::Noted => "want noted",
        Reply::NotNoted => "want not noted",
        Reply::Purged => "purge purged",
        Reply::Kept => "purge kept",
    }
}
