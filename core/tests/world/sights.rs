//! The situations that a run has seen.

use tenure_core::Event;

/// Situations without which a run proves little.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "a list of independent sightings")]
pub(crate) struct Sights {
    pub(crate) leads: bool,
    pub(crate) takeovers: bool,
    pub(crate) quarantines: bool,
    pub(crate) expiries: bool,
    pub(crate) superseded: bool,
    pub(crate) drains_covered: bool,
    pub(crate) drains_extended: bool,
    pub(crate) late_renewals: bool,
    pub(crate) stale_acquires: bool,
    pub(crate) releases: bool,
    pub(crate) lost_while_led: bool,
    pub(crate) admitted_late: bool,
    pub(crate) renewed_early: bool,
}

impl Sights {
    pub(super) fn note(&mut self, event: Event) {
        use tenure_core::StepDownReason::{Expired, Superseded};
        match event {
            Event::SteppedDown { reason: Expired, .. } => self.expiries = true,
            Event::SteppedDown { reason: Superseded, .. } => self.superseded = true,
            Event::DrainUntil { .. } => self.drains_extended = true,
            Event::Quarantined { .. } => self.quarantines = true,
            _ => {}
        }
    }

    /// The situations that either has seen.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            leads: self.leads | other.leads,
            takeovers: self.takeovers | other.takeovers,
            quarantines: self.quarantines | other.quarantines,
            expiries: self.expiries | other.expiries,
            superseded: self.superseded | other.superseded,
            drains_covered: self.drains_covered | other.drains_covered,
            drains_extended: self.drains_extended | other.drains_extended,
            late_renewals: self.late_renewals | other.late_renewals,
            stale_acquires: self.stale_acquires | other.stale_acquires,
            releases: self.releases | other.releases,
            lost_while_led: self.lost_while_led | other.lost_while_led,
            admitted_late: self.admitted_late | other.admitted_late,
            renewed_early: self.renewed_early | other.renewed_early,
        }
    }
}
