//! Acquire: who is granted the lease, and what that writes.
//!
//! 1. One read tells whether the lease is live and what the last tenure was. Most candidates get their
//!    answer here and have written nothing.
//! 2. An etcd lease of the TTL is granted, and meanwhile the cluster is asked what tells whether its past is
//!    whole. If this is as far as it gets, the lease has no key, and ends by itself.
//! 3. One transaction writes the grant, on condition that everything it was decided by stands as it was
//!    read. A delayed or repeated one fails: each grant changes `last`.
//!
//! If the reply to that is lost, the candidate asks again, finds itself in the key, and gets the same
//! token once its lease has been renewed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{Compare, CompareOp, TxnOp};

use super::history::{Finding, Question, find};
use super::record::{Last, Leader};
use super::session::{Outcome, ROUNDS, Rest, Session, put};
use super::state::{Found, State, token, unexpected};
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
        // After an error nobody knows whether their keys were written.
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
        let mut state = self.read().await?;
        for _ in 0..ROUNDS {
            let mine = match &state.leader {
                Some(leader) if leader.value.holder == asker.holder => Some(leader),
                Some(leader) => return self.held(leader).await,
                None => None,
            };
            if let Some(last) =
                state.last_token().filter(|last| mine.is_none() && asker.seen < Some(*last))
            {
                return Ok(Reply::Stale { last });
            }
            if let Some(leader) = mine
                && !self.extend(leader, asker.ttl).await?
            {
                state = self.read().await?;
                continue;
            }
            let (finding, lease) = futures_util::try_join!(
                self.look_into_the_past(&state, asker),
                self.lease_of(mine, asker.ttl, &mut granted.tenure),
            )?;
            let Some(finding) = finding else {
                state = self.read().await?;
                continue;
            };
            let written = match mine {
                Some(leader) => self.grant_again(&state, leader, finding, granted).await?,
                None => self.grant_anew(&state, asker, (finding, lease), granted).await?,
            };
            match written {
                Ok(token) => return Ok(Reply::Granted { token, wait: finding.wait }),
                Err(changed) => state = changed,
            }
        }
        Err(Self::busy())
    }

    /// The tenure's own etcd lease, or one for a tenure to come: that of an earlier round if there is one.
    async fn lease_of(
        &self,
        tenure: Option<&Found<Leader>>,
        ttl: u64,
        granted: &mut Option<i64>,
    ) -> Result<i64, StoreError> {
        match (tenure, *granted) {
            (Some(leader), _) => Ok(leader.lease),
            (None, Some(lease)) => Ok(lease),
            (None, None) => Ok(*granted.insert(self.grant(ttl).await?)),
        }
    }

    /// `None` if the quarantine ended meanwhile.
    async fn look_into_the_past(
        &self,
        state: &State,
        asker: &Asker<'_>,
    ) -> Result<Option<Finding>, StoreError> {
        let remaining = match state.quarantine {
            Some(lease) => match self.rest(lease).await? {
                Some(rest) => Some(rest.remaining),
                None => return Ok(None),
            },
            None => None,
        };
        let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let question = Question {
            seen: asker.seen,
            quarantine: asker.quarantine,
            trust_empty_store: self.link.config.trust_empty_store,
            index: self.index().await?,
            remaining,
            wall_clock: u64::try_from(wall_clock.as_micros()).unwrap_or(0),
        };
        Ok(Some(find(state, question)))
    }

    /// The tenure is there and extended; only the past may have to be written down.
    async fn grant_again(
        &self,
        state: &State,
        leader: &Found<Leader>,
        finding: Finding,
        granted: &mut Granted,
    ) -> Result<Result<Token, State>, StoreError> {
        let token = leader.token().ok_or_else(|| unexpected("a token beyond all"))?;
        let writes = self.history_writes(finding, granted).await?;
        if writes.is_empty() {
            return Ok(Ok(token));
        }
        let name = self.names.leader.as_str();
        let still = Compare::create_revision(name, CompareOp::Equal, leader.created);
        let outcome = self.transact(vec![still, self.same_history(state)], writes).await?;
        Ok(match outcome {
            Outcome::Done { .. } => {
                granted.used(finding);
                Ok(token)
            }
            Outcome::Changed(state) => Err(*state),
        })
    }

    async fn grant_anew(
        &self,
        state: &State,
        asker: &Asker<'_>,
        (finding, lease): (Finding, i64),
        granted: &mut Granted,
    ) -> Result<Result<Token, State>, StoreError> {
        let mut writes = self.history_writes(finding, granted).await?;
        let offset = finding.offset;
        let leader = Leader::new(asker.holder, asker.ttl, offset, asker.profile);
        let last = Last { offset, index: finding.index };
        writes.push(put(&self.names.leader, &leader, Some(lease)));
        writes.push(put(&self.names.last, &last, None));
        let name = self.names.last.as_str();
        let modified = state.last.as_ref().map_or(0, |last| last.modified);
        let conditions = vec![
            Compare::create_revision(self.names.leader.as_str(), CompareOp::Equal, 0),
            Compare::mod_revision(name, CompareOp::Equal, modified),
            self.same_history(state),
        ];
        Ok(match self.transact(conditions, writes).await? {
            Outcome::Done { revision } => {
                granted.tenure = None;
                granted.used(finding);
                Ok(token(revision, offset).ok_or_else(|| unexpected("a token beyond all"))?)
            }
            Outcome::Changed(state) => Err(*state),
        })
    }

    /// A quarantine begins together with the history that needs it, and nobody finds one alone.
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

    /// The incumbent, as others are told of it.
    pub(super) async fn held(&self, leader: &Found<Leader>) -> Result<Reply, StoreError> {
        let remaining =
            self.rest(leader.lease).await?.map_or(0, |Rest { remaining, .. }| remaining);
        let token = leader.token().ok_or_else(|| unexpected("a token beyond all"))?;
        let Leader { holder, ttl, name, metadata, .. } = leader.value.clone();
        let remaining = Duration::from_secs(remaining.min(ttl));
        Ok(Reply::Held(crate::store::Incumbent::new(token, holder, name, metadata, remaining)))
    }
}
