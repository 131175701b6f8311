//! All that an etcd cluster keeps for one election, from one atomic read.

use etcd_client::{GetResponse, KeyValue, ResponseHeader, TxnOp, TxnOpResponse, TxnResponse};

use super::config::EtcdConfig;
use super::record::{History, Last, Leader, Longest, Purged, Record, Settings};
use crate::Token;
use crate::store::{Key, StoreError, StoreErrorKind};

/// A key's value and its revisions.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) created: i64,
    pub(super) modified: i64,
    /// The lease that the key ends with; 0 if there is none.
    pub(super) lease: i64,
}

/// The names of the seven keys that matter to one election.
pub(super) struct Names {
    pub(super) leader: String,
    pub(super) last: String,
    pub(super) settings: String,
    pub(super) longest: String,
    pub(super) history: String,
    pub(super) quarantine: String,
    pub(super) purged: String,
}

/// The values of the keys at one revision.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) leader: Option<Found<Leader>>,
    pub(super) last: Option<Found<Last>>,
    /// The settings of the last tenure, unless it was granted by a version that did not keep them.
    pub(super) settings: Option<Found<Settings>>,
    pub(super) longest: Option<Found<Longest>>,
    pub(super) history: Option<Found<History>>,
    /// The lease of the quarantine that is not over.
    pub(super) quarantine: Option<i64>,
    pub(super) purged: Option<Found<Purged>>,
    pub(super) cluster: u64,
    pub(super) revision: i64,
}

impl Names {
    pub(super) fn new(config: &EtcdConfig, key: &Key) -> Self {
        Self {
            leader: config.leader(key),
            last: config.last(key),
            settings: config.settings(key),
            longest: config.longest(),
            history: config.history(),
            quarantine: config.quarantine(),
            purged: config.purged(),
        }
    }

    /// The operations that read all seven keys; the answer is for [`State::of`].
    pub(super) fn reads(&self) -> Vec<TxnOp> {
        let of_election = [&self.leader, &self.last, &self.settings];
        let of_prefix = [&self.longest, &self.history, &self.quarantine, &self.purged];
        of_election
            .into_iter()
            .chain(of_prefix)
            .map(|name| TxnOp::get(name.as_str(), None))
            .collect()
    }
}

impl State {
    /// The state from the answer to a transaction of [`Names::reads`] alone.
    pub(super) fn of(response: &TxnResponse) -> Result<Self, StoreError> {
        let header = header(response.header())?;
        let responses = response.op_responses();
        let [leader, last, settings, longest, history, quarantine, purged] = &responses[..] else {
            return Err(unexpected("a transaction of seven reads has other answers"));
        };
        let last: Option<Found<Last>> = found(last)?;
        let settings: Option<Found<Settings>> = found(settings)?;
        let is_of_last =
            |found: &Found<_>| last.as_ref().is_none_or(|last| last.modified <= found.modified);
        Ok(Self {
            leader: only(leader)?.map(Found::leased).transpose()?,
            settings: settings.filter(is_of_last),
            last,
            longest: found(longest)?,
            history: found(history)?,
            quarantine: only(quarantine)?.map(KeyValue::lease),
            purged: found(purged)?,
            cluster: header.cluster_id(),
            revision: header.revision(),
        })
    }

    /// The token of the last tenure that this cluster knows.
    pub(super) fn last_token(&self) -> Option<Token> {
        let last = self.last.as_ref().and_then(|last| token(last.modified, last.value.offset));
        last.max(self.leader.as_ref().and_then(Found::token))
    }

    /// The highest token of the election that this cluster may have granted: that of the last tenure, or of any whose
    /// record was purged.
    pub(super) fn known_token(&self) -> Option<Token> {
        let purged = self.purged.as_ref();
        let purged = || purged.and_then(|purged| token(purged.modified, purged.value.offset));
        self.last_token().or_else(purged)
    }
}

impl Found<Leader> {
    /// The record of a live lease. Its key must be attached to an etcd lease.
    pub(super) fn leased(key: &KeyValue) -> Result<Self, StoreError> {
        let found = of_key(key)?;
        if found.lease == 0 {
            let detail = "the key of the live lease is attached to none";
            return Err(StoreError::new(StoreErrorKind::BadRecord, detail));
        }
        Ok(found)
    }

    pub(super) fn token(&self) -> Option<Token> {
        token(self.created, self.value.offset)
    }
}

/// A tenure's token: the revision at which it was granted, plus the offset.
pub(super) fn token(revision: i64, offset: u64) -> Option<Token> {
    Token::new(u64::try_from(revision).ok()?.checked_add(offset)?)
}

/// The header of an answer. By its cluster's identity a loss of data is noticed, and by its term another leader.
pub(super) fn header(header: Option<&ResponseHeader>) -> Result<&ResponseHeader, StoreError> {
    let header = header.ok_or_else(|| unexpected("an answer without a header"))?;
    is_reported("cluster_id", header.cluster_id())?;
    is_reported("raft_term", header.raft_term())?;
    Ok(header)
}

/// Refuses a number that etcd never has: it would be the same after a loss.
fn is_reported(what: &str, number: u64) -> Result<(), StoreError> {
    if number > 0 {
        return Ok(());
    }
    let detail =
        format!("the header has {what}:{number}; use etcd itself, and no proxy that hides it");
    Err(StoreError::new(StoreErrorKind::Withheld, detail))
}

/// The error of a record whose token is above all that can be.
pub(super) fn beyond_all() -> StoreError {
    StoreError::new(StoreErrorKind::BadRecord, "its token is beyond all")
}

pub(super) fn unexpected(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, what)
}

fn found<T: Record>(response: &TxnOpResponse) -> Result<Option<Found<T>>, StoreError> {
    only(response)?.map(of_key).transpose()
}

/// The record under a key.
pub(super) fn of_key<T: Record>(key: &KeyValue) -> Result<Found<T>, StoreError> {
    Ok(Found {
        value: T::read_from(key.key(), key.value())?,
        created: key.create_revision(),
        modified: key.mod_revision(),
        lease: key.lease(),
    })
}

/// A read of one key finds it or not.
pub(super) fn only(response: &TxnOpResponse) -> Result<Option<&KeyValue>, StoreError> {
    match response {
        TxnOpResponse::Get(response) => Ok(first(response)),
        _ => Err(unexpected("a read was answered with something else")),
    }
}

pub(super) fn first(response: &GetResponse) -> Option<&KeyValue> {
    response.kvs().first()
}
