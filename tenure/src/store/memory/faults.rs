//! A test's faults in the store itself, beyond those of any request.

use tenure_core::{Acquire, NameId};

use super::Memory;
use crate::store::{Key, Profile, Reply, Request};
use crate::{HolderId, Token};

impl Memory {
    /// Gives the lease back at once, as if its holder had. False if no candidate holds it.
    pub(crate) fn expire(&self, key: &Key) -> bool {
        self.with(key, |election| {
            let held = election.record.as_mut().filter(|record| !record.released);
            held.map(|record| record.released = true).is_some()
        })
    }

    /// Ends the lease at once and grants it to that holder, with the same settings. `None` if no
    /// candidate holds it.
    pub(crate) fn supersede(&self, key: &Key, holder: HolderId, profile: Profile) -> Option<Token> {
        let record =
            self.with(key, |election| election.record.filter(|record| !record.released))?;
        let name = NameId::from_bits(holder.to_bits());
        let asks = Acquire {
            seen: Some(record.token),
            mark: Some(record.mark()),
            quarantine: record.quarantine,
            ..Acquire::new(holder, record.number, record.ttl, name)
        };
        match self.step(key, Request::Acquire { asks, profile }) {
            Reply::Granted { token } => Some(token),
            _ => None,
        }
    }

    /// Forgets every lease, and its past.
    pub(crate) fn lose_data(&self) {
        let mut kept = self.kept();
        for election in kept.elections.values_mut() {
            (election.record, election.profile) = (None, None);
        }
        kept.past = None;
    }
}
