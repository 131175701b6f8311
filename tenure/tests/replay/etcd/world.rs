//! A member, stores on it, and what the contract says that is kept.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use etcd_client::{Client, DeleteOptions};
use serde_json::json;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Key, Reply, Request, Store, StoreError};
use tenure::{Instant, Token};
use tenure_core::contract::{Moment, Past, Record, server_ends};
use tenure_core::{Stamp, Transition};
use tenure_servers::EtcdServer;

use super::kept::{self, Kept, kept, without_hints};
use crate::replay::answer::{contract_reply, shown};
use crate::replay::draw::{Draw, Values};
use crate::replay::lines::Lines;
use crate::replay::{KEYS, kind, seed};

const TIMES: &[u64] = &[1_000_000_000_000, 1_200_000_000_000, 2_000_000_001_000];
const VALUES: Values = Values {
    // None ends during a test.
    ttls: &[1_000_000_000_000, 1_200_000_000_000],
    times: TIMES,
    watched: TIMES,
    tokens: &[1 << 51],
    numbers: &[],
};

pub(crate) struct World {
    server: EtcdServer,
    pub(crate) plain: Client,
    /// Two processes' stores.
    stores: [Etcd; 2],
    pub(crate) draw: Draw,
    trusts: bool,
    /// The past was made to look as if it had been written above a longer log.
    is_shorter: bool,
    stamps: HashSet<Stamp>,
    lines: Lines,
    pub(crate) steps: BTreeMap<String, u64>,
}

fn config(server: &EtcdServer, trusts: bool) -> EtcdConfig {
    let config = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(trusts);
    config.prefix("replay").unwrap()
}

async fn connect(server: &EtcdServer) -> Client {
    Client::connect([format!("127.0.0.1:{}", server.port())], None).await.unwrap()
}

/// A request about an election, and what was answered.
type Answered = ((&'static str, Request), Result<Reply, StoreError>);
/// A line for `proof/replay`, and the kind of the answer.
type Step = (serde_json::Value, String);

fn place(key: &str) -> usize {
    KEYS.iter().position(|one| *one == key).unwrap()
}

fn is_observed(reply: &Reply, record: Option<Record>) {
    let shown = shown(reply).expect("an observe");
    let plain = without_hints(contract_reply(reply));
    let tenure_core::Reply::At(sight) = plain else { panic!("{reply:?}") };
    assert_eq!((sight.record, sight.past), (record, None));
    let ago = shown.sight.record.filter(|record| !record.released);
    let ago = ago.map(|record| shown.sight.now.since(record.written));
    assert!(ago.is_none_or(|ago| ago < Duration::from_secs(600)), "{ago:?}");
}

/// The request as told: the rest would only be written.
fn told(
    request: tenure_core::Request,
    record: Option<Record>,
    past: Option<Past>,
) -> tenure_core::Request {
    use tenure_core::Request::{Acquire, Renew};
    let settled = |quarantine: Duration| {
        past.is_some_and(|past| past.watched >= quarantine && past.watched >= past.longest)
    };
    match request {
        Acquire(asks) if settled(asks.quarantine) => {
            Acquire(tenure_core::Acquire { stamp: None, ..asks })
        }
        Renew { holder, token, number, .. }
            if record.is_some_and(|record| settled(record.quarantine)) =>
        {
            Renew { holder, token, number, stamp: None }
        }
        other => other,
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = EtcdServer::start_with(&["--max-txn-ops", "128"]).expect("an etcd server");
        Self {
            plain: connect(&server).await,
            stores: [false, false].map(|trusts| Etcd::new(config(&server, trusts))),
            server,
            draw: Draw::new(seed(), VALUES),
            trusts: false,
            is_shorter: false,
            stamps: HashSet::new(),
            lines: Lines::new("etcd"),
            steps: BTreeMap::new(),
        }
    }

    async fn kept(&mut self) -> Kept {
        kept(&mut self.plain, &KEYS).await
    }

    async fn reconnect(&mut self) {
        self.plain = connect(&self.server).await;
        self.trusts = self.draw.one_in(3);
        let trusts = self.trusts;
        self.stores = [trusts, trusts].map(|trusts| Etcd::new(config(&self.server, trusts)));
    }

    async fn delete(&mut self, name: &str) {
        let all = name.ends_with('/').then(|| DeleteOptions::new().with_prefix());
        self.plain.delete(name, all).await.unwrap();
    }

    /// New connections, perhaps to a server that was restarted, or one that has lost what it kept.
    async fn disturb(&mut self) {
        match self.draw.below(12) {
            0 => self.server.restart().unwrap(),
            1 => self.server.restart_empty().unwrap(),
            2 => self.delete("replay/").await,
            3 => self.delete(kept::PAST).await,
            4 => drop(self.changes_past(|words| "5ca1ab1e".clone_into(&mut words[1])).await),
            5 => {
                // The log of a restored snapshot is shorter than one that was noted.
                self.is_shorter =
                    self.changes_past(|words| "1000000000000".clone_into(&mut words[7])).await;
            }
            6 => {
                let key = KEYS[self.draw.below(3)];
                self.end(key, false).await;
                self.delete(&kept::record_name(key)).await;
            }
            _ => {}
        }
        self.reconnect().await;
    }

    async fn changes_past(&mut self, change: impl FnOnce(&mut Vec<String>)) -> bool {
        let found = self.plain.get(kept::PAST, None).await.unwrap();
        let Some(found) = found.kvs().first() else { return false };
        let mut words: Vec<_> = found.value_str().unwrap().split(' ').map(str::to_owned).collect();
        change(&mut words);
        self.plain.put(kept::PAST, words.join(" "), None).await.unwrap();
        true
    }

    /// The server ends a lease: as after its TTL, its key is deleted with it.
    async fn end(&mut self, key: &'static str, counts: bool) {
        let before = self.kept().await;
        let place = place(key);
        let election = &before.elections[place];
        let (Some(lease), Some(record)) = (election.lease, election.record) else { return };
        self.plain.lease_revoke(lease).await.unwrap();
        let after = self.kept().await;
        let mut ended = record;
        server_ends::ended(&mut ended);
        assert_eq!(after.elections[place].record, Some(ended));
        if counts {
            let at = self.moment(&before, None, None);
            // Any request has the states around it.
            let request = tenure_core::Request::Want { token: record.token, wish: None };
            let (before, after) = ((Some(record), before.past), (Some(ended), after.past));
            let line = Transition { at, before, request, reply: tenure_core::Reply::Noted, after };
            let mut line = serde_json::to_value(line).unwrap();
            line["request"] = json!({ "kind": "end", "first": false });
            line["reply"] = json!({ "kind": "ended" });
            self.writes(line);
            self.counts("Ended");
        }
    }

    fn counts(&mut self, kind: &str) {
        *self.steps.entry(kind.to_owned()).or_default() += 1;
    }

    fn writes(&mut self, mut line: serde_json::Value) {
        line["before"]["server"]["ends_leases"] = true.into();
        self.lines.write(&line);
    }

    /// The contract's circumstances: what the server's clock is to others, its revisions are here.
    fn moment(&self, before: &Kept, after: Option<&Past>, token: Option<Token>) -> Moment {
        Moment {
            now: Instant::from_nanos(token.map_or(0, Token::get).min(1 << 52) * 1_000),
            identity: before.cluster.into(),
            fresh: after.map_or(Stamp::from_bits(0), |past| past.stamp),
            first: true,
            trust_empty_store: self.trusts,
        }
    }

    /// The past as the contract has it.
    fn known(&self, kept: &Kept) -> Option<Past> {
        let mut past = kept.past;
        if self.is_shorter
            && let Some(past) = &mut past
        {
            past.identity = u128::MAX;
        }
        past
    }

    async fn call(&mut self, requests: Vec<(&'static str, Request)>) {
        let before = self.kept().await;
        let store = self.draw.below(2);
        let keyed = requests.iter().map(|(key, request)| (Key::new(key).unwrap(), request.clone()));
        let replies = self.stores[store].call_all(keyed.collect()).await;
        let after = self.kept().await;
        let asked = requests.into_iter().zip(replies).collect();
        self.explained(&before, asked, &after).await;
    }

    /// Requests that are carried out at the same time: some order of them explains what there is
    /// after them.
    async fn explained(&mut self, before: &Kept, mut asked: Vec<Answered>, after: &Kept) {
        let (mut judged, mut others) = (self.judge(before, &asked, after), vec![]);
        // Each order of up to three.
        for turn in 1..if asked.len() < 3 { asked.len() } else { 6 } {
            let Err(why) = judged else { break };
            others.push(why);
            let other = 1 + turn % 2 * (asked.len() - 2);
            asked.swap(0, other);
            judged = self.judge(before, &asked, after);
        }
        let steps = judged.unwrap_or_else(|why| panic!("{why}\nOther orders: {others:#?}"));
        self.takes_in(steps, before, after).await;
    }

    /// The steps, if the requests in this order explain what there is after them.
    fn judge(&self, before: &Kept, asked: &[Answered], after: &Kept) -> Result<Vec<Step>, String> {
        let (mut past, mut elections) = (self.known(before), before.elections.clone());
        let mut steps = vec![];
        for ((key, request), reply) in asked {
            let reply = reply.as_ref().map_err(|error| format!("{request:?}: {error}"))?;
            let record = &mut elections[place(key)].record;
            if let Some(shown) = shown(reply) {
                assert_eq!(shown.sight.record.is_some(), shown.profile.is_some());
            }
            let plain = without_hints(contract_reply(reply));
            let Some(asks) = request.to_contract() else {
                is_observed(reply, *record);
                continue;
            };
            let token = match *reply {
                Reply::Granted { token } => Some(token),
                _ => None,
            };
            let at = self.moment(before, after.past.as_ref(), token);
            let first = (*record, past);
            let told = told(asks, *record, past);
            let mut expected = server_ends::apply(record, &mut past, at, told);
            if let Some(record) = record {
                record.written = Instant::ORIGIN;
            }
            if let tenure_core::Reply::Not(sight) | tenure_core::Reply::At(sight) = &mut expected {
                sight.now = Instant::ORIGIN;
            }
            if plain != expected {
                return Err(format!(
                    "{plain:?}, not {expected:?}, to {asks:?} at {first:?}, {at:?}"
                ));
            }
            let line = Transition {
                at,
                before: first,
                request: told,
                reply: plain,
                after: (*record, past),
            };
            steps.push((serde_json::to_value(line).unwrap(), kind(plain)));
        }
        let records = |elections: &[kept::Election]| -> Vec<_> {
            elections.iter().map(|election| election.record).collect()
        };
        let (expected, found) = (records(&elections), records(&after.elections));
        if (&expected, past) != (&found, after.past) {
            let (was, is) = ((expected, past), (found, after.past));
            return Err(format!("{is:?} is kept, not {was:?}, after {asked:?} at {before:?}"));
        }
        Ok(steps)
    }

    async fn takes_in(&mut self, steps: Vec<Step>, before: &Kept, after: &Kept) {
        for (line, kind) in steps {
            self.writes(line);
            self.counts(&kind);
        }
        for election in &after.elections {
            self.draw.notes(election.record.as_ref(), after.past.as_ref());
            let is_live = election.record.is_some_and(|record| !record.released);
            assert_eq!(is_live, election.lease.is_some(), "{election:?}");
        }
        self.ends(before, after).await;
    }

    async fn ends(&mut self, before: &Kept, after: &Kept) {
        let stamp = |kept: &Kept| kept.past.map(|past| past.stamp);
        if stamp(before) != stamp(after) {
            let stamp = stamp(after).expect("a past that stays");
            assert!(self.stamps.insert(stamp), "{stamp:?} was given twice");
            self.is_shorter = false;
        }
        for (old, new) in before.elections.iter().zip(&after.elections) {
            if let (Some(lease), Some(record)) = (new.lease, new.record)
                && old.lease != Some(lease)
            {
                let found = self.plain.lease_time_to_live(lease, None).await.unwrap();
                assert_eq!(found.granted_ttl().unsigned_abs(), record.ttl.as_secs());
            }
        }
    }

    /// Two requests about one election at a time, through two stores: one order of them explains
    /// what comes of them.
    async fn race(&mut self) {
        let (key, before) = (KEYS[self.draw.below(3)], self.kept().await);
        let place = place(key);
        let (record, past) = (before.elections[place].record, before.past);
        if past.is_none_or(|past| past.identity != before.cluster.into()) || self.is_shorter {
            return;
        }
        let two = [0, 1].map(|_| match self.draw.below(3) {
            0 => self.draw.acquire(record.as_ref(), past.as_ref()),
            1 => self.draw.renew(record.as_ref(), past.as_ref()),
            _ => self.draw.other(record.as_ref()),
        });
        // A lost grant would give a stamp that is not seen.
        let last = record.map_or(past.and_then(|past| past.purged), |record| Some(record.token));
        let is_news = |request: &Request| matches!(request, Request::Acquire { asks, .. } if asks.seen > last);
        if two.iter().any(is_news) {
            return;
        }
        let keyed = Key::new(key).unwrap();
        let [one, other] = two.clone();
        let (one, other) =
            tokio::join!(self.stores[0].call(&keyed, one), self.stores[1].call(&keyed, other));
        let after = self.kept().await;
        let asked = two.map(|request| (key, request)).into_iter().zip([one, other]).collect();
        self.explained(&before, asked, &after).await;
        self.counts("Raced");
    }

    async fn purge(&mut self) {
        let before = self.kept().await;
        let store = self.draw.below(2);
        // Records are a moment old.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let deleted = self.stores[store].purge(Duration::ZERO).await.unwrap();
        let after = self.kept().await;
        let mut past = self.known(&before);
        let mut count = 0;
        for (place, election) in before.elections.iter().enumerate() {
            let Some(mut record) = election.record.map(Some) else { continue };
            let is_gone = after.elections[place].record.is_none();
            let mark = record.map(|record| record.mark()).unwrap();
            let first = (record, past);
            let request = tenure_core::Request::Purge { mark, watched: is_gone };
            let at = Moment { first: false, ..self.moment(&before, None, None) };
            if !is_gone {
                continue;
            }
            count += 1;
            let reply = server_ends::apply(&mut record, &mut past, at, request);
            assert_eq!(reply, tenure_core::Reply::Purged, "{first:?}");
            let line = Transition { at, before: first, request, reply, after: (record, past) };
            self.writes(serde_json::to_value(line).unwrap());
            self.counts("Purged");
        }
        if self.is_shorter {
            assert_eq!(deleted, 0);
        } else {
            assert_eq!((deleted, after.past), (count, past));
        }
    }

    /// A call of random requests, or a disturbance.
    pub(crate) async fn turn(&mut self) {
        let key = KEYS[self.draw.below(KEYS.len())];
        let place = place(key);
        let kept = self.kept().await;
        let (record, past) = (kept.elections[place].record, kept.past);
        let (record, past) = (record.as_ref(), past.as_ref());
        match self.draw.below(40) {
            0 => self.disturb().await,
            1 => self.end(key, true).await,
            2 => self.purge().await,
            3 => self.call(vec![(key, Request::Observe)]).await,
            4..=6 => {
                let several = [0, 1, 2].map(|place| {
                    let record = kept.elections[place].record;
                    (KEYS[place], self.draw.renew(record.as_ref(), past))
                });
                self.call(several.into()).await;
            }
            7..=10 => self.race().await,
            11..=22 => {
                let request = self.draw.acquire(record, past);
                self.call(vec![(key, request)]).await;
            }
            23..=25 => {
                let request = self.draw.look(record);
                self.call(vec![(key, request)]).await;
            }
            26..=32 => {
                let request = self.draw.renew(record, past);
                self.call(vec![(key, request)]).await;
            }
            _ => {
                let request = self.draw.other(record);
                self.call(vec![(key, request)]).await;
            }
        }
    }
}
