//! Logs the outages of a store, when [`Lines`] says so: one line for all elections of a driver. Each
//! election's own lines have level DEBUG.

use tenure_driver::Outage as Lines;

use crate::Instant;
use crate::logging::{self, LIFE};
use crate::shared::ElectionId;
use crate::store::{Key, StoreError, StoreErrorKind};

pub(super) struct Outage {
    store: &'static str,
    lines: Lines<StoreErrorKind>,
}

impl Outage {
    pub(super) fn new(store: &'static str) -> Self {
        Self { store, lines: Lines::new(StoreErrorKind::Timeout) }
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.lines.elections()
    }

    /// The store no longer answers that election.
    pub(super) fn begins(&mut self, now: Instant, id: ElectionId, key: &Key, error: &StoreError) {
        logging::debug!(target: LIFE, ?key, %error, "no answer from the store");
        if self.lines.begins(now, id, error.kind()) {
            logging::warn!(
                target: LIFE, store = self.store, first = ?key, error = %error.with_causes(),
                "the store is unavailable"
            );
        }
    }

    /// A request has failed.
    pub(super) fn lasts(&mut self, now: Instant, error: &StoreError) {
        if let Some(down) = self.lines.lasts(now, error.kind()) {
            logging::warn!(
                target: LIFE, store = self.store, ?down, elections = self.lines.elections(),
                error = %error.with_causes(), "the store is still unavailable"
            );
        }
    }

    /// The store answers that election again.
    pub(super) fn ends(&mut self, now: Instant, id: ElectionId, key: &Key) {
        logging::debug!(target: LIFE, ?key, "the store answers this candidate again");
        if let Some(down) = self.lines.ends(now, id) {
            logging::info!(target: LIFE, store = self.store, ?down, "the store answers again");
        }
    }

    /// An election is over. Whether the store would have answered it again is not known.
    pub(super) fn leaves(&mut self, id: ElectionId) {
        if self.lines.leaves(id) {
            logging::info!(
                target: LIFE, store = self.store, "no candidate is left that the store does not answer"
            );
        }
    }
}
