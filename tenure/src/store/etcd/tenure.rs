//! Renew, release, describe and observe: the requests about a lease that was granted.

use etcd_client::{Compare, CompareOp, TxnOp};

use super::keep::Tenure;
use super::link::Known;
use super::record::Leader;
use super::session::{Outcome, ROUNDS, Session, put};
use super::state::Found;
use crate::store::{Profile, Reply, StoreError};
use crate::{HolderId, Token};

impl Session<'_> {
    /// A keepalive names an etcd lease, and a lease belongs to one tenure: a delayed or repeated keepalive
    /// extends that tenure and no other, and does not revive one that is over.
    ///
    /// This process remembers the lease; another process of the same holder reads it. After its keepalive, each
    /// renewal reads whether the lease is still the tenure's.
    pub(super) async fn renew(
        &self,
        holder: HolderId,
        token: Token,
        ttl: u64,
    ) -> Result<Reply, StoreError> {
        let is_kept = match self.remembered(holder, token) {
            Some(tenure) if tenure.ttl == ttl => self.keep(tenure).await?,
            Some(_) | None => false,
        };
        if is_kept {
            return Ok(Reply::Renewed);
        }
        for _ in 0..ROUNDS {
            let state = self.read().await?;
            let Some(leader) = state.leader.as_ref().filter(|leader| is_of(leader, holder, token))
            else {
                return Ok(Reply::Superseded { last: state.last_token() });
            };
            if self.extend(&state, leader, ttl).await? {
                return Ok(Reply::Renewed);
            }
        }
        Err(Self::busy())
    }

    /// The tenure, if this process knows its lease.
    pub(super) fn remembered(&self, holder: HolderId, token: Token) -> Option<Tenure> {
        match self.link.known(self.key) {
            Some(Known::Ours(known)) if (known.holder, known.token) == (holder, token) => {
                Some(known)
            }
            Some(Known::Ours(_) | Known::Held) | None => None,
        }
    }

    /// Deleting the key ends the lease and wakes its watches; the etcd lease that is left has no key any
    /// more.
    ///
    /// The revisions of a cluster that has lost its data begin again, so that another tenure's key may have the remembered
    /// one. No other cluster gives an etcd lease the same id.
    pub(super) async fn release(
        &self,
        holder: HolderId,
        token: Token,
    ) -> Result<Reply, StoreError> {
        let known = self.remembered(holder, token);
        self.link.forget(self.key);
        if let Some(tenure) = known
            && self.delete(tenure.created, tenure.lease).await?
        {
            return Ok(Reply::Released);
        }
        // Another process of the same holder may have moved the key to another etcd lease.
        let leader = self.leader().await?.filter(|leader| is_of(leader, holder, token));
        let Some(leader) = leader else { return Ok(Reply::NotHeld) };
        let is_deleted = self.delete(leader.created, leader.lease).await?;
        Ok(if is_deleted { Reply::Released } else { Reply::NotHeld })
    }

    /// Deletes the leader's key, if it is the one that was created then, with that etcd lease. Returns whether it was.
    async fn delete(&self, created: i64, lease: i64) -> Result<bool, StoreError> {
        let name = self.names.leader.as_str();
        let still = vec![
            Compare::create_revision(name, CompareOp::Equal, created),
            Compare::lease(name, CompareOp::Equal, lease),
        ];
        let done = self.transact(still, vec![TxnOp::delete(name, None)]).await?;
        let is_done = matches!(done, Outcome::Done { .. });
        if is_done {
            self.discard(lease);
        }
        Ok(is_done)
    }

    /// Rewrites the tenure's record, if it has an older profile. Its key keeps its create revision and its etcd lease.
    pub(super) async fn describe(
        &self,
        (holder, token): (HolderId, Token),
        version: u64,
        profile: &Profile,
    ) -> Result<Reply, StoreError> {
        let key = self.names.leader.as_str();
        for _ in 0..ROUNDS {
            let leader = self.leader().await?.filter(|leader| is_of(leader, holder, token));
            let Some(leader) = leader else { return Ok(Reply::NotHeld) };
            if leader.value.version >= version {
                return Ok(Reply::Described);
            }
            let (name, metadata) = (profile.name().to_owned(), profile.metadata().clone());
            let value = Leader { name, metadata, version, ..leader.value };
            let still = vec![Compare::mod_revision(key, CompareOp::Equal, leader.modified)];
            let write = vec![put(key, &value, Some(leader.lease))];
            if let Outcome::Done { .. } = self.transact(still, write).await? {
                return Ok(Reply::Described);
            }
        }
        Err(Self::busy())
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
