//! Refuses candidates whose TTL and quarantine contradict those of the last tenure: such candidates would not wait
//! for each other's leases after a loss of data.
//!
//! The settings of a tenure's candidate bind while its lease is live. Afterwards they bind for as long as a candidate
//! with them may still ask, and no longer, so that settings can be changed. A waiting candidate asks at least once in
//! its TTL. etcd has no clock for clients, and a key that was attached to the tenure's lease is gone with it. So the
//! time is counted by an etcd lease that begins with the first candidate that is refused after the tenure: grants and
//! renewals cost nothing more.

use std::time::Duration;

use etcd_client::{Compare, CompareOp};

use super::acquire::Asker;
use super::record::Settings;
use super::session::{Outcome, Session, put};
use super::state::{Found, State};
use crate::store::{Reply, StoreError};

impl Session<'_> {
    /// The refusal of a candidate that does not hold the lease; `None` if its settings are accepted.
    pub(super) async fn contradiction(
        &self,
        state: &State,
        asker: &Asker<'_>,
    ) -> Result<Option<Reply>, StoreError> {
        let declared = state.settings.as_ref();
        let live = state.leader.as_ref().map(|leader| leader.value.ttl);
        let Some(ttl) = live.or(declared.map(|found| found.value.ttl)) else { return Ok(None) };
        let (ttl, own_ttl) = (Duration::from_secs(ttl), Duration::from_secs(asker.ttl));
        let quarantine = declared.map(|found| found.value.quarantine());
        let is_too_short = |quarantine| quarantine < own_ttl;
        if asker.quarantine >= ttl && !quarantine.is_some_and(is_too_short) {
            return Ok(None);
        }
        if let (None, Some(declared)) = (live, declared)
            && !self.still_binds(declared).await?
        {
            return Ok(None);
        }
        Ok(Some(Reply::Refused { ttl, quarantine }))
    }

    /// Whether the settings of a tenure that is over still bind.
    async fn still_binds(&self, declared: &Found<Settings>) -> Result<bool, StoreError> {
        let settings = declared.value;
        if let Some(lease) = settings.binding {
            return Ok(self.rest(lease).await?.is_some());
        }
        let longest = Duration::from_secs(settings.ttl).max(settings.quarantine());
        let seconds = longest.as_secs() + u64::from(longest.subsec_nanos() > 0);
        let (lease, _) = self.grant_at_least(seconds).await?;
        let name = self.names.settings.as_str();
        let unchanged = Compare::mod_revision(name, CompareOp::Equal, declared.modified);
        let binding = Settings { binding: Some(lease), ..settings };
        // A faster request has begun the same time, or was granted the lease.
        if let Outcome::Changed(_) =
            self.transact(vec![unchanged], vec![put(name, &binding, None)]).await?
        {
            self.discard(lease);
        }
        Ok(true)
    }
}
