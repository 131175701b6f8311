//! The next deadline of each election, in order.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::Instant;

use crate::alphabet::ElectionId;

/// Deadlines are replaced, never cancelled: an election derives its deadline from its state after
/// every input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Instant, ElectionId)>);

impl Timers {
    /// Replaces the deadline of an election, which keeps it in `kept`.
    pub(crate) fn set(
        &mut self,
        id: ElectionId,
        kept: &mut Option<Instant>,
        deadline: Option<Instant>,
    ) {
        let before = std::mem::replace(kept, deadline);
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, id));
        }
        if let Some(at) = deadline {
            self.0.insert((at, id));
        }
    }

    /// An election whose deadline has come, and how late that is noticed; it is set anew at once.
    pub(crate) fn due(&self, now: Instant) -> Option<(ElectionId, Duration)> {
        let (at, id) = self.0.first()?;
        (now >= *at).then(|| (*id, now.since(*at)))
    }

    pub(crate) fn remembers(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }
}
