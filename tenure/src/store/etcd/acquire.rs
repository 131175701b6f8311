//! Acquire: the decision about a grant, and its writes.
//!
//! 1. One read returns whether the lease is live, and the last tenure. Where the lease is likely to be vacant, two
//!    requests are made at the same time: for the length of the cluster's log, which shows whether its history is
//!    whole, and for an etcd lease of the TTL. If nothing is granted, that lease has no key, and is revoked.
//! 2. One transaction writes the grant, on condition that everything that was read is unchanged. A delayed or
//!    repeated transaction fails: each grant changes the leader's key.
//!
//! That is two round trips. If the reply to the second is lost, the candidate asks again, finds itself in the
//! key, and gets the same token: the transaction then moves its key to the new etcd lease, which is no shorter
//! than the previous one. A candidate that acquires has no tenure, so no renewal of its own can be under way that
//! would have extended the previous lease.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{Compare, CompareOp, TxnOp};

use super::history::{Finding, Question, find};
use super::keep::Tenure;
use super::record::{Last, Leader, Longest, Settings};
use super::session::{Outcome, ROUNDS, Rest, Session, put};
use super::state::{Found, State, beyond_all, token};
use crate::store::{Profile, Reply, StoreError};
use crate::{HolderId, Token};

pub(super) struct Asker<'a> {
    pub(super) holder: HolderId,
    pub(super) seen: Option<Token>,
    /// In seconds.
    pub(super) ttl: u64,
    pub(super) quarantine: Duration,
    pub(super) profile: &'a Profile,
}

impl Asker<'_> {
    /// The longest TTL under the prefix, including this one's, in seconds.
    fn longest(&self, state: &State) -> u64 {
        state.longest.as_ref().map_or(self.ttl, |found| found.value.0.max(self.ttl))
    }
}

/// Leases that were granted for keys that are not written yet.
#[derive(Default)]
struct Granted {
    tenure: Option<i64>,
    quarantine: Option<i64>,
}

impl Granted {
    /// The quarantine that the finding asks for has its key.
    fn used(&mut self, finding: Finding) {
        if finding.rewrite.is_some_and(|rewrite| rewrite.quarantine.is_some()) {
            self.quarantine = None;
        }
    }
}

impl Session<'_> {
    pub(super) async fn acquire(&self, asker: &Asker<'_>) -> Result<Reply, StoreError> {
        let mut granted = Granted::default();
        let reply = self.acquire_with(asker, &mut granted).await;
        // After an error it is unknown whether their keys were written.
        if reply.is_ok() {
            let unused = granted.tenure.into_iter().chain(granted.quarantine);
            unused.for_each(|lease| self.discard(lease));
        }
        reply
    }

    async fn acquire_with(
        &self,
        asker: &Asker<'_>,
        granted: &mut Granted,
    ) -> Result<Reply, StoreError> {
        let likely_vacant = !self.link.is_held_by_another(self.key, asker.holder);
        let (state, early) = self.first_look(asker, likely_vacant, granted).await;
        let mut state = state?;
        let mut early = Some(early).filter(|_| likely_vacant);
        for _ in 0..ROUNDS {
            let mine = state.leader.as_ref().filter(|leader| leader.value.holder == asker.holder);
            if mine.is_none()
                && let Some(refused) = self.contradiction(&state, asker).await?
            {
                self.link.held_by_another(self.key, asker.holder);
                return Ok(refused);
            }
            if let (Some(leader), None) = (&state.leader, mine) {
                self.link.held_by_another(self.key, asker.holder);
                return self.held(leader).await;
            }
            if let Some(last) =
                state.last_token().filter(|last| mine.is_none() && asker.seen < Some(*last))
            {
                return Ok(Reply::Stale { last });
            }
            let (index, lease) = early.take().unwrap_or((None, Ok(())));
            lease?;
            if let Some(leader) = mine {
                let Some(rest) = self.rest(leader.lease).await? else {
                    state = self.read().await?;
                    continue;
                };
                // The end never moves back, even if the same holder asks for a shorter lease.
                if rest.granted > asker.ttl {
                    granted.tenure.take().into_iter().for_each(|short| self.discard(short));
                    granted.tenure = Some(self.grant(rest.granted).await?);
                }
            }
            let (finding, lease) = futures_util::try_join!(
                self.look_into_the_past(&state, asker, index),
                self.lease_of(asker.ttl, &mut granted.tenure),
            )?;
            let Some(finding) = finding else {
                state = self.read().await?;
                continue;
            };
            match self.grant_to(&state, asker, (finding, lease), granted).await? {
                Ok(token) => return Ok(Reply::Granted { token, wait: finding.wait }),
                Err(changed) => state = changed,
            }
        }
        Err(Self::busy())
    }

    /// The state, and at the same time what a vacant election needs: an index that the log had reached at about
    /// that time, and a lease.
    async fn first_look(
        &self,
        asker: &Asker<'_>,
        likely_vacant: bool,
        granted: &mut Granted,
    ) -> (Result<State, StoreError>, (Option<u64>, Result<(), StoreError>)) {
        if !likely_vacant {
            return (self.read().await, (None, Ok(())));
        }
        let (state, index, lease) = futures_util::join!(
            self.read(),
            self.index(),
            self.lease_of(asker.ttl, &mut granted.tenure),
        );
        (state, (index.ok(), lease.map(drop)))
    }

    /// A lease for a new tenure: that of an earlier step if there is one.
    async fn lease_of(&self, ttl: u64, granted: &mut Option<i64>) -> Result<i64, StoreError> {
        match *granted {
            Some(lease) => Ok(lease),
            None => Ok(*granted.insert(self.grant(ttl).await?)),
        }
    }

    /// `None` if the quarantine ended meanwhile.
    async fn look_into_the_past(
        &self,
        state: &State,
        asker: &Asker<'_>,
        early: Option<u64>,
    ) -> Result<Option<Finding>, StoreError> {
        let remaining = match state.quarantine {
            Some(lease) => match self.rest(lease).await? {
                Some(rest) => Some(rest.remaining),
                None => return Ok(None),
            },
            None => None,
        };
        let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let longest = Duration::from_secs(asker.longest(state));
        let question = |index| Question {
            seen: asker.seen,
            quarantine: asker.quarantine.max(longest),
            trust_empty_store: self.link.config.trust_empty_store,
            index,
            remaining,
            wall_clock: u64::try_from(wall_clock.as_micros()).unwrap_or(0),
        };
        if let Some(index) = early {
            let found = find(state, question(index));
            // An index from before the read may be too low for the state, which looks like a loss. It never hides
            // a loss.
            let is_certain = find(state, question(u64::MAX)).rewrite.is_some();
            if found.rewrite.is_none() || is_certain {
                return Ok(Some(found));
            }
        }
        Ok(Some(find(state, question(self.index().await?))))
    }

    /// Writes the grant: a new tenure, or the candidate's own again, which keeps its token and moves to the new
    /// lease.
    async fn grant_to(
        &self,
        state: &State,
        asker: &Asker<'_>,
        (finding, lease): (Finding, i64),
        granted: &mut Granted,
    ) -> Result<Result<Token, State>, StoreError> {
        let mut writes = self.history_writes(finding, granted).await?;
        let longest = asker.longest(state);
        if state.longest.as_ref().is_none_or(|found| found.value.0 < longest) {
            writes.push(put(&self.names.longest, &Longest(longest), None));
        }
        let (leader, last) = (self.names.leader.as_str(), self.names.last.as_str());
        let modified = state.leader.as_ref().map_or(0, |leader| leader.modified);
        let mut conditions = vec![
            Compare::mod_revision(leader, CompareOp::Equal, modified),
            self.same_history(state),
            Compare::mod_revision(
                self.names.longest.as_str(),
                CompareOp::Equal,
                state.longest.as_ref().map_or(0, |found| found.modified),
            ),
        ];
        let mut settings = Settings::new(asker.ttl, asker.quarantine);
        if let Some(mine) = &state.leader {
            let value = Leader { ttl: asker.ttl, ..mine.value.clone() };
            writes.push(put(leader, &value, Some(lease)));
            if let Some(declared) = &state.settings {
                settings.quarantine = declared.value.quarantine;
            }
        } else {
            let offset = finding.offset;
            let value = Leader::new(asker.holder, asker.ttl, offset, asker.profile);
            writes.push(put(leader, &value, Some(lease)));
            writes.push(put(last, &Last { offset, index: finding.index }, None));
            let modified = state.last.as_ref().map_or(0, |last| last.modified);
            conditions.push(Compare::mod_revision(last, CompareOp::Equal, modified));
        }
        writes.push(put(&self.names.settings, &settings, None));
        let revision = match self.transact(conditions, writes).await? {
            Outcome::Done { revision } => revision,
            Outcome::Changed(state) => return Ok(Err(*state)),
        };
        granted.tenure = None;
        granted.used(finding);
        let (created, token) = match &state.leader {
            Some(mine) => {
                self.discard(mine.lease);
                (mine.created, mine.token())
            }
            None => (revision, token(revision, finding.offset)),
        };
        let token = token.ok_or_else(beyond_all)?;
        let (holder, ttl) = (asker.holder, asker.ttl);
        self.prepare_to_keep(Tenure { holder, token, ttl, created, lease });
        Ok(Ok(token))
    }

    /// A quarantine begins in the same transaction as the history that needs it.
    fn same_history(&self, state: &State) -> Compare {
        let modified = state.history.as_ref().map_or(0, |history| history.modified);
        Compare::mod_revision(self.names.history.as_str(), CompareOp::Equal, modified)
    }

    async fn history_writes(
        &self,
        finding: Finding,
        granted: &mut Granted,
    ) -> Result<Vec<TxnOp>, StoreError> {
        let Some(rewrite) = finding.rewrite else { return Ok(Vec::new()) };
        let mut writes = vec![put(&self.names.history, &rewrite.history, None)];
        if let Some(seconds) = rewrite.quarantine {
            // From an earlier round, it has begun earlier, and may be of another length.
            if let Some(earlier) = granted.quarantine.take() {
                self.discard(earlier);
            }
            let (lease, _) = self.grant_at_least(seconds).await?;
            granted.quarantine = Some(lease);
            let options = etcd_client::PutOptions::new().with_lease(lease);
            writes.push(TxnOp::put(self.names.quarantine.as_str(), "tenure1", Some(options)));
        }
        Ok(writes)
    }

    /// The incumbent, as a reply has it.
    pub(super) async fn held(&self, leader: &Found<Leader>) -> Result<Reply, StoreError> {
        let remaining =
            self.rest(leader.lease).await?.map_or(0, |Rest { remaining, .. }| remaining);
        let token = leader.token().ok_or_else(beyond_all)?;
        let Leader { holder, ttl, name, metadata, .. } = leader.value.clone();
        let remaining = Duration::from_secs(remaining.min(ttl));
        let incumbent = crate::store::Incumbent::new(token, holder, name, metadata, remaining);
        Ok(Reply::Held(incumbent.with_ttl(Duration::from_secs(ttl))))
    }
}
