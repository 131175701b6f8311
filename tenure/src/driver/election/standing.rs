//! Announces an election to its handles between two tenures.

use std::sync::Arc;

use tenure_core::{Mark, Stage};

use super::super::World;
use super::Election;
use crate::Instant;
use crate::shared::{Sighting, Standing};
use crate::store::{Incumbent, Reply};

/// The store's last answer.
pub(super) enum Answer {
    /// Another candidate holds the lease.
    Held(Arc<Sighting>),
    Other,
}

impl Election {
    /// Announces what the candidate does after an input. A tenure, its end and the stop are
    /// announced as they happen.
    pub(super) fn announce(&self, world: &World) {
        let standing = match self.machine.stage() {
            Stage::Leading => return,
            Stage::Out | Stage::Ending if self.stopped => return,
            Stage::Ending => Standing::Ending,
            Stage::Out => Standing::HoldingOff,
            Stage::Campaigning | Stage::Watching { .. } => {
                match (&self.answer, self.machine.stage()) {
                    (Answer::Held(sighting), _) => {
                        Standing::Campaigning(Some(Arc::clone(sighting)))
                    }
                    (Answer::Other, Stage::Watching { until }) => Standing::Watching(until),
                    (Answer::Other, _) => Standing::Campaigning(None),
                }
            }
        };
        self.shared.standing.set(standing, world.runtime.now());
    }

    /// The store has answered one of the machine's requests.
    pub(super) fn answered(&mut self, reply: &Reply, now: Instant) {
        if !self.has_answered {
            self.has_answered = true;
            self.shared.standing.store_answers();
        }
        let shown = match reply {
            Reply::Not(shown) | Reply::At(shown) => shown.incumbent().map(|seen| (seen, shown)),
            Reply::Granted { .. }
            | Reply::Renewed { .. }
            | Reply::Superseded { .. }
            | Reply::Released
            | Reply::NotHeld
            | Reply::Described
            | Reply::Noted
            | Reply::NotNoted
            | Reply::Vacant
            | Reply::Notified { .. } => None,
        };
        let renewal = shown.as_ref().and_then(|(_, shown)| shown.renewal());
        self.answer = match (shown, renewal) {
            (Some((incumbent, _)), Some(renewal)) => {
                Answer::Held(self.seen(incumbent, renewal, now))
            }
            _ => Answer::Other,
        };
    }

    fn seen(&self, incumbent: Incumbent, renewal: (Mark, Instant), now: Instant) -> Arc<Sighting> {
        let (mut first_seen_at, mut unchanged_since) = (now, now);
        if let Answer::Held(known) = &self.answer {
            if known.incumbent.token == incumbent.token {
                first_seen_at = known.first_seen_at;
            }
            if known.renewal == renewal {
                unchanged_since = known.unchanged_since;
            }
        }
        Arc::new(Sighting { incumbent, renewal, unchanged_since, first_seen_at })
    }
}
