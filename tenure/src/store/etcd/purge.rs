//! The deletion of the records of long-ended elections, some at a time, in the order of their keys.
//!
//! A record says when its lease was granted or given back, but not when the server has ended it. So
//! the record of a lease that the server has ended is deleted only once this process has watched it
//! for as long as its settings bind.
//!
//! One transaction deletes a few, on condition that none has a leader or has changed since it was
//! read, and notes in the past the highest of their tokens.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use etcd_client::{Compare, CompareOp, GetOptions, GetResponse, Txn, TxnOp, TxnOpResponse};
use futures_util::FutureExt;
use tenure_core::Request;
use tenure_core::contract::Record;

use super::decide::Change;
use super::error::leaves_connection_usable;
use super::link::{Link, Live};
use super::record::{Election, History};
use super::session::{Session, wall};
use super::state::{Found, Names, State, election, header, history, revision, unexpected};
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{Key, StoreError};

/// The most elections in one step. A transaction may have 128 operations, by etcd's default.
const ELECTIONS: i64 = 32;
/// The most keys in one step of a listing.
const KEYS: i64 = 256;

impl Link {
    pub(super) async fn purge(self: &Arc<Self>, age: Duration) -> Result<u64, StoreError> {
        let link = Arc::clone(self);
        let step = move |from| {
            let link = Arc::clone(&link);
            async move { link.purge_some(from, age).await }.boxed()
        };
        in_steps(&self.runtime, step).await
    }

    /// `from` is the name of the first key; empty for the very first.
    async fn purge_some(
        self: &Arc<Self>,
        from: Vec<u8>,
        age: Duration,
    ) -> Result<Step<Vec<u8>, u64>, StoreError> {
        let live = self.live(Patience::Fails).await?;
        self.judged(&live, Purge { link: self, live: &live }.step(from, age)).await
    }

    pub(super) async fn keys(self: &Arc<Self>) -> Result<BTreeSet<Key>, StoreError> {
        let link = Arc::clone(self);
        let step = move |from| {
            let link = Arc::clone(&link);
            async move { link.some_keys(from).await }.boxed()
        };
        in_steps(&self.runtime, step).await
    }

    async fn some_keys(
        self: &Arc<Self>,
        from: Vec<u8>,
    ) -> Result<Step<Vec<u8>, BTreeSet<Key>>, StoreError> {
        let live = self.live(Patience::Fails).await?;
        let records = self.config.records();
        let step = async {
            let from = if from.is_empty() { records.clone().into_bytes() } else { from };
            let some = range(after_all(&records)).with_keys_only().with_limit(KEYS);
            let found = self.ask(&live, live.client.kv_client().get(from, Some(some))).await?;
            let made = found.kvs().iter().filter_map(|found| key(&records, found.key())).collect();
            Ok(Step { made, next: next(&found) })
        };
        self.judged(&live, step).await
    }

    /// A step over that connection, which ends with an error that another member may not have.
    async fn judged<T>(
        &self,
        live: &Arc<Live>,
        step: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let pending = live.progress.expects();
        let step = Box::pin(step).await;
        pending.over();
        if let Err(error) = &step {
            if !leaves_connection_usable(error.kind()) {
                live.dead.cancel();
            }
            self.current.failed(live, error);
        }
        step
    }
}

struct Purge<'a> {
    link: &'a Link,
    live: &'a Arc<Live>,
}

/// A few elections without a leader, and the past, as they were read.
struct Page {
    ended: Vec<(Key, Found<Election>)>,
    /// Without an election.
    state: State,
    next: Option<Vec<u8>>,
}

impl Purge<'_> {
    async fn step(&self, from: Vec<u8>, age: Duration) -> Result<Step<Vec<u8>, u64>, StoreError> {
        let page = self.page(from).await?;
        let due = self.due(&page, age);
        if page.next.is_none() {
            self.link.purging.lock().unwrap_or_else(PoisonError::into_inner).ends();
        }
        let deleted = self.delete(page.state, due).await?;
        Ok(Step { made: deleted, next: page.next })
    }

    /// The elections whose record is old enough.
    fn due(&self, page: &Page, age: Duration) -> Vec<(Key, Found<Election>)> {
        let (wall, now) = (wall(), self.link.runtime.now());
        let mut seen = self.link.purging.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_due = |key: &Key, record: &Record| {
            if wall.since(record.written) <= age {
                return false;
            }
            seen.sees(key.clone(), record.mark(), record.ttl.max(record.quarantine), now);
            record.released || seen.watched(key, now) == Some(&record.mark())
        };
        let due = page.ended.iter().filter(|(key, found)| is_due(key, &found.value.record));
        due.cloned().collect()
    }

    /// Reads the next few elections.
    async fn page(&self, from: Vec<u8>) -> Result<Page, StoreError> {
        let config = &self.link.config;
        let (records, leaders) = (config.records(), config.leaders());
        let from = if from.is_empty() { records.clone().into_bytes() } else { from };
        // Leaders of the same elections, and perhaps of some more.
        let first = [leaders.as_bytes(), &from[records.len().min(from.len())..]].concat();
        let (few, all) = (range(after_all(&records)), range(after_all(&leaders)));
        let reads = Txn::new().and_then(vec![
            TxnOp::get(from, Some(few.with_limit(ELECTIONS))),
            TxnOp::get(first, Some(all.with_keys_only().with_limit(ELECTIONS))),
            TxnOp::get(config.past(), None),
        ]);
        let answer = self.link.ask(self.live, self.live.client.kv_client().txn(reads)).await?;
        let [found, led, past] = &gets(answer.op_responses())?[..] else {
            return Err(unexpected("a transaction of three reads has other answers"));
        };
        let header = header(answer.header())?;
        let leads = |key: &Key| {
            let name = config.leader(key);
            led.kvs().iter().any(|leader| leader.key() == name.as_bytes())
        };
        // Other keys, and values that can't be read, are damage and stay.
        let ended = found
            .kvs()
            .iter()
            .filter_map(|found| Some((key(&records, found.key())?, election(found).ok()?)));
        Ok(Page {
            ended: ended.filter(|(key, _)| !leads(key)).collect(),
            state: State {
                leader: None,
                election: None,
                history: past.kvs().first().map(history).transpose()?,
                cluster: header.cluster_id(),
                term: header.raft_term(),
                revision: revision(header.revision()),
                index: None,
            },
            next: next(found),
        })
    }

    /// Deletes those that have not changed: all of them, or none.
    async fn delete(
        &self,
        mut state: State,
        due: Vec<(Key, Found<Election>)>,
    ) -> Result<u64, StoreError> {
        let Some(first) = due.first() else { return Ok(0) };
        let session = Session::new(self.link, self.live, &first.0);
        let index = session.index().await?;
        state.index = Some(index);
        let past = state.history.as_ref().map_or(0, |found| found.modified);
        // A cluster that may have lost grants is left to its candidates.
        if state.past().is_none_or(|past| past.identity != state.cluster.into()) {
            return Ok(0);
        }
        let equal = CompareOp::Equal;
        let mut conditions = vec![Compare::mod_revision(session.names.past.as_str(), equal, past)];
        let mut writes = Vec::new();
        for (key, found) in &due {
            let mark = found.value.record.mark();
            state.election = Some(found.clone());
            let purge = Request::Purge { mark, watched: false };
            let decided = session.decide(&mut state, purge).await?;
            if decided.change != Change::Purged {
                continue;
            }
            if let (Some((past, _)), Some(kept)) = (decided.past, &mut state.history) {
                kept.value.past = past;
            }
            let names = Names::new(&self.link.config, key);
            conditions.push(Compare::create_revision(names.leader.as_str(), equal, 0));
            conditions.push(Compare::mod_revision(names.record.as_str(), equal, found.modified));
            writes.push(TxnOp::delete(names.record.as_str(), None));
        }
        let deleted = u64::try_from(writes.len()).unwrap_or(0);
        let after = state.history.map(|found| History { index, ..found.value }.write());
        writes.push(TxnOp::put(session.names.past.as_str(), after.unwrap_or_default(), None));
        let txn = Txn::new().when(conditions).and_then(writes);
        let is_done =
            self.link.ask(self.live, self.live.client.kv_client().txn(txn)).await?.succeeded();
        Ok(if is_done { deleted } else { 0 })
    }
}

/// The election of a record. A key that no candidate has written is left alone.
fn key(records: &str, name: &[u8]) -> Option<Key> {
    let key = std::str::from_utf8(name.strip_prefix(records.as_bytes())?).ok()?;
    Key::new(key).ok()
}

/// The next step's beginning.
fn next(found: &GetResponse) -> Option<Vec<u8>> {
    let last = found.kvs().last().filter(|_| found.more());
    last.map(|last| [last.key(), &[0]].concat())
}

/// The answers to a transaction of reads alone.
fn gets(found: Vec<TxnOpResponse>) -> Result<Vec<GetResponse>, StoreError> {
    let get = |response| match response {
        TxnOpResponse::Get(response) => Ok(response),
        _ => Err(unexpected("a read was answered with something else")),
    };
    found.into_iter().map(get).collect()
}

/// Up to that key, which is left out.
fn range(end: Vec<u8>) -> GetOptions {
    GetOptions::new().with_range(end)
}

/// The first key after all that begin like that, which ends with a slash.
fn after_all(begin: &str) -> Vec<u8> {
    let mut end = begin.as_bytes().to_vec();
    if let Some(slash) = end.last_mut() {
        *slash += 1;
    }
    end
}
