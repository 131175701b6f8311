//! Announces an election to its handles between two tenures.

use std::sync::Arc;

use tenure_core::{Mark, Stage};

use super::Election;
use crate::Instant;
use crate::shared::{Sighting, Standing};
use crate::store::{Incumbent, Reply};

/// The store's last answer.
pub(in super::super) enum Answer {
    /// Another candidate holds the lease.
    Held(Arc<Sighting>),
    Other,
}

impl Election {
    /// Announces the candidate's stage. A tenure, its end and the stop are announced as they happen.
    pub(in super::super) fn stands(&self, stage: Stage, now: Instant) {
        let standing = match (stage, &self.answer) {
            (Stage::Leading, _) => return,
            (Stage::Ending, _) => Standing::Ending,
            (Stage::Out, _) => Standing::HoldingOff,
            (Stage::Campaigning | Stage::Watching { .. }, Answer::Held(sighting)) => {
                Standing::Campaigning(Some(Arc::clone(sighting)))
            }
            (Stage::Watching { until }, Answer::Other) => Standing::Watching(until),
            (Stage::Campaigning, Answer::Other) => Standing::Campaigning(None),
        };
        self.shared.standing.set(standing, now);
    }

    /// The store has answered one of the machine's requests.
    pub(in super::super) fn answered(&mut self, reply: &Reply, now: Instant) {
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
