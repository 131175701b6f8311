//! Leases in the memory of one process: for tests, and for elections between tasks.

#[cfg(feature = "testing")]
mod faults;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_core::Stream;
use tenure_core::contract::{self, History, Moment, Record};
use tokio::sync::broadcast;

use super::{
    HistoryKind, Incumbent, Key, Message, Profile, Reply, Request, Store, StoreError, StoreTraits,
    Watched,
};
use crate::runtime::{Runtime, TokioRuntime};
use crate::{Instant, Token};

/// A store in memory. Clones share it; candidates of other processes can't see it.
///
/// It can't lose data without losing every candidate with it, so there is no quarantine.
/// Tokens are floored by the wall clock, so that they keep increasing from process to process as long
/// as that clock does not step back.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Arc<dyn Runtime>,
    /// The wall clock minus the runtime's clock when the store was made: the store's clock counts from
    /// 1970, and runs at the rate of the runtime's clock.
    epoch: Duration,
    kept: Mutex<Kept>,
    /// The elections whose leases were released.
    released: broadcast::Sender<Key>,
}

#[derive(Debug)]
struct Kept {
    elections: BTreeMap<Key, Election>,
    /// Since when the store knows its leases. Only a test can make it lose that.
    history: Option<History>,
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

/// A history without a gap: no leader waits.
const ALWAYS_KNOWN: History = History {
    identity: 0,
    known_since: Instant::ORIGIN,
    longest_ttl: Duration::ZERO,
    purged: None,
};

/// How many releases a driver may fall behind before it is hinted all elections.
const RELEASES: usize = 1024;
/// How many elections are looked at while the store is locked.
const PURGED_AT_ONCE: usize = 256;
/// How many messages a leader may fall behind before it loses the oldest.
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
        let kept = Mutex::new(Kept { elections: BTreeMap::new(), history: Some(ALWAYS_KNOWN) });
        Self(Arc::new(Inner { runtime, epoch, kept, released }))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No step panics half way, so a poisoned map is intact.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, key: &Key, step: impl FnOnce(&mut Election, &mut Option<History>) -> T) -> T {
        let Kept { elections, history } = &mut *self.kept();
        step(elections.entry(key.clone()).or_default(), history)
    }

    fn now(&self) -> Instant {
        self.0.runtime.now() + self.0.epoch
    }

    /// Purges a few of the elections after that one; returns how many, and the last one that was looked at.
    fn purge_some(&self, after: Option<&Key>, age: Duration) -> (u64, Option<Key>) {
        let now = self.now();
        let Kept { elections, history } = &mut *self.kept();
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let some = elections.range_mut::<Key, _>((begin, Bound::Unbounded)).take(PURGED_AT_ONCE);
        let (mut deleted, mut last, mut unused) = (0, None, Vec::new());
        for (key, election) in some {
            if contract::purge(&mut election.record, history, now, age) {
                deleted += 1;
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
        let now = self.now();
        let reply = self.with(key, |election, history| election.step(history, now, request));
        if reply == Reply::Released {
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
        Ok(deleted)
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
        let mut messages = self.with(key, |election, _| {
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
    fn step(&mut self, history: &mut Option<History>, now: Instant, request: Request) -> Reply {
        let request = match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => {
                let acquire = tenure_core::Request::Acquire { holder, seen, ttl, quarantine };
                let before = self.record.map(|record| record.token);
                let reply = self.apply(history, now, acquire);
                if let tenure_core::Reply::Granted { token, .. } = reply
                    && before != Some(token)
                {
                    self.profile = Some(profile);
                }
                return Reply::of_contract(reply, || self.incumbent(now));
            }
            Request::Renew { holder, token, ttl } => {
                tenure_core::Request::Renew { holder, token, ttl }
            }
            Request::Release { holder, token } => tenure_core::Request::Release { holder, token },
            Request::Describe { holder, token, version, profile } => {
                let of_record = self.record.map(|record| (record.holder, record.token));
                if of_record != Some((holder, token)) {
                    return Reply::NotHeld;
                }
                if self.described < Some((token, version)) {
                    (self.described, self.profile) = (Some((token, version)), Some(profile));
                }
                return Reply::Described;
            }
            Request::Observe => return self.incumbent(now).map_or(Reply::Vacant, Reply::Held),
            Request::Notify { message } => {
                let Some(Incumbent { token, .. }) = self.incumbent(now) else {
                    return Reply::Vacant;
                };
                if let Some(inboxes) = &self.messages {
                    // A leader without an inbox is no error.
                    let _ = inboxes.send((token, message));
                }
                return Reply::Notified { token };
            }
        };
        let reply = self.apply(history, now, request);
        Reply::of_contract(reply, || self.incumbent(now))
    }

    /// Whether there is nothing to keep: no record, and no inbox.
    fn is_unused(&self) -> bool {
        let inboxes = self.messages.as_ref();
        self.record.is_none() && inboxes.is_none_or(|inboxes| inboxes.receiver_count() == 0)
    }

    fn apply(
        &mut self,
        history: &mut Option<History>,
        now: Instant,
        request: tenure_core::Request,
    ) -> tenure_core::Reply {
        let at = Moment { now, identity: 0, trust_empty_store: false, compares_identity: false };
        contract::apply(&mut self.record, history, at, request)
    }

    fn incumbent(&self, now: Instant) -> Option<Incumbent> {
        let record = self.record.filter(|record| record.is_live(now))?;
        let profile = self.profile.as_ref()?;
        let incumbent = Incumbent::new(
            record.token,
            record.holder,
            profile.name(),
            profile.metadata().clone(),
            record.remaining(now),
        );
        Some(incumbent.with_ttl(record.ttl))
    }
}
