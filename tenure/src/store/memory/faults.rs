//! What a test does to the store itself, beyond what any request can.

use super::Memory;
use crate::store::{Key, Profile, Reply, Request};
use crate::{HolderId, Token};

impl Memory {
    /// Ends the lease at once. False if no candidate holds it.
    pub(crate) fn expire(&self, key: &Key) -> bool {
        let now = self.now();
        self.with(key, |election, _| {
            let live = election.record.as_mut().filter(|record| record.is_live(now));
            let found = live.map(|record| record.lease_end = now);
            found.is_some()
        })
    }

    /// Ends the lease at once and grants it to that holder, with the same settings. `None` if no candidate holds it.
    pub(crate) fn supersede(&self, key: &Key, holder: HolderId, profile: Profile) -> Option<Token> {
        let now = self.now();
        self.with(key, |election, history| {
            let record = election.record.as_mut().filter(|record| record.is_live(now))?;
            record.lease_end = now;
            let (seen, ttl) = (Some(record.token), record.ttl);
            let quarantine = record.quarantine.unwrap_or(ttl);
            let acquire = Request::Acquire { holder, seen, ttl, quarantine, profile };
            let reply = election.step(history, now, acquire);
            if let Reply::Granted { token, .. } = reply { Some(token) } else { None }
        })
    }

    /// Forgets every lease, and since when it knew them.
    pub(crate) fn lose_data(&self) {
        let mut kept = self.kept();
        for election in kept.elections.values_mut() {
            (election.record, election.profile) = (None, None);
        }
        kept.history = None;
    }
}
