//! The steps of requests.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{
    Client, Compare, CompareOp, KeyValue, ResponseHeader, Txn, TxnOp, TxnOpResponse,
};
use futures_util::FutureExt;

use super::keep::{Beat, Stream, Tenure};
use super::link::{Known, Link, Live};
use super::record::{Leader, Record, Settings};
use super::state::{Found, Names, State, beyond_all, first, header, unexpected};
use crate::store::{Key, StoreError, StoreErrorKind};

/// How often a request reads again because the state has changed meanwhile. Each time another request has made
/// progress, so this is far more than ever happens.
pub(super) const ROUNDS: usize = 5;

/// One request about one election, over one connection.
pub(super) struct Session<'a> {
    pub(super) link: &'a Link,
    pub(super) live: &'a Arc<Live>,
    pub(super) key: &'a Key,
    pub(super) names: Names,
}

/// The rest of a lease, in whole seconds.
pub(super) struct Rest {
    /// Rounded up.
    pub(super) remaining: u64,
    /// The TTL that it was granted for.
    pub(super) granted: u64,
}

/// The outcome of a transaction.
pub(super) enum Outcome {
    /// Carried out at this revision.
    Done { revision: i64 },
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

    /// Reads all of the state, confirmed by a majority.
    pub(super) async fn read(&self) -> Result<State, StoreError> {
        let read = Txn::new().and_then(self.names.reads());
        State::of(&self.ask(self.client().kv_client().txn(read)).await?)
    }

    /// An index that the log has reached by now.
    pub(super) async fn index(&self) -> Result<u64, StoreError> {
        let status = self.ask(self.client().maintenance_client().status()).await?;
        Ok(status.raft_index())
    }

    /// Grants an etcd lease of so many seconds, with no key attached yet.
    pub(super) async fn grant(&self, seconds: u64) -> Result<i64, StoreError> {
        let (lease, ttl) = self.grant_at_least(seconds).await?;
        if ttl == seconds {
            return Ok(lease);
        }
        self.discard(lease);
        let detail = format!(
            "it is {seconds} s, and the server makes it {ttl} s: its --election-timeout must be longer \
             than the {:?} that are configured",
            self.link.config.election_timeout,
        );
        Err(StoreError::new(StoreErrorKind::Ttl, detail))
    }

    /// The same, and returns the TTL that the server has granted, which may be longer.
    pub(super) async fn grant_at_least(&self, seconds: u64) -> Result<(i64, u64), StoreError> {
        let ttl = i64::try_from(seconds).unwrap_or(i64::MAX);
        let lease = self.ask(self.client().lease_client().grant(ttl, None)).await?;
        match u64::try_from(lease.ttl()) {
            Ok(ttl) if ttl >= seconds => Ok((lease.id(), ttl)),
            Ok(_) | Err(_) => Err(unexpected("a lease is shorter than it was asked to be")),
        }
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

    /// The rest of a lease; `None` if there is no such lease.
    pub(super) async fn rest(&self, lease: i64) -> Result<Option<Rest>, StoreError> {
        let answer = self.ask(self.client().lease_client().time_to_live(lease, None)).await?;
        let Some(granted) = u64::try_from(answer.granted_ttl()).ok().filter(|ttl| *ttl > 0) else {
            return Ok(None);
        };
        // The server rounds down; below zero the lease has ended, and its key is about to.
        let remaining = u64::try_from(answer.ttl()).map_or(0, |seconds| seconds + 1);
        Ok(Some(Rest { remaining, granted }))
    }

    /// Carries out all operations if the conditions hold, and otherwise reads the state.
    pub(super) async fn transact(
        &self,
        conditions: Vec<Compare>,
        writes: Vec<TxnOp>,
    ) -> Result<Outcome, StoreError> {
        let txn = Txn::new().when(conditions).and_then(writes).or_else(self.names.reads());
        let answer = self.ask(self.client().kv_client().txn(txn)).await?;
        if answer.succeeded() {
            return Ok(Outcome::Done { revision: header(answer.header())?.revision() });
        }
        let is_read = |response: &TxnOpResponse| matches!(response, TxnOpResponse::Get(_));
        if answer.op_responses().iter().all(is_read) {
            return Ok(Outcome::Changed(Box::new(State::of(&answer)?)));
        }
        Err(unexpected("a transaction that failed has written something"))
    }

    /// Extends the lease of a tenure to its whole TTL from now. `false` if the tenure is another one,
    /// or over, or of another lease by now.
    pub(super) async fn extend(
        &self,
        state: &State,
        leader: &Found<Leader>,
        ttl: u64,
    ) -> Result<bool, StoreError> {
        let token = leader.token().ok_or_else(beyond_all)?;
        let (holder, created, lease) = (leader.value.holder, leader.created, leader.lease);
        let tenure = Tenure { holder, token, ttl: leader.value.ttl, created, lease };
        if tenure.ttl != ttl {
            return self.change_ttl(state, leader, tenure, ttl).await;
        }
        self.keep(tenure).await
    }

    /// Opens a stream of keepalives for a tenure that was just granted, unless there is one: so its first renewal is fast.
    pub(super) fn prepare_to_keep(&self, tenure: Tenure) {
        self.link.remember(self.key, Known::Ours(tenure));
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
                opened = Stream::open(&live.client, tenure.lease) => {
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

    /// A keepalive, and the proof that it counts; see [`keep`](super::keep).
    pub(super) async fn keep(&self, tenure: Tenure) -> Result<bool, StoreError> {
        let Beat::Done { term } = self.beat(tenure.lease).await? else { return Ok(false) };
        let name = self.names.leader.as_str();
        let answer = self.ask(self.client().kv_client().get(name, None)).await?;
        self.is_kept(tenure, term, first(&answer), header(answer.header())?)
    }

    /// Whether a keepalive that was answered in that term counts, by what was read after its answer.
    pub(super) fn is_kept(
        &self,
        tenure: Tenure,
        term: u64,
        leader: Option<&KeyValue>,
        read: &ResponseHeader,
    ) -> Result<bool, StoreError> {
        let is_ours = leader.is_some_and(|key| {
            key.create_revision() == tenure.created && key.lease() == tenure.lease
        });
        if !is_ours {
            return Ok(false);
        }
        if read.raft_term() != term {
            let detail = "it changed while the lease was renewed";
            return Err(StoreError::new(StoreErrorKind::NoLeader, detail));
        }
        self.link.remember(self.key, Known::Ours(tenure));
        Ok(true)
    }

    /// Moves a tenure to a new lease. etcd's leases have one TTL for all of their life; so that no
    /// end moves back, the new one is not shorter than the old one was.
    async fn change_ttl(
        &self,
        state: &State,
        leader: &Found<Leader>,
        tenure: Tenure,
        ttl: u64,
    ) -> Result<bool, StoreError> {
        let Some(Rest { granted, .. }) = self.rest(tenure.lease).await? else { return Ok(false) };
        let lease = self.grant(ttl.max(granted)).await?;
        let value = Leader { ttl, ..leader.value.clone() };
        let name = self.names.leader.as_str();
        let unchanged = Compare::mod_revision(name, CompareOp::Equal, leader.modified);
        let mut writes = vec![put(name, &value, Some(lease))];
        if let Some(declared) = &state.settings {
            let settings = Settings { ttl, ..declared.value };
            writes.push(put(&self.names.settings, &settings, None));
        }
        let outcome = self.transact(vec![unchanged], writes).await?;
        match outcome {
            Outcome::Done { .. } => {
                self.discard(tenure.lease);
                self.link.remember(self.key, Known::Ours(Tenure { ttl, lease, ..tenure }));
                Ok(true)
            }
            Outcome::Changed(_) => {
                self.discard(lease);
                Ok(false)
            }
        }
    }

    /// The lease's key, confirmed by a majority.
    pub(super) async fn leader(&self) -> Result<Option<Found<Leader>>, StoreError> {
        let name = self.names.leader.as_str();
        let answer = self.ask(self.client().kv_client().get(name, None)).await?;
        first(&answer).map(Found::leased).transpose()
    }

    pub(super) fn busy() -> StoreError {
        let detail = format!("the election changed {ROUNDS} times while it was read");
        StoreError::new(StoreErrorKind::Refused, detail)
    }
}

/// Writes a record, which ends with the lease if there is one.
pub(super) fn put(name: &str, record: &impl Record, lease: Option<i64>) -> TxnOp {
    let options = lease.map(|lease| etcd_client::PutOptions::new().with_lease(lease));
    TxnOp::put(name, record.write(), options)
}

/// A TTL in whole seconds, as etcd's leases have it.
pub(super) fn whole_seconds(ttl: Duration) -> Result<u64, StoreError> {
    if ttl.subsec_nanos() == 0 && ttl.as_secs() > 0 {
        return Ok(ttl.as_secs());
    }
    let detail = format!("it is {ttl:?}; etcd keeps whole seconds");
    Err(StoreError::new(StoreErrorKind::Ttl, detail))
}
