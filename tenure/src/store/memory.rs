//! Leases in the memory of one process: for tests, and for elections between tasks.

#[cfg(feature = "testing")]
mod faults;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_core::Stream;
use tenure_core::contract::{self, FOREVER, Moment, Past, Record};
use tenure_core::{Mark, Sight, Stamp};
use tokio::sync::broadcast;

use super::watches::Watches;
use super::{
    HistoryKind, Key, Message, Profile, Reply, Request, Shown, Store, StoreError, StoreTraits,
    Watched,
};
use crate::runtime::{Runtime, TokioRuntime};
use crate::{Instant, Token};

/// A store in memory. Clones share it; candidates of other processes can't see it.
///
/// It can't lose data without losing every candidate with it, so nobody has to watch its past.
/// Tokens are floored by the wall clock, so that they keep increasing from process to process as
/// long as that clock does not step back.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Arc<dyn Runtime>,
    /// The wall clock minus the runtime's clock when the store was made: the store's clock counts
    /// from 1970, and runs at the rate of the runtime's clock.
    epoch: Duration,
    kept: Mutex<Kept>,
    /// The elections whose leases were released.
    released: broadcast::Sender<Key>,
}

#[derive(Debug)]
struct Kept {
    elections: BTreeMap<Key, Election>,
    /// Only a test can make the store lose that.
    past: Option<Past>,
    /// The number of requests carried out: a new past has a stamp that no other request has.
    steps: u64,
    watches: Watches<Key, Mark>,
}

#[derive(Debug, Default)]
struct Election {
    record: Option<Record>,
    profile: Option<Profile>,
    /// The last tenure that has replaced its profile, and the version of that.
    described: Option<(Token, u64)>,
    /// Made for the first inbox.
    messages: Option<broadcast::Sender<(Token, Message)>>,
}

/// A past without a gap: no candidate has to watch it.
const WATCHED: Past = Past {
    identity: 0,
    stamp: Stamp::from_bits(0),
    watched: FOREVER,
    longest: Duration::ZERO,
    purged: None,
};

/// The most unread releases of a driver before it is hinted all elections.
const RELEASES: usize = 1024;
/// The most elections per lock of the store.
const PURGED_AT_ONCE: usize = 256;
/// The most unread messages of a leader before it loses the oldest.
const BUFFER: usize = 64;

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::with_runtime(Arc::new(TokioRuntime))
    }

    /// An empty store on that runtime's clock.
    pub fn with_runtime(runtime: Arc<dyn Runtime>) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = wall.saturating_sub(runtime.now().since(Instant::ORIGIN));
        let released = broadcast::Sender::new(RELEASES);
        let kept = Mutex::new(Kept {
            elections: BTreeMap::new(),
            past: Some(WATCHED),
            steps: 0,
            watches: Watches::default(),
        });
        Self(Arc::new(Inner { runtime, epoch, kept, released }))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No step panics half way, so a poisoned map is intact.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, key: &Key, step: impl FnOnce(&mut Election) -> T) -> T {
        step(self.kept().elections.entry(key.clone()).or_default())
    }

    fn step(&self, key: &Key, request: Request) -> Reply {
        let now = self.now();
        let Kept { elections, past, steps, .. } = &mut *self.kept();
        *steps += 1;
        let fresh = Stamp::from_bits((*steps).into());
        let at = Moment { now, identity: 0, fresh, first: true, trust_empty_store: false };
        elections.entry(key.clone()).or_default().step(past, at, request)
    }

    fn now(&self) -> Instant {
        self.0.runtime.now() + self.0.epoch
    }

    /// Purges a few of the elections after that one; returns how many, and the last one that was
    /// looked at.
    fn purge_some(&self, after: Option<&Key>, age: Duration) -> (u64, Option<Key>) {
        let (now, own) = (self.now(), self.0.runtime.now());
        let Kept { elections, past, watches, .. } = &mut *self.kept();
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let some = elections.range_mut::<Key, _>((begin, Bound::Unbounded)).take(PURGED_AT_ONCE);
        let (mut deleted, mut last, mut unused) = (0, None, Vec::new());
        for (key, election) in some {
            if let Some(record) = election.record.filter(|record| now.since(record.written) > age) {
                let mark = record.mark();
                watches.sees(key.clone(), mark, record.ttl.max(record.quarantine), own);
                let watched = watches.watched(key, own) == Some(&mark);
                deleted += u64::from(election.purge(past, now, mark, watched));
            }
            if election.is_unused() {
                unused.push(key.clone());
            }
            last = Some(key.clone());
        }
        for key in unused {
            elections.remove(&key);
        }
        (deleted, last)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for Memory {
    fn traits(&self) -> StoreTraits {
        StoreTraits {
            granularity: Duration::from_nanos(1),
            least_ttl: Duration::from_millis(1),
            history: HistoryKind::SharesFate,
            messages: true,
            ..StoreTraits::new("memory")
        }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let reply = self.step(key, request);
        if matches!(reply, Reply::Released | Reply::Noted) {
            // It is no error if no candidate waits.
            let _ = self.0.released.send(key.clone());
        }
        Ok(reply)
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let (mut deleted, mut last) = self.purge_some(None, age);
        while let Some(after) = last {
            tokio::task::yield_now().await;
            let (some, next) = self.purge_some(Some(&after), age);
            (deleted, last) = (deleted + some, next);
        }
        self.kept().watches.ends();
        Ok(deleted)
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let kept = self.kept();
        let led = kept.elections.iter().filter(|(_, election)| election.record.is_some());
        Ok(led.map(|(key, _)| key.clone()).collect())
    }

    fn hints(&self, mut watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let mut released = self.0.released.subscribe();
        async_stream::stream! {
            loop {
                tokio::select! {
                    biased;
                    changes = watched.changed() => {
                        let Some(changes) = changes else { return };
                        for key in changes.added {
                            yield key;
                        }
                    }
                    key = released.recv() => match key {
                        Ok(key) if watched.contains(&key) => yield key,
                        Ok(_) => {}
                        Err(broadcast::error::RecvError::Lagged(_)) => {
                            for key in watched.keys() {
                                yield key;
                            }
                        }
                        Err(broadcast::error::RecvError::Closed) => return,
                    }
                }
            }
        }
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let mut messages = self.with(key, |election| {
            let inboxes = election.messages.get_or_insert_with(|| broadcast::Sender::new(BUFFER));
            inboxes.subscribe()
        });
        async_stream::stream! {
            loop {
                match messages.recv().await {
                    Ok((to, message)) if to == token => yield message,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        }
    }
}

impl Election {
    fn step(&mut self, past: &mut Option<Past>, at: Moment, request: Request) -> Reply {
        if let Some(asked) = request.to_contract() {
            let before = self.record.map(|record| record.token);
            let reply = contract::apply(&mut self.record, past, at, asked);
            if let (tenure_core::Reply::Granted { token }, Request::Acquire { profile, .. }) =
                (reply, request)
                && before != Some(token)
            {
                self.profile = Some(profile);
            }
            return Reply::from_contract(reply, || self.profile.clone());
        }
        match request {
            Request::Describe { holder, token, version, profile } => {
                let of_record = self.record.map(|record| (record.holder, record.token));
                if of_record != Some((holder, token)) {
                    return Reply::NotHeld;
                }
                if self.described < Some((token, version)) {
                    (self.described, self.profile) = (Some((token, version)), Some(profile));
                }
                Reply::Described
            }
            Request::Notify { message } => {
                let Some(Record { token, .. }) = self.record.filter(|record| !record.released)
                else {
                    return Reply::Vacant;
                };
                if let Some(inboxes) = &self.messages {
                    // A leader without an inbox is no error.
                    let _ = inboxes.send((token, message));
                }
                Reply::Notified { token }
            }
            _ => {
                let last = self
                    .record
                    .map_or_else(|| past.and_then(|past| past.purged), |record| Some(record.token));
                let sight = Sight { last, record: self.record, past: None, now: at.now };
                Reply::At(Shown { sight, profile: self.profile.clone() })
            }
        }
    }

    /// Deletes the record if it was given back or watched.
    fn purge(&mut self, past: &mut Option<Past>, now: Instant, mark: Mark, watched: bool) -> bool {
        let purge = tenure_core::Request::Purge { mark, watched };
        let (identity, fresh) = (0, Stamp::from_bits(0));
        let at = Moment { now, identity, fresh, first: false, trust_empty_store: false };
        contract::apply(&mut self.record, past, at, purge) == tenure_core::Reply::Purged
    }

    /// True if there is nothing to keep: no record, and no inbox.
    fn is_unused(&self) -> bool {
        let inboxes = self.messages.as_ref();
        self.record.is_none() && inboxes.is_none_or(|inboxes| inboxes.receiver_count() == 0)
    }
}
