//! What an election's handles may know of it between two tenures.

use std::sync::Arc;

use tenure_core::Stage;

use super::super::World;
use super::Election;
use crate::Instant;
use crate::shared::{Refusal, Sighting, Standing};
use crate::store::{Incumbent, Reply};

/// The store's last answer.
pub(super) enum Answer {
    /// To an acquire: another candidate holds the lease.
    Held(Arc<Sighting>),
    /// To an acquire: the settings contradict another candidate's.
    Refused(Arc<Refusal>),
    Other,
}

impl Election {
    /// Announces what the candidate does after an input. A tenure, its end and the stop are announced as they
    /// happen.
    pub(super) fn announce(&self, world: &World) {
        let standing = match self.machine.stage() {
            Stage::Leading => return,
            Stage::Out | Stage::Ending if self.stopped => return,
            Stage::Out | Stage::Ending => Standing::HoldingOff,
            Stage::Campaigning => match &self.answer {
                Answer::Held(sighting) => Standing::Campaigning(Some(Arc::clone(sighting))),
                Answer::Refused(refusal) => Standing::Refused(Arc::clone(refusal)),
                Answer::Other => Standing::Campaigning(None),
            },
            Stage::Quarantined { until } => Standing::Quarantined(until),
        };
        self.shared.standing.set(standing, world.runtime.now());
    }

    /// The store has answered one of the machine's requests.
    pub(super) fn answered(&mut self, reply: &Reply, now: Instant) {
        if !self.has_answered {
            self.has_answered = true;
            self.shared.standing.store_answers();
        }
        self.answer = match reply {
            Reply::Held(incumbent) => Answer::Held(self.seen(incumbent, now)),
            Reply::Refused { ttl, quarantine } => {
                Answer::Refused(Arc::new(Refusal { ttl: *ttl, quarantine: *quarantine }))
            }
            Reply::Granted { .. }
            | Reply::Stale { .. }
            | Reply::Renewed
            | Reply::Superseded { .. }
            | Reply::Released
            | Reply::NotHeld
            | Reply::Described
            | Reply::Vacant
            | Reply::Notified { .. } => Answer::Other,
        };
    }

    fn seen(&self, incumbent: &Incumbent, now: Instant) -> Arc<Sighting> {
        let first_seen_at = match &self.answer {
            Answer::Held(known) if known.incumbent.token == incumbent.token => known.first_seen_at,
            Answer::Held(_) | Answer::Refused(_) | Answer::Other => now,
        };
        Arc::new(Sighting { incumbent: incumbent.clone(), seen_at: now, first_seen_at })
    }
}
