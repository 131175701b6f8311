//! The store over a backend.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use tenure_core::contract::{self, Moment};
use tenure_core::{Sight, Stamp, Token, Wish};

use super::patience::{Patience, Waiting};
use super::{Cas, Change, Election, Swapped, Tenant, Versioned};
use crate::Instant;
use crate::store::recent::Recent;
use crate::store::{
    Key, Reply, Request, Shown, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
};

/// A store of leases over a backend that can compare and swap. A clone is the same.
///
/// Unless the backend [says](Cas::SHARES_PAST) otherwise, each election has a past of its own: one
/// that was never used is watched for a quarantine, once. Tokens and hints follow the wall clock of
/// the process that asks. Messages and purges are not supported.
pub struct CasStore<C: Cas> {
    inner: Arc<Inner<C>>,
    trust_empty_store: bool,
}

/// Values that were only shown are kept while there are fewer values than that.
const SHOWN_MOST: usize = 10_000;

/// The last value of an election that is known.
struct Last<V> {
    found: Versioned<V>,
    /// True if this process has written it. If another value has replaced the same version, the
    /// backend has done so twice. A value that was only read may be of a backend that was restored
    /// since.
    is_own: bool,
}

struct Inner<C: Cas> {
    backend: C,
    /// The values that tenures of this process have written, those of others that hint at a lease,
    /// and those that candidates were shown: what follows need not read them.
    last: Mutex<Recent<Last<C::Version>>>,
    patience: Patience,
    /// Set once the backend was seen to replace one version twice.
    refused: OnceLock<StoreError>,
}

impl<C: Cas> Inner<C> {
    fn last(&self) -> MutexGuard<'_, Recent<Last<C::Version>>> {
        // No step panics half way, so a poisoned map is intact.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what may save a read.
    fn keep(&self, key: &Key, found: &Versioned<C::Version>) {
        let mut last = self.last();
        if last.len() >= SHOWN_MOST && last.get(key).is_none() {
            last.remove_any();
        }
        let shown = Last { found: found.clone(), is_own: false };
        let before = last.insert(key, shown, StdInstant::now());
        drop(last);
        if let Some(own) = before.filter(|before| before.is_own) {
            self.compare(key, &own.found.value, &found.value);
        }
    }

    /// Refuses the backend if this process's own value of an election and the one that it has now
    /// have replaced the same version.
    fn compare(&self, key: &Key, own: &Bytes, found: &Bytes) {
        if own == found {
            return;
        }
        let replaced = Election::replaced(own);
        if replaced.is_some() && replaced == Election::replaced(found) {
            self.refused.get_or_init(|| was_replaced_twice(key));
        }
    }

    /// An error once it was.
    fn is_not_refused(&self) -> Result<(), StoreError> {
        self.refused.get().cloned().map_or(Ok(()), Err)
    }
}

impl<C: Cas> Clone for CasStore<C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), ..*self }
    }
}

impl<C: Cas> fmt::Debug for CasStore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CasStore").field(&self.inner.backend.traits().name).finish()
    }
}

impl<C: Cas> CasStore<C> {
    /// The store over that backend.
    pub fn new(backend: C) -> Self {
        let (last, patience, refused) = (Mutex::default(), Patience::default(), OnceLock::new());
        let inner = Inner { backend, last, patience, refused };
        Self { inner: Arc::new(inner), trust_empty_store: false }
    }

    /// Sets whether a value that does not exist counts as one that never did, so that no candidate
    /// waits before the first lease of an election. For tests and throw-away servers only: it gives
    /// up promise G6 for a loss of the value. Default: no.
    #[must_use]
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// The backend.
    pub fn backend(&self) -> &C {
        &self.inner.backend
    }

    /// True if a request may begin with the known value: it changes the value, or is decided anew
    /// by what the backend has now.
    fn may_know(request: &Request) -> bool {
        match request {
            Request::Acquire { .. }
            | Request::Ask { .. }
            | Request::Renew { .. }
            | Request::Release { .. } => true,
            Request::Look { .. }
            | Request::Observe
            | Request::Want { .. }
            | Request::Describe { .. }
            | Request::Notify { .. } => false,
        }
    }

    /// Notes what was swapped in, if the renewal that follows may begin with it. After a wish it
    /// may not: candidates ask for the lead, so that the value is another one by then.
    fn note(&self, key: &Key, reply: &Reply, after: &Election, swapped: Versioned<C::Version>) {
        let mut last = self.inner.last();
        let is_own = matches!(reply, Reply::Granted { .. } | Reply::Renewed { .. });
        if is_own && !after.is_wished_elsewhere() {
            last.insert(key, Last { found: swapped, is_own: true }, StdInstant::now());
        } else {
            last.remove(key);
        }
    }

    /// The election after a request, and the reply.
    fn step(
        &self,
        identity: u128,
        mut election: Election,
        request: &Request,
    ) -> Result<(Reply, Election), StoreError> {
        let now = now();
        if let Some(asked) = request.to_contract() {
            let (fresh, first) = (fresh()?, true);
            let trust_empty_store = self.trust_empty_store;
            let at = Moment { now, identity, fresh, first, trust_empty_store };
            let reply = election.apply(at, asked, request);
            let profile = || election.tenant.as_ref().map(|tenant| tenant.profile.clone());
            return Ok((Reply::from_contract(reply, profile), election));
        }
        let reply = match request {
            Request::Describe { holder, token, version, profile } => {
                let is_last = |tenant: &&mut Tenant| {
                    (tenant.record.holder, tenant.record.token) == (*holder, *token)
                };
                match election.tenant.as_mut().filter(is_last) {
                    Some(tenant) if tenant.version < *version => {
                        (tenant.version, tenant.profile) = (*version, profile.clone());
                        Reply::Described
                    }
                    Some(_) => Reply::Described,
                    None => Reply::NotHeld,
                }
            }
            Request::Notify { .. } => return Err(StoreError::no_messages(self.traits().name)),
            _ => Reply::At(election.shown(now)),
        };
        Ok((reply, election))
    }

    /// Reads and swaps until the request is decided. One that may begin with what is known is
    /// waited for.
    async fn carry_out(
        &self,
        key: &Key,
        request: &Request,
        waiting: Option<&Waiting<'_>>,
    ) -> Result<Reply, StoreError> {
        let last = waiting.and_then(|_| self.inner.last().remove(key));
        let own = last.as_ref().filter(|last| last.is_own).map(|last| last.found.value.clone());
        let mut known = last.map(|last| last.found);
        if let Request::Look { .. } = request {
            self.inner.backend.prepare().await?;
        }
        let mut tried = None;
        loop {
            let (is_known, asked) = (known.is_some(), StdInstant::now());
            let found = match known.take() {
                Some(last) => Some(last),
                None => self.inner.backend.get(key).await?,
            };
            if let (Some(own), Some(found)) = (&own, &found) {
                self.inner.compare(key, own, &found.value);
            }
            let version = found.as_ref().map(|found| &found.version);
            if tried.as_ref().is_some_and(|tried| *tried == version.cloned()) {
                return Err(shows_what_was_swapped(key));
            }
            let election = match &found {
                Some(found) => Election::read(key, &found.value)?,
                None => Election::default(),
            };
            let identity = version.map_or(0, C::identity);
            let (reply, after) = self.step(identity, election.clone(), request)?;
            if after == election {
                // A refusal is decided by what the backend has now.
                if is_known {
                    continue;
                }
                let is_candidates = waiting.is_some() || matches!(request, Request::Look { .. });
                if let Some(found) = found
                    && (is_candidates || election.is_wished_elsewhere())
                {
                    self.inner.keep(key, &found);
                }
                return Ok(reply);
            }
            // Only the answer that the lease is another one's now is still worth giving.
            self.inner.is_not_refused()?;
            if let (Some(waiting), Some(read), false) = (waiting, &found, is_known)
                && let Err(error) = waiting.has_time_after(asked.elapsed())
            {
                self.inner.keep(key, read);
                return Err(error);
            }
            // A late duplicate of the request that creates a value can't repeat a stamp.
            let is_new = found.is_none();
            let value = match version {
                None => Election::beginning(fresh()?),
                Some(version) => after.replacing(C::name(version)),
            };
            let swapped = self.inner.backend.swap(key, version, value.clone()).await?;
            match swapped {
                Swapped::Done(version) if is_new => known = Some(Versioned { value, version }),
                Swapped::Done(version) => {
                    let watched = C::past_watched(&version);
                    self.note(key, &reply, &after, Versioned { value, version });
                    return Ok(match watched {
                        Some(watched) => reply.watched_for(watched, request, &after),
                        None => reply,
                    });
                }
                // What this process has written last may be old.
                Swapped::Conflict if is_known => {}
                Swapped::Conflict => tried = Some(version.cloned()),
            }
        }
    }
}

impl<C: Cas> Store for CasStore<C> {
    fn traits(&self) -> StoreTraits {
        let traits = self.inner.backend.traits();
        StoreTraits {
            round_trips: 2,
            messages: false,
            past_per_election: !C::SHARES_PAST,
            ..traits
        }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.inner.is_not_refused()?;
        if !Self::may_know(&request) {
            return self.carry_out(key, &request, None).await;
        }
        let waiting = self.inner.patience.begins();
        let outcome = self.carry_out(key, &request, Some(&waiting)).await;
        waiting.ends();
        outcome
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.inner.backend.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let store = Arc::clone(&self.inner);
        let mut wishes = BTreeMap::new();
        self.inner.backend.watch(watched).filter_map(move |change| {
            // Nobody says which elections were left. A wish that is hinted again does no harm.
            if wishes.len() >= SHOWN_MOST {
                wishes.clear();
            }
            let is_hint = change.is_hint(&mut wishes);
            if let (Some(found), true) = (change.found, is_hint) {
                store.keep(&change.key, &found);
            }
            std::future::ready(is_hint.then_some(change.key))
        })
    }
}

impl Reply {
    /// The same reply with a past that was watched for so long: other elections share it, so the
    /// value that this one began with may not say so yet.
    fn watched_for(mut self, watched: Duration, request: &Request, election: &Election) -> Self {
        let (past, quarantine) = match (&mut self, request) {
            (Self::At(shown), Request::Ask { quarantine, .. }) => {
                (&mut shown.sight.past, Some(*quarantine))
            }
            (Self::Renewed { past, .. }, _) => {
                (past, election.tenant.as_ref().map(|tenant| tenant.record.quarantine))
            }
            _ => return self,
        };
        *past = past.filter(|past| quarantine.is_none_or(|it| watched < it.max(past.longest)));
        self
    }
}

impl<V> Change<V> {
    /// True if a candidate may be granted the lease, or should ask for it: once for each of these
    /// wishes. Whatever else the leader or a candidate that asks has written is no hint, since the
    /// release is looked at that much later. What can't be read is left to the request that
    /// follows.
    pub(in crate::store) fn is_hint(&self, wishes: &mut BTreeMap<Key, (Token, Wish)>) -> bool {
        let read = |found: &Versioned<V>| Election::read(&self.key, &found.value).ok();
        let Some(election) = self.found.as_ref().and_then(read) else { return true };
        let lease = election.tenant.map(|tenant| tenant.record);
        let wish = lease.and_then(|lease| Some((lease.token, lease.wanted?)));
        let before = match wish {
            Some(wish) => wishes.insert(self.key.clone(), wish),
            None => wishes.remove(&self.key),
        };
        lease.is_some_and(|lease| lease.released) || (wish.is_some() && wish != before)
    }
}

impl Election {
    fn is_wished_elsewhere(&self) -> bool {
        self.tenant.as_ref().is_some_and(|tenant| tenant.record.wanted.is_some())
    }

    /// A repeated grant keeps the profile, which may have been replaced since.
    fn apply(
        &mut self,
        at: Moment,
        asked: tenure_core::Request,
        request: &Request,
    ) -> tenure_core::Reply {
        let before = self.tenant.take();
        let mut record = before.as_ref().map(|tenant| tenant.record);
        let reply = contract::apply(&mut record, &mut self.past, at, asked);
        self.tenant = record.and_then(|record| match (before, request) {
            (Some(before), _) if before.record.token == record.token => {
                Some(Tenant { record, ..before })
            }
            (_, Request::Acquire { profile, .. }) => {
                Some(Tenant { record, profile: profile.clone(), version: 0 })
            }
            _ => None,
        });
        reply
    }

    fn shown(&self, now: Instant) -> Shown {
        let record = self.tenant.as_ref().map(|tenant| tenant.record);
        let purged = self.past.and_then(|past| past.purged);
        let last = record.map_or(purged, |record| Some(record.token));
        let profile = self.tenant.as_ref().map(|tenant| tenant.profile.clone());
        Shown { sight: Sight { last, record, past: None, now }, profile }
    }
}

/// The wall clock. New tokens are at least its microseconds; no decision depends on it.
pub(in crate::store) fn now() -> Instant {
    // A clock before 1970 is as wrong as one at 1970.
    Instant::ORIGIN + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

pub(in crate::store) fn fresh() -> Result<Stamp, StoreError> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| {
        StoreError::new(StoreErrorKind::Refused, "no random stamp could be drawn")
            .with_source(error)
    })?;
    Ok(Stamp::from_bits(u128::from_ne_bytes(bits)))
}

/// Without this, a backend that does the opposite of what it shows would be asked for ever.
fn shows_what_was_swapped(key: &Key) -> StoreError {
    let detail = format_args!("{key:?} has the version after a swap that it had before");
    StoreError::showing(StoreErrorKind::UnexpectedReply, detail)
}

fn was_replaced_twice(key: &Key) -> StoreError {
    let detail = format_args!(
        "two values of {key:?} have replaced the same version, so two candidates may have led: the server compares in \
         one step and writes in another, or an older copy was put back. This process uses the store no more: start it \
         again with a server that does both in one step"
    );
    StoreError::showing(StoreErrorKind::Unsupported, detail)
}
