//! The steps of requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{Client, PutOptions, Txn, TxnOp, TxnOpResponse};
use futures_util::FutureExt;
use tenure_core::{Request, Stamp};

use super::decide::{Change, Circumstances, Decision, decide};
use super::keep::{Beat, Stream};
use super::link::{Link, Live};
use super::record::{Election, History, leader};
use super::state::{Names, State, header, revision, unexpected};
use crate::Instant;
use crate::store::{Key, Profile, StoreError, StoreErrorKind};

/// One request about one election, over one connection.
pub(super) struct Session<'a> {
    pub(super) link: &'a Link,
    pub(super) live: &'a Arc<Live>,
    pub(super) key: &'a Key,
    pub(super) names: Names,
}

/// The outcome of a transaction.
pub(super) enum Outcome {
    /// Carried out at this revision.
    Done { revision: u64 },
    /// Not carried out: the state has changed.
    Changed(Box<State>),
}

impl<'a> Session<'a> {
    pub(super) fn new(link: &'a Link, live: &'a Arc<Live>, key: &'a Key) -> Self {
        Self { link, live, key, names: Names::new(&link.config, key) }
    }

    pub(super) fn client(&self) -> &Client {
        &self.live.client
    }

    /// The state, confirmed by a majority. The first one over a connection is compared with the
    /// length of the log.
    pub(super) async fn read(&self) -> Result<State, StoreError> {
        if self.live.is_compared.load(Ordering::Relaxed) {
            return self.read_alone().await;
        }
        let (state, index) = futures_util::join!(self.read_alone(), self.index());
        let (mut state, index) = (state?, index?);
        self.compare(&mut state, index).await?;
        // One that is shorter has to be stamped first.
        self.live.is_compared.store(!state.is_shorter(), Ordering::Relaxed);
        Ok(state)
    }

    pub(super) async fn read_alone(&self) -> Result<State, StoreError> {
        let read = Txn::new().and_then(self.names.reads());
        let answer = self.ask(self.client().kv_client().txn(read)).await?;
        state(answer.header(), &answer.op_responses())
    }

    /// An index that the log has reached by now.
    pub(super) async fn index(&self) -> Result<u64, StoreError> {
        let status = self.ask(self.client().maintenance_client().status()).await?;
        Ok(status.raft_index())
    }

    /// Compares the past with the length of the log. An index that was asked for before the state
    /// was read may be too low.
    pub(super) async fn compare(&self, state: &mut State, early: u64) -> Result<(), StoreError> {
        state.index = Some(early);
        if state.is_shorter() {
            state.index = Some(self.index().await?);
        }
        Ok(())
    }

    /// Whoever writes the past compares it with the log before, and notes the log's length with it.
    pub(super) async fn decide(
        &self,
        state: &mut State,
        asked: Request,
    ) -> Result<Decision, StoreError> {
        let bits = self.link.runtime.entropy().map_err(|error| {
            let detail = "no random number could be drawn for a stamp";
            StoreError::new(StoreErrorKind::Refused, detail).with_source(error)
        })?;
        let trust_empty_store = self.link.config.trust_empty_store;
        let fresh = Stamp::from_bits(bits);
        let asking = Circumstances { wall: wall(), fresh, trust_empty_store };
        let decided = decide(state, asked, asking);
        if decided.past.is_none() || state.index.is_some() {
            return Ok(decided);
        }
        let index = self.index().await?;
        self.compare(state, index).await?;
        Ok(decide(state, asked, asking))
    }

    /// Writes what was decided, if nothing has changed since the state was read. A grant needs an
    /// etcd lease, and a new tenure a profile.
    pub(super) async fn write(
        &self,
        state: &State,
        decided: &Decision,
        lease: Option<i64>,
        profile: Option<&Profile>,
    ) -> Result<Outcome, StoreError> {
        let mut writes = Vec::new();
        let attached = lease.map(|lease| PutOptions::new().with_lease(lease));
        let mut put = |name: &str, value, options| writes.push(TxnOp::put(name, value, options));
        if let (Some(record), true) = (decided.record, decided.change != Change::None) {
            let is_new = decided.change == Change::Granted;
            let kept = state.election.as_ref().map(|found| found.value.clone());
            let of_grant = profile.filter(|_| is_new).map(|profile| {
                let (granted, profile) = (state.revision + 1, profile.clone());
                Election { record, granted, profile, version: 0 }
            });
            let election = of_grant.or(kept).ok_or_else(|| unexpected("no record"))?;
            put(&self.names.record, Election { record, ..election }.write(is_new), None);
            if matches!(decided.change, Change::Granted | Change::Again) {
                // Without an etcd lease, its key would stay for ever.
                let attached = attached.ok_or_else(|| unexpected("no lease"))?;
                put(&self.names.leader, leader(record.holder), Some(attached));
            }
        }
        if let Some((past, offset)) = decided.past {
            let index = state.index.unwrap_or(0);
            put(&self.names.past, History { past, offset, index }.write(), None);
        }
        let leader = self.names.leader.as_str();
        match decided.change {
            Change::Released => writes.push(TxnOp::delete(leader, None)),
            Change::Wished if state.leader.is_some() => {
                let unchanged = PutOptions::new().with_ignore_value().with_ignore_lease();
                writes.push(TxnOp::put(leader, "", Some(unchanged)));
            }
            _ => {}
        }
        self.transact(state, writes).await
    }

    /// Carries out all operations if nothing has changed since that state, and otherwise reads the
    /// present one.
    pub(super) async fn transact(
        &self,
        before: &State,
        writes: Vec<TxnOp>,
    ) -> Result<Outcome, StoreError> {
        let unchanged = self.names.unchanged(before);
        let txn = Txn::new().when(unchanged).and_then(writes).or_else(self.names.reads());
        let answer = self.ask(self.client().kv_client().txn(txn)).await?;
        if answer.succeeded() {
            let revision = revision(header(answer.header())?.revision());
            return Ok(Outcome::Done { revision });
        }
        let present = state(answer.header(), &answer.op_responses())?;
        Ok(Outcome::Changed(Box::new(present)))
    }

    /// Grants an etcd lease of so many seconds, with no key attached yet.
    pub(super) async fn grant(&self, seconds: u64) -> Result<i64, StoreError> {
        let ttl = i64::try_from(seconds).unwrap_or(i64::MAX);
        let lease = self.ask(self.client().lease_client().grant(ttl, None)).await?;
        if lease.ttl() == ttl {
            return Ok(lease.id());
        }
        self.discard(lease.id());
        let detail = format!(
            "it is {seconds} s, and the server makes it {} s: its --election-timeout must be longer \
             than the {:?} that are configured",
            lease.ttl(),
            self.link.config.election_timeout,
        );
        Err(StoreError::new(StoreErrorKind::Ttl, detail))
    }

    /// Tries to revoke a lease that no key needs, in the background. It would also end by itself.
    pub(super) fn discard(&self, lease: i64) {
        let mut leases = self.client().lease_client();
        let runtime = &self.link.runtime;
        let late = runtime.sleep_until(runtime.now() + self.link.config.connect_timeout);
        let revoke = async move {
            tokio::select! {
                biased;
                _ = leases.revoke(lease) => {}
                () = late => {}
            }
        };
        self.link.runtime.spawn(revoke.boxed());
    }

    /// The rest of a lease, in whole seconds, rounded up.
    pub(super) async fn remaining(&self, lease: i64) -> Result<u64, StoreError> {
        let answer = self.ask(self.client().lease_client().time_to_live(lease, None)).await?;
        // The server rounds down; below zero the lease has ended, and its key is about to.
        Ok(u64::try_from(answer.ttl()).map_or(0, |seconds| seconds + 1))
    }

    /// Opens a stream of keepalives for a tenure that was just granted, unless there is one: so its
    /// first renewal is fast.
    pub(super) fn prepare_to_keep(&self, lease: i64) {
        if self.live.has_streams() {
            return;
        }
        let live = Arc::clone(self.live);
        let late = self
            .link
            .runtime
            .sleep_until(self.link.runtime.now() + self.link.config.connect_timeout);
        let open = async move {
            tokio::select! {
                biased;
                opened = Stream::open(&live.client, lease) => {
                    if let Ok(Some(stream)) = opened {
                        live.put_back(stream);
                    }
                }
                () = late => {}
            }
        };
        self.link.runtime.spawn(open.boxed());
    }

    /// One step of a request, over its connection.
    pub(super) fn ask<T>(
        &self,
        step: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        self.link.ask(self.live, step)
    }

    /// One keepalive, over a stream that nobody uses now, or a new one.
    pub(super) async fn beat(&self, lease: i64) -> Result<Beat, StoreError> {
        let stream = match self.live.stream() {
            Some(stream) => Some(stream),
            None => self.ask(Stream::open(self.client(), lease)).await?,
        };
        let Some(mut stream) = stream else { return Ok(Beat::Gone) };
        let beat = self.ask(stream.beat(lease)).await;
        match &beat {
            Ok(_) => self.live.put_back(stream),
            Err(_) => self.live.drop_streams(),
        }
        beat
    }
}

/// The state from the answer to a transaction of [`Names::reads`] alone.
fn state(
    header: Option<&etcd_client::ResponseHeader>,
    found: &[TxnOpResponse],
) -> Result<State, StoreError> {
    match found {
        [leader, record, past] => State::of(header, [leader, record, past]),
        _ => Err(unexpected("a transaction of three reads has other answers")),
    }
}

/// The time of day.
pub(super) fn wall() -> Instant {
    // A clock before 1970 is as wrong as one at 1970.
    Instant::ORIGIN + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A TTL in whole seconds, as etcd's leases have it.
pub(super) fn whole_seconds(ttl: Duration) -> Result<u64, StoreError> {
    if ttl.subsec_nanos() == 0 && ttl.as_secs() > 0 {
        return Ok(ttl.as_secs());
    }
    let detail = format!("it is {ttl:?}; etcd keeps whole seconds");
    Err(StoreError::new(StoreErrorKind::Ttl, detail))
}
