//! Requests other than renewals: one read, the contract's decision, and one transaction on
//! condition that all that was read is unchanged.
//!
//! An acquire asks at the same time for the length of the cluster's log, by which a restored
//! snapshot is noticed, and for an etcd lease of its TTL: two round trips in all. If nothing is
//! granted, that lease has no key, and is revoked.
//!
//! If the reply to a grant is lost, the candidate asks again, finds itself in the record, and gets
//! the same token: the transaction then moves its key to the new etcd lease. A candidate that
//! acquires has no tenure, so no renewal of its own can be under way that would have extended the
//! previous one.
//!
//! A transaction that fails has changed nothing, and brings what has changed: the request is
//! decided again, for as long as its caller waits. Each time another request was carried out, so
//! some do end. After an error the outcome is unknown, and nothing is sent again.

use std::time::Duration;

use etcd_client::TxnOp;
use tenure_core::{Acquire, Sight};

use super::decide::Change;
use super::keep::Tenure;
use super::record::Election;
use super::session::{Outcome, Session, wall, whole_seconds};
use super::state::State;
use crate::store::{Profile, Reply, Shown, StoreError};
use crate::{HolderId, Instant, Token};

/// An etcd lease that no key is attached to yet, and its TTL in seconds.
type Unused = Option<(i64, u64)>;

impl Session<'_> {
    pub(super) async fn acquire(
        &self,
        asks: Acquire,
        profile: &Profile,
    ) -> Result<Reply, StoreError> {
        let mut unused = None;
        let reply = self.acquire_with(asks, profile, &mut unused).await;
        // After an error it is unknown whether a key was attached to it.
        if let (Ok(_), Some((lease, _))) = (&reply, unused) {
            self.discard(lease);
        }
        reply
    }

    async fn acquire_with(
        &self,
        asks: Acquire,
        profile: &Profile,
        unused: &mut Unused,
    ) -> Result<Reply, StoreError> {
        let asked = tenure_core::Request::Acquire(asks);
        let ttl = whole_seconds(asks.ttl)?;
        // A lease that was not granted is asked for again, if it is needed.
        let (state, index, _) =
            futures_util::join!(self.read_alone(), self.index(), self.lease_of(ttl, unused));
        let (mut state, index) = (state?, index?);
        loop {
            self.compare(&mut state, index).await?;
            let decided = self.decide(&mut state, asked).await?;
            let lease = match (decided.change, decided.record) {
                (Change::Granted, _) => Some(self.lease_of(ttl, unused).await?),
                (Change::Again, Some(record)) => {
                    Some(self.lease_of(whole_seconds(record.ttl)?, unused).await?)
                }
                _ => None,
            };
            let mut revision = state.revision + 1;
            if decided.writes() {
                match self.write(&state, &decided, lease, Some(profile)).await? {
                    Outcome::Done { revision: done } => revision = done,
                    Outcome::Changed(present) => {
                        state = *present;
                        continue;
                    }
                }
            }
            let (Reply::Granted { token }, Some(lease)) =
                (Reply::from_contract(decided.reply, || state.profile()), lease)
            else {
                return Ok(Reply::from_contract(decided.reply, || state.profile()));
            };
            *unused = None;
            let token = match state.leader {
                Some(before) => {
                    self.discard(before.lease);
                    token
                }
                None => later(token, revision - (state.revision + 1)),
            };
            self.link.remember(self.key, Tenure { holder: asks.holder, token, lease });
            self.prepare_to_keep(lease);
            return Ok(Reply::Granted { token });
        }
    }

    /// An etcd lease of that TTL: the unused one, if it has the same.
    async fn lease_of(&self, ttl: u64, unused: &mut Unused) -> Result<i64, StoreError> {
        if let Some((lease, granted)) = *unused {
            if granted == ttl {
                return Ok(lease);
            }
            *unused = None;
            self.discard(lease);
        }
        let lease = self.grant(ttl).await?;
        *unused = Some((lease, ttl));
        Ok(lease)
    }

    /// A look, an ask, a want, or a release: deleting the leader's key wakes those that watch it,
    /// and leaves an etcd lease without a key.
    pub(super) async fn step(&self, asked: tenure_core::Request) -> Result<Reply, StoreError> {
        if let tenure_core::Request::Release { holder, token, .. } = asked {
            // Whatever comes of it, the candidate renews it no more.
            self.link.forget(self.key, (holder, token));
        }
        let mut state = self.read().await?;
        loop {
            let decided = self.decide(&mut state, asked).await?;
            if decided.writes()
                && let Outcome::Changed(present) = self.write(&state, &decided, None, None).await?
            {
                state = *present;
                continue;
            }
            if let (Change::Released, Some(leader)) = (decided.change, state.leader) {
                self.discard(leader.lease);
            }
            return Ok(Reply::from_contract(decided.reply, || state.profile()));
        }
    }

    /// Rewrites what the record tells of the candidate, if that is older.
    pub(super) async fn describe(
        &self,
        (holder, token): (HolderId, Token),
        version: u64,
        profile: &Profile,
    ) -> Result<Reply, StoreError> {
        let mut state = self.read_alone().await?;
        loop {
            let is_its = |election: &Election| {
                (election.record.holder, election.record.token) == (holder, token)
            };
            let kept = state.election.as_ref().map(|found| &found.value);
            let Some(kept) = kept.filter(|kept| is_its(kept)) else { return Ok(Reply::NotHeld) };
            if kept.version >= version {
                return Ok(Reply::Described);
            }
            let value = Election { version, profile: profile.clone(), ..kept.clone() };
            let write = TxnOp::put(self.names.record.as_str(), value.write(false), None);
            match self.transact(&state, vec![write]).await? {
                Outcome::Done { .. } => return Ok(Reply::Described),
                Outcome::Changed(present) => state = *present,
            }
        }
    }

    /// A renewal is not written: the server is asked how long ago it was.
    pub(super) async fn observe(&self) -> Result<Reply, StoreError> {
        let state = self.read_alone().await?;
        let (now, mut record) = (wall(), state.record());
        if let (Some(record), Some(leader)) = (&mut record, state.leader) {
            let remaining = self.remaining(leader.lease).await?;
            let ago = record.ttl.saturating_sub(Duration::from_secs(remaining));
            record.written = Instant::ORIGIN + now.since(Instant::ORIGIN + ago);
        }
        let purged = || state.history.as_ref().and_then(|found| found.value.past.purged);
        let last = record.map_or_else(purged, |record| Some(record.token));
        let sight = Sight { last, record, past: None, now };
        Ok(Reply::At(Shown { sight, profile: state.profile() }))
    }
}

impl State {
    pub(super) fn profile(&self) -> Option<Profile> {
        self.election.as_ref().map(|found| found.value.profile.clone())
    }
}

/// A grant that was written so much later than at the next revision has a token as much higher.
fn later(least: Token, revisions: u64) -> Token {
    Token::new(least.get().saturating_add(revisions)).unwrap_or(least)
}
