//! The deletion of the records of long-ended elections, some at a time, in the order of their keys.
//!
//! etcd has no clock for clients, and a record does not say when its lease ended. So the first purge that finds an
//! election without a leader writes a mark with the time of its own wall clock, and a later one deletes the record if
//! the mark is old enough and of the same tenure. A wrong clock only makes that sooner or later: as tokens are
//! revisions, no promise depends on the age.
//!
//! One transaction deletes the keys of a few elections, on condition that none has a leader or was granted since it was
//! read. It also writes the key that says up to which token this cluster may have deleted records.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{
    Compare, CompareOp, GetOptions, GetResponse, Txn, TxnOp, TxnOpResponse, TxnResponse,
};
use futures_util::FutureExt;

use super::error::leaves_connection_usable;
use super::link::{Link, Live};
use super::record::{History, Mark, Purged, Record, Settings};
use super::session::put;
use super::state::{Found, of_key, unexpected};
use crate::store::purge::{Step, in_steps};
use crate::store::slot::Patience;
use crate::store::{Key, StoreError};

/// How many elections one step looks at. A transaction may have 128 operations, by etcd's default.
const ELECTIONS: i64 = 64;
/// How many elections one transaction deletes.
const TOGETHER: usize = 32;

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
    ) -> Result<Step<Vec<u8>>, StoreError> {
        let live = self.live(Patience::Fails).await?;
        let pending = live.progress.expects();
        let step = Box::pin(Purge { link: self, live: &live }.step(from, age)).await;
        pending.over();
        if let Err(error) = &step {
            if !leaves_connection_usable(error.kind()) {
                live.dead.cancel();
            }
            self.current.failed(&live, error);
        }
        step
    }
}

struct Purge<'a> {
    link: &'a Link,
    live: &'a Live,
}

/// An election without a leader.
struct Ended {
    key: Key,
    /// The revision of its last tenure.
    last: i64,
}

/// What is known of a few elections.
struct Page {
    ended: Vec<Ended>,
    settings: BTreeMap<Vec<u8>, Found<Settings>>,
    marks: BTreeMap<Vec<u8>, Found<Mark>>,
    history: Option<Found<History>>,
    longest: Duration,
    next: Option<Vec<u8>>,
}

impl Purge<'_> {
    async fn step(&self, from: Vec<u8>, age: Duration) -> Result<Step<Vec<u8>>, StoreError> {
        let Some(page) = self.page(from).await? else { return Ok(Step { deleted: 0, next: None }) };
        // Without a history, the next grant waits, and begins one.
        let Some(history) = &page.history else { return Ok(Step { deleted: 0, next: page.next }) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (mut unmarked, mut old) = (Vec::new(), Vec::new());
        for ended in &page.ended {
            let settings = page.settings.get(self.link.config.settings(&ended.key).as_bytes());
            let binds = settings.map_or(Duration::ZERO, |found| {
                found.value.quarantine().max(Duration::from_secs(found.value.ttl))
            });
            let mark = page.marks.get(self.link.config.mark(&ended.key).as_bytes());
            let marked = mark.map(|found| found.value).filter(|mark| mark.last == ended.last);
            match marked.and_then(|mark| now.checked_sub(mark.at())) {
                // Of another tenure, or of a clock that is ahead.
                None => unmarked.push(ended),
                Some(since) if since > age.max(binds).max(page.longest) => old.push(ended),
                Some(_) => {}
            }
        }
        self.mark(&unmarked, now).await?;
        let mut deleted = 0;
        for some in old.chunks(TOGETHER) {
            deleted += self.delete_all(some, history).await?;
        }
        Ok(Step { deleted, next: page.next })
    }

    /// Reads the next few elections; `None` if there are none.
    async fn page(&self, from: Vec<u8>) -> Result<Option<Page>, StoreError> {
        let config = &self.link.config;
        let lasts = config.lasts();
        let from = if from.is_empty() { lasts.clone().into_bytes() } else { from };
        let few = range(after_all(lasts.as_bytes())).with_limit(ELECTIONS).with_keys_only();
        let read =
            self.link.ask(self.live, self.live.client.kv_client().get(from, Some(few))).await?;
        let key_of = |name: &[u8]| {
            let key = name.strip_prefix(lasts.as_bytes())?;
            Key::new(std::str::from_utf8(key).ok()?).ok()
        };
        let found: Vec<(Key, i64)> = read
            .kvs()
            .iter()
            .filter_map(|found| Some((key_of(found.key())?, found.mod_revision())))
            .collect();
        let next = read.kvs().last().filter(|_| read.more()).map(|found| after(found.key()));
        let (Some((first, _)), Some((end, _))) = (found.first(), found.last()) else {
            return Ok(None);
        };
        let range_of = |name: &dyn Fn(&Key) -> String, keys_only| {
            let until = range(after(name(end).as_bytes()));
            let until = if keys_only { until.with_keys_only() } else { until };
            TxnOp::get(name(first), Some(until))
        };
        let reads = Txn::new().and_then(vec![
            range_of(&|key| config.leader(key), true),
            range_of(&|key| config.settings(key), false),
            range_of(&|key| config.mark(key), false),
            TxnOp::get(config.history(), None),
            TxnOp::get(config.longest(), None),
        ]);
        let answer = self.link.ask(self.live, self.live.client.kv_client().txn(reads)).await?;
        let [leaders, settings, marks, history, longest] = &gets(&answer)?[..] else {
            return Err(unexpected("a transaction of five reads has other answers"));
        };
        let longest = longest.kvs().first().map(of_key::<super::record::Longest>).transpose()?;
        let leads = |key: &Key| {
            let name = config.leader(key);
            leaders.kvs().iter().any(|leader| leader.key() == name.as_bytes())
        };
        let ended = found.into_iter().filter(|(key, _)| !leads(key));
        Ok(Some(Page {
            ended: ended.map(|(key, last)| Ended { key, last }).collect(),
            settings: records(settings),
            marks: records(marks),
            history: history.kvs().first().map(of_key).transpose()?,
            longest: Duration::from_secs(longest.map_or(0, |found| found.value.0)),
            next,
        }))
    }

    /// Notes that these elections have no leader now. An election that is granted meanwhile has a newer tenure than its
    /// mark.
    async fn mark(&self, ended: &[&Ended], now: Duration) -> Result<(), StoreError> {
        if ended.is_empty() {
            return Ok(());
        }
        let writes = ended.iter().map(|Ended { key, last }| {
            put(&self.link.config.mark(key), &Mark::new(*last, now), None)
        });
        let txn = Txn::new().and_then(writes.collect::<Vec<_>>());
        self.link.ask(self.live, self.live.client.kv_client().txn(txn)).await.map(drop)
    }

    /// Deletes those that have not changed. They are tried together first; if one has changed, each alone.
    async fn delete_all(
        &self,
        ended: &[&Ended],
        history: &Found<History>,
    ) -> Result<u64, StoreError> {
        if self.delete(ended, history).await? {
            return Ok(u64::try_from(ended.len()).unwrap_or_default());
        }
        let mut deleted = 0;
        for one in ended.chunks(1).filter(|_| ended.len() > 1) {
            deleted += u64::from(self.delete(one, history).await?);
        }
        Ok(deleted)
    }

    /// Whether they were deleted: all of them, or none.
    async fn delete(&self, ended: &[&Ended], history: &Found<History>) -> Result<bool, StoreError> {
        let config = &self.link.config;
        // With another history, tokens have another offset.
        let same = Compare::mod_revision(config.history(), CompareOp::Equal, history.modified);
        let (mut conditions, mut writes) = (vec![same], Vec::new());
        for Ended { key, last } in ended {
            conditions.push(Compare::create_revision(config.leader(key), CompareOp::Equal, 0));
            conditions.push(Compare::mod_revision(config.last(key), CompareOp::Equal, *last));
            for name in [config.last(key), config.settings(key), config.mark(key)] {
                writes.push(TxnOp::delete(name, None));
            }
        }
        writes.push(put(&config.purged(), &Purged { offset: history.value.offset }, None));
        let txn = Txn::new().when(conditions).and_then(writes);
        Ok(self.link.ask(self.live, self.live.client.kv_client().txn(txn)).await?.succeeded())
    }
}

/// The answers to a transaction of reads alone.
fn gets(answer: &TxnResponse) -> Result<Vec<GetResponse>, StoreError> {
    let get = |response| match response {
        TxnOpResponse::Get(response) => Ok(response),
        _ => Err(unexpected("a read was answered with something else")),
    };
    answer.op_responses().into_iter().map(get).collect()
}

/// Those that can be read, by the names of their keys. A damaged one is replaced or deleted with its election.
fn records<T: Record>(found: &GetResponse) -> BTreeMap<Vec<u8>, Found<T>> {
    let read = found.kvs().iter();
    read.filter_map(|found| Some((found.key().to_vec(), of_key(found).ok()?))).collect()
}

/// Up to that key, which is left out.
fn range(end: Vec<u8>) -> GetOptions {
    GetOptions::new().with_range(end)
}

/// The first key after that one.
fn after(name: &[u8]) -> Vec<u8> {
    [name, &[0]].concat()
}

/// The first key after all that begin like that, which ends with a slash.
fn after_all(begin: &[u8]) -> Vec<u8> {
    let mut end = begin.to_vec();
    if let Some(slash) = end.last_mut() {
        *slash += 1;
    }
    end
}
