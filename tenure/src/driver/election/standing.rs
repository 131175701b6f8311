//! What an election's handles may know of it between two tenures.

use std::sync::Arc;

use tenure_core::Stage;

use super::super::World;
use super::Election;
use crate::Instant;
use crate::shared::{Sighting, Standing};
use crate::store::{Incumbent, Reply};

impl Election {
    /// Announces what the candidate does after an input. A tenure, its end and the stop are announced as they
    /// happen.
    pub(super) fn announce(&self, world: &World) {
        let standing = match self.machine.stage() {
            Stage::Leading => return,
            Stage::Out | Stage::Ending if self.stopped => return,
            Stage::Out | Stage::Ending => Standing::HoldingOff,
            Stage::Campaigning => Standing::Campaigning(self.sighting.clone()),
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
        self.sighting =
            if let Reply::Held(incumbent) = reply { Some(self.seen(incumbent, now)) } else { None };
    }

    fn seen(&self, incumbent: &Incumbent, now: Instant) -> Arc<Sighting> {
        let known = self.sighting.as_ref().filter(|one| one.incumbent.token == incumbent.token);
        let first_seen_at = known.map_or(now, |one| one.first_seen_at);
        Arc::new(Sighting { incumbent: incumbent.clone(), seen_at: now, first_seen_at })
    }
}
