//! All that an etcd cluster keeps for one election, from one atomic read, and as the contract has
//! it.

use etcd_client::{Compare, CompareOp, KeyValue, ResponseHeader, TxnOp, TxnOpResponse};
use tenure_core::contract::{self, Past, Record};

use super::config::EtcdConfig;
use super::record::{Election, History, is_leader, readable};
use crate::store::{Key, StoreError, StoreErrorKind};

/// A value, and the revision that wrote it.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) modified: i64,
}

/// The key of a live lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leader {
    pub(super) modified: i64,
    /// The etcd lease that the key ends with.
    pub(super) lease: i64,
}

/// The names of the three keys that matter to one election.
pub(super) struct Names {
    pub(super) leader: String,
    pub(super) record: String,
    pub(super) past: String,
}

/// The values of the keys at one revision.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) leader: Option<Leader>,
    pub(super) election: Option<Found<Election>>,
    pub(super) history: Option<Found<History>>,
    pub(super) cluster: u64,
    pub(super) term: u64,
    pub(super) revision: u64,
    /// An index that the log had reached, if it was asked for.
    pub(super) index: Option<u64>,
}

impl Names {
    pub(super) fn new(config: &EtcdConfig, key: &Key) -> Self {
        Self { leader: config.leader(key), record: config.record(key), past: config.past() }
    }

    /// The operations that read all three keys; the answers are for [`State::of`].
    pub(super) fn reads(&self) -> [TxnOp; 3] {
        [&self.leader, &self.record, &self.past].map(|name| TxnOp::get(name.as_str(), None))
    }

    /// The comparisons for no write since that state.
    pub(super) fn unchanged(&self, state: &State) -> [Compare; 3] {
        let leader = state.leader.map(|leader| leader.modified);
        let record = state.election.as_ref().map(|found| found.modified);
        let past = state.history.as_ref().map(|found| found.modified);
        [(&self.leader, leader), (&self.record, record), (&self.past, past)].map(
            |(name, modified)| {
                // A key that does not exist has the revision 0.
                Compare::mod_revision(name.as_str(), CompareOp::Equal, modified.unwrap_or(0))
            },
        )
    }
}

impl State {
    /// The state from the answers to [`Names::reads`].
    pub(super) fn of(
        answered: Option<&ResponseHeader>,
        [leader, record, past]: [&TxnOpResponse; 3],
    ) -> Result<Self, StoreError> {
        let header = header(answered)?;
        let leader = only(leader)?;
        let election = only(record)?.map(election).transpose()?;
        if let Some(leader) = leader {
            readable((leader.key(), leader.value()), "a lease", is_leader)?;
            let of_record = election.as_ref().is_some_and(|Found { value, .. }| {
                !value.record.released && revision(leader.create_revision()) == value.granted
            });
            if !of_record || leader.lease() == 0 {
                let detail =
                    format!("{:?} has no record of its own", String::from_utf8_lossy(leader.key()));
                return Err(StoreError::new(StoreErrorKind::BadRecord, detail));
            }
        }
        Ok(Self {
            leader: leader.map(|key| Leader { modified: key.mod_revision(), lease: key.lease() }),
            election,
            history: only(past)?.map(history).transpose()?,
            cluster: header.cluster_id(),
            term: header.raft_term(),
            revision: revision(header.revision()),
            index: None,
        })
    }

    /// The record: a lease whose key is gone was ended by the server.
    pub(super) fn record(&self) -> Option<Record> {
        let mut record = self.election.as_ref()?.value.record;
        if self.leader.is_none() {
            contract::server_ends::ended(&mut record);
        }
        Some(record)
    }

    /// The past. One of a log that is shorter now has another identity than the cluster.
    pub(super) fn past(&self) -> Option<Past> {
        let mut past = self.history.as_ref()?.value.past;
        if self.is_shorter() {
            past.identity |= 1 << 64;
        }
        Some(past)
    }

    /// True if the log is shorter than the past requires. Each entry of a cluster's log raises the
    /// revision by one at most, so *index minus revision* never falls as long as the log continues.
    /// A cluster restored from a snapshot keeps the revision, and the cluster's identity if it is
    /// given the old token, but begins a new log.
    ///
    /// An index that was asked for too early may be too low, and looks like a loss. It never hides
    /// one.
    pub(super) fn is_shorter(&self) -> bool {
        let surplus = |index: u64, revision: u64| i128::from(index) - i128::from(revision);
        let (Some(index), Some(found)) = (self.index, &self.history) else { return false };
        // The entry that wrote the past had an index above the noted one, and the key's revision.
        surplus(index, self.revision) < surplus(found.value.index, revision(found.modified))
    }
}

pub(super) fn election(key: &KeyValue) -> Result<Found<Election>, StoreError> {
    let modified = key.mod_revision();
    let read = |text: &[u8]| Election::read(text, revision(modified));
    Ok(Found { value: readable((key.key(), key.value()), "a record", read)?, modified })
}

pub(super) fn history(key: &KeyValue) -> Result<Found<History>, StoreError> {
    let value = readable((key.key(), key.value()), "a past", History::read)?;
    Ok(Found { value, modified: key.mod_revision() })
}

/// Revisions are not negative.
pub(super) fn revision(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The header of an answer. By its cluster's identity a loss of data is noticed, and by its term
/// another leader.
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

pub(super) fn unexpected(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, what)
}

/// A read of one key finds it or not.
fn only(response: &TxnOpResponse) -> Result<Option<&KeyValue>, StoreError> {
    match response {
        TxnOpResponse::Get(response) => Ok(response.kvs().first()),
        _ => Err(unexpected("a read was answered with something else")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::Stamp;

    use super::*;

    const CLUSTER: u64 = 5;

    /// Written at revision 10 and above index 20; now at revision 30.
    fn at(index: Option<u64>) -> State {
        let (watched, longest) = (Duration::ZERO, Duration::ZERO);
        let (identity, stamp) = (CLUSTER.into(), Stamp::from_bits(1));
        let past = Past { identity, stamp, watched, longest, purged: None };
        State {
            leader: None,
            election: None,
            history: Some(Found { value: History { past, offset: 0, index: 20 }, modified: 10 }),
            cluster: CLUSTER,
            term: 2,
            revision: 30,
            index,
        }
    }

    #[test]
    fn a_log_that_is_too_short_is_another_server() {
        let identity = |index| at(index).past().unwrap().identity;
        assert_eq!(identity(Some(40)), CLUSTER.into());
        assert_eq!(identity(None), CLUSTER.into(), "not asked for");
        // 20 entries less than the revisions since need.
        assert_ne!(identity(Some(39)), CLUSTER.into());
        let never = State { history: None, ..at(Some(1)) };
        assert!(!never.is_shorter());
    }
}
