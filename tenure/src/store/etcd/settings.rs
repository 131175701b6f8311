//! Candidates whose settings contradict each other would not wait for each other's leases after a loss of data: one
//! whose TTL and quarantine contradict those of the last tenure is refused.
//!
//! While a lease is live, so are the settings of its candidate. Afterwards they bind for as long as such a
//! candidate may be about to ask, and no longer, or else nobody could ever change them. A candidate that waits asks
//! at least once in its TTL. etcd gives no clock out, and a key that was attached to the tenure's lease is gone with
//! it. So the time is counted by an etcd lease that begins with the first candidate that is refused after the
//! tenure: it costs a grant or a renewal nothing.

use std::time::Duration;

use etcd_client::{Compare, CompareOp};

use super::acquire::Asker;
use super::record::Settings;
use super::session::{Outcome, Session, put};
use super::state::{Found, State};
use crate::store::{Reply, StoreError};

impl Session<'_> {
    /// The refusal of an asker that does not hold the lease; `None` if there is nothing to refuse.
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

    /// Whether the settings of a tenure that is over bind those who ask now.
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
        // Whoever was faster has begun the same time, or was granted the lease.
        if let Outcome::Changed(_) =
            self.transact(vec![unchanged], vec![put(name, &binding, None)]).await?
        {
            self.discard(lease);
        }
        Ok(true)
    }
}
