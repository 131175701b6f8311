//! A server, a store on it, and what the contract says that is kept.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::Instant;
use tenure::store::redis::RedisConfig;
use tenure::store::{Key, Request, Shown, Store};
use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{Mark, Stamp, Transition};
use tenure_servers::RedisServer;

use super::kept;
use crate::replay::answer::{contract_reply, shown};
use crate::replay::draw::{Draw, Times};
use crate::replay::lines::Lines;
use crate::replay::{KEYS, kind};

/// A purge can watch the shortest.
const MICROS: [u64; 4] = [3_000, 5_000_000, 10_000_000, 20_000_001];

pub(crate) struct World<S> {
    server: RedisServer,
    plain: redis::Connection,
    make: fn(RedisConfig) -> S,
    store: S,
    runtime: tokio::runtime::Runtime,
    draw: Draw,
    identity: u128,
    /// No request over the store's connection has compared the server with the past.
    first: bool,
    trusts: bool,
    records: BTreeMap<&'static str, Record>,
    past: Option<Past>,
    stamps: HashSet<Stamp>,
    /// The marks seen by the store's purges, and since when at the earliest and at the latest.
    watches: BTreeMap<&'static str, (Mark, std::time::Instant, std::time::Instant)>,
    lines: Lines,
    pub(crate) steps: BTreeMap<String, u64>,
}

impl<S: Store> World<S> {
    pub(crate) fn new(name: &str, make: fn(RedisConfig) -> S) -> Self {
        let server = RedisServer::start_with(&["--appendonly", "yes"]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut plain = connect(&server);
        Self {
            identity: kept::identity(&mut plain),
            store: make(config(&server, false)),
            server,
            plain,
            make,
            runtime,
            draw: Draw::new(7, Times { ttls: &MICROS, others: &MICROS }),
            first: true,
            trusts: false,
            records: BTreeMap::new(),
            past: None,
            stamps: HashSet::new(),
            watches: BTreeMap::new(),
            lines: Lines::new(name),
            steps: BTreeMap::new(),
        }
    }

    /// A new connection, perhaps to a server that was restarted, or one that has lost what it kept.
    fn disturb(&mut self) {
        match self.draw.below(12) {
            0 => self.server.restart().unwrap(),
            1 => self.server.restart_empty().unwrap(),
            2 => self.plainly(&["FLUSHALL"]),
            3 => self.plainly(&["DEL", kept::PAST]),
            4 if self.past.is_some() => {
                self.plainly(&["HSET", kept::PAST, "identity", "of/another"]);
            }
            5 => {
                let record = kept::record_name(KEYS[self.draw.below(3)]);
                self.plainly(&["DEL", &record]);
            }
            _ => {}
        }
        self.plain = connect(&self.server);
        self.identity = kept::identity(&mut self.plain);
        if self.server_was_restarted() || self.draw.one_in(2) {
            self.trusts = self.draw.one_in(3);
            self.store = (self.make)(config(&self.server, self.trusts));
            (self.first, self.watches) = (true, BTreeMap::new());
        }
        (self.records, self.past) = self.kept();
        self.stamps.extend(self.past.map(|past| past.stamp));
    }

    fn plainly(&mut self, command: &[&str]) {
        let (name, words) = command.split_first().unwrap();
        redis::cmd(name).arg(words).query::<redis::Value>(&mut self.plain).unwrap();
    }

    fn server_was_restarted(&self) -> bool {
        self.past.is_none_or(|past| past.identity != self.identity)
    }

    fn kept(&mut self) -> (BTreeMap<&'static str, Record>, Option<Past>) {
        let plain = &mut self.plain;
        let records = KEYS.iter().filter_map(|key| Some((*key, kept::record(plain, key)?)));
        (records.collect(), kept::past(plain))
    }

    /// Carries out the requests in one call, and compares each with the contract.
    fn call(&mut self, requests: Vec<(&'static str, Request)>) {
        let keyed = requests.iter().map(|(key, request)| (Key::new(key).unwrap(), request.clone()));
        let replies = self.runtime.block_on(self.store.call_all(keyed.collect()));
        let (records, past) = self.kept();
        let own = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        for ((key, request), reply) in requests.into_iter().zip(replies) {
            let reply = reply.unwrap();
            if let Some(contracts) = request.to_contract() {
                let written = records.get(key).map_or(Instant::ORIGIN, |record| record.written);
                let now = shown(&reply).map_or(written, |shown| shown.sight.now);
                self.step(key, contracts, contract_reply(&reply), now, past.as_ref());
            } else {
                let shown = shown(&reply).expect("an observe");
                assert_eq!(shown.sight.record.as_ref(), records.get(key));
                assert_eq!(shown.sight.past, None);
            }
            if let Some(Shown { sight, profile }) = shown(&reply) {
                let age = own.abs_diff(sight.now.since(Instant::ORIGIN));
                assert!(age < Duration::from_secs(60), "the server's clock differs by {age:?}");
                assert_eq!(sight.record.is_some(), profile.is_some());
            }
        }
        self.ends(&records, past);
    }

    fn step(
        &mut self,
        key: &'static str,
        request: tenure_core::Request,
        reply: tenure_core::Reply,
        now: Instant,
        after: Option<&Past>,
    ) {
        let before = (self.records.get(key).copied(), self.past);
        let new = after.map(|past| past.stamp).filter(|stamp| !self.stamps.contains(stamp));
        let fresh = new.unwrap_or(Stamp::from_bits(0));
        let Self { identity, first, trusts: trust_empty_store, .. } = *self;
        let at = Moment { now, identity, fresh, first, trust_empty_store };
        let (mut record, mut past) = before;
        let expected = contract::apply(&mut record, &mut past, at, request);
        assert_eq!(reply, expected, "{request:?} at {before:?}, {at:?}");
        let line = Transition { at, before, request, reply, after: (record, past) };
        self.lines.write(&line);
        *self.steps.entry(kind(reply)).or_default() += 1;
        match record {
            Some(record) => drop(self.records.insert(key, record)),
            None => drop(self.records.remove(key)),
        }
        self.past = past;
    }

    /// The steps have left what is kept.
    fn ends(&mut self, records: &BTreeMap<&'static str, Record>, past: Option<Past>) {
        assert_eq!((&self.records, &self.past), (records, &past));
        for record in records.values() {
            self.draw.notes(Some(record), past.as_ref());
        }
        self.stamps.extend(past.map(|past| past.stamp));
    }

    fn purge(&mut self) {
        let began = std::time::Instant::now();
        self.runtime.block_on(self.store.purge(Duration::ZERO)).unwrap();
        let ended = std::time::Instant::now();
        let called = !self.records.is_empty();
        let (records, past) = self.kept();
        for (key, record) in self.records.clone() {
            let (mark, demand) = (record.mark(), record.ttl.max(record.quarantine));
            let watch = self.watches.get(key).filter(|watch| watch.0 == mark);
            let may = watch.is_some_and(|(_, since, _)| ended - *since >= demand);
            let must = watch.is_some_and(|(_, _, since)| began - *since >= demand);
            let watched = !record.released && !records.contains_key(key);
            assert!(record.released || (must..=may).contains(&watched), "{key}: {record:?}");
            let reply = if records.contains_key(key) {
                tenure_core::Reply::Kept
            } else {
                tenure_core::Reply::Purged
            };
            let request = tenure_core::Request::Purge { mark, watched };
            self.step(key, request, reply, Instant::ORIGIN, past.as_ref());
            if self.watches.get(key).is_none_or(|watch| watch.0 != mark) {
                self.watches.insert(key, (mark, began, ended));
            }
        }
        // Without a past, a purge sees nothing.
        self.watches.retain(|key, _| past.is_some() && records.contains_key(key));
        self.first &= !called;
        self.ends(&records, past);
    }

    /// One call of random requests, or a disturbance.
    pub(crate) fn turn(&mut self) {
        let key = KEYS[self.draw.below(KEYS.len())];
        let (record, past) = (self.records.get(key).copied(), self.past);
        let (record, past) = (record.as_ref(), past.as_ref());
        match self.draw.below(40) {
            0 | 1 => return self.disturb(),
            2 => return self.purge(),
            3 => return self.call(vec![(key, Request::Observe)]),
            4..=6 => {
                let kind = self.draw.below(3);
                let several = KEYS.map(|key| {
                    let record = self.records.get(key).copied();
                    let request = match kind {
                        0 if !self.trusts => self.draw.acquire(record.as_ref(), past),
                        0 | 1 => self.draw.renew(record.as_ref(), past),
                        _ => self.draw.look(record.as_ref()),
                    };
                    (key, request)
                });
                self.call(several.into());
            }
            7..=19 => {
                let request = self.draw.acquire(record, past);
                self.call(vec![(key, request)]);
            }
            20..=23 => {
                let request = self.draw.look(record);
                self.call(vec![(key, request)]);
            }
            24..=30 => {
                let request = self.draw.renew(record, past);
                self.call(vec![(key, request)]);
            }
            _ => {
                let request = self.draw.other(record);
                self.call(vec![(key, request)]);
            }
        }
        self.first = false;
    }
}

fn connect(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

fn config(server: &RedisServer, trusts: bool) -> RedisConfig {
    let config = RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(trusts);
    config.prefix("replay").unwrap()
}
