//! Renew, release, observe: what becomes of a lease that was granted.

use etcd_client::{Compare, CompareOp, TxnOp};

use super::record::Leader;
use super::session::{Outcome, ROUNDS, Session};
use super::state::Found;
use crate::store::{Reply, StoreError};
use crate::{HolderId, Token};

impl Session<'_> {
    /// Keepalives name an etcd lease, and a lease belongs to one tenure: whatever is delayed or
    /// repeated extends that tenure and no other, and one that is over can't be brought back.
    ///
    /// Which lease it is, this connection remembers; another one of the same holder reads it.
    pub(super) async fn renew(
        &self,
        holder: HolderId,
        token: Token,
        ttl: u64,
    ) -> Result<Reply, StoreError> {
        let kept = self.live.take(self.key);
        if let Some(kept) =
            kept.filter(|kept| (kept.holder, kept.token, kept.ttl) == (holder, token, ttl))
            && self.keep(kept).await?
        {
            return Ok(Reply::Renewed);
        }
        for _ in 0..ROUNDS {
            let state = self.read().await?;
            let Some(leader) = state.leader.as_ref().filter(|leader| is_of(leader, holder, token))
            else {
                return Ok(Reply::Superseded { last: state.last_token() });
            };
            if self.extend(leader, ttl).await? {
                return Ok(Reply::Renewed);
            }
        }
        Err(Self::busy())
    }

    /// Deleting the key ends the lease and wakes those who watch it; the etcd lease that is left has no
    /// key any more.
    pub(super) async fn release(
        &self,
        holder: HolderId,
        token: Token,
    ) -> Result<Reply, StoreError> {
        let kept = self.live.take(self.key);
        let kept = kept.filter(|kept| (kept.holder, kept.token) == (holder, token));
        let (created, lease) = match kept {
            Some(kept) => (kept.created, kept.lease),
            None => match self.leader().await?.filter(|leader| is_of(leader, holder, token)) {
                Some(leader) => (leader.created, leader.lease),
                None => return Ok(Reply::NotHeld),
            },
        };
        let name = self.names.leader.as_str();
        let still = Compare::create_revision(name, CompareOp::Equal, created);
        match self.transact(vec![still], vec![TxnOp::delete(name, None)]).await? {
            Outcome::Done { .. } => {
                self.discard(lease);
                Ok(Reply::Released)
            }
            Outcome::Changed(_) => Ok(Reply::NotHeld),
        }
    }

    pub(super) async fn observe(&self) -> Result<Reply, StoreError> {
        match self.leader().await? {
            Some(leader) => self.held(&leader).await,
            None => Ok(Reply::Vacant),
        }
    }
}

fn is_of(leader: &Found<Leader>, holder: HolderId, token: Token) -> bool {
    leader.value.holder == holder && leader.token() == Some(token)
}
