//! Logs the outages of a store: once when one begins, then at a bounded rate, once at its end.
//! Where the first line could only say that there was no reply, the next one follows as soon as the
//! cause is known.
//!
//! One driver may have a hundred thousand elections, each of which notices the same outage. The log
//! has one line for all of them; each election's own lines have level DEBUG.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::Instant;
use crate::logging::{self, LIFE};
use crate::shared::ElectionId;
use crate::store::{Key, StoreError, StoreErrorKind};

/// The log's interval in an outage that lasts.
const AGAIN: Duration = Duration::from_secs(60);

/// The least distance of outages logged at once. A shorter distance makes a flickering store fill
/// the log.
const APART: Duration = Duration::from_secs(10);

/// The elections whose last request was not answered.
pub(super) struct Outage {
    store: &'static str,
    without: BTreeSet<ElectionId>,
    since: Instant,
    /// The time when the log last spoke of an outage, and the kind of error.
    said: Option<(Instant, StoreErrorKind)>,
    /// True if it spoke of the present one.
    is_said: bool,
}

impl Outage {
    pub(super) fn new(store: &'static str) -> Self {
        let without = BTreeSet::new();
        Self { store, without, since: Instant::ORIGIN, said: None, is_said: false }
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.without.len()
    }

    /// The store no longer answers that election.
    pub(super) fn begins(&mut self, now: Instant, id: ElectionId, key: &Key, error: &StoreError) {
        if self.without.is_empty() {
            self.since = now;
            self.is_said = false;
        }
        self.without.insert(id);
        logging::debug!(target: LIFE, ?key, %error, "no answer from the store");
        if !self.is_said && self.said.is_none_or(|(at, _)| now.since(at) >= APART) {
            self.says(now, error);
            logging::warn!(
                target: LIFE, store = self.store, first = ?key, error = %error.with_causes(),
                "the store is unavailable"
            );
        }
    }

    /// A request has failed.
    pub(super) fn lasts(&mut self, now: Instant, error: &StoreError) {
        let Some((at, kind)) = self.said.filter(|_| !self.without.is_empty()) else { return };
        // A timeout says least: the cause turns out when the connection is gone, and connecting
        // fails.
        let is_cause = kind == StoreErrorKind::Timeout && error.kind() != kind;
        let bound = if self.is_said && !is_cause { AGAIN } else { APART };
        if now.since(at) < bound {
            return;
        }
        self.says(now, error);
        logging::warn!(
            target: LIFE, store = self.store, down = ?now.since(self.since), elections = self.without.len(),
            error = %error.with_causes(), "the store is still unavailable"
        );
    }

    fn says(&mut self, now: Instant, error: &StoreError) {
        self.is_said = true;
        self.said = Some((now, error.kind()));
    }

    /// The store answers that election again.
    pub(super) fn ends(&mut self, now: Instant, id: ElectionId, key: &Key) {
        logging::debug!(target: LIFE, ?key, "the store answers this candidate again");
        if self.without.remove(&id) && self.without.is_empty() && self.is_said {
            let down = now.since(self.since);
            logging::info!(target: LIFE, store = self.store, ?down, "the store answers again");
        }
    }

    /// An election is over. Whether the store would have answered it again is not known.
    pub(super) fn leaves(&mut self, id: ElectionId) {
        if self.without.remove(&id) && self.without.is_empty() && self.is_said {
            logging::info!(
                target: LIFE, store = self.store, "no candidate is left that the store does not answer"
            );
        }
    }
}
