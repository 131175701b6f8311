//! The situations that a run has seen.

use tenure_core::{Acquire, Event, Reply, Request, Watched};

/// Situations without which a run proves little.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "a list of independent sightings")]
pub(crate) struct Sights {
    pub(crate) leads: bool,
    pub(crate) takeovers: bool,
    pub(crate) watches_pasts: bool,
    pub(crate) expiries: bool,
    pub(crate) superseded: bool,
    pub(crate) drains_covered: bool,
    pub(crate) drains_extended: bool,
    pub(crate) late_renewals: bool,
    pub(crate) refused_acquires: bool,
    pub(crate) releases: bool,
    pub(crate) lost_while_led: bool,
    pub(crate) admitted_late: bool,
    pub(crate) renewed_early: bool,
    pub(crate) taken: bool,
    pub(crate) taken_from_a_leader: bool,
    pub(crate) losses_told: bool,
    pub(crate) leaders_watch_pasts: bool,
    pub(crate) suspends: bool,
    pub(crate) clock_steps: bool,
}

impl Sights {
    pub(super) fn note(&mut self, event: Event) {
        use tenure_core::StepDownReason::{Expired, Superseded};
        match event {
            Event::SteppedDown { reason: Expired, .. } => self.expiries = true,
            Event::SteppedDown { reason: Superseded, .. } => self.superseded = true,
            Event::DrainUntil { .. } => self.drains_extended = true,
            Event::Watching { watched: Watched::Past, .. } => self.watches_pasts = true,
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, request: Request, reply: Reply) {
        match (request, reply) {
            (Request::Acquire(Acquire { mark, lost, .. }), Reply::Granted { .. }) => {
                self.taken |= mark.is_some();
                self.losses_told |= lost.is_some();
            }
            (Request::Acquire(_), Reply::Not(_)) => self.refused_acquires = true,
            (Request::Renew { .. }, Reply::Renewed { past: Some(_), .. }) => {
                self.leaders_watch_pasts = true;
            }
            (_, Reply::Released) => self.releases = true,
            _ => {}
        }
    }

    /// The situations that either has seen.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            leads: self.leads | other.leads,
            takeovers: self.takeovers | other.takeovers,
            watches_pasts: self.watches_pasts | other.watches_pasts,
            expiries: self.expiries | other.expiries,
            superseded: self.superseded | other.superseded,
            drains_covered: self.drains_covered | other.drains_covered,
            drains_extended: self.drains_extended | other.drains_extended,
            late_renewals: self.late_renewals | other.late_renewals,
            refused_acquires: self.refused_acquires | other.refused_acquires,
            releases: self.releases | other.releases,
            lost_while_led: self.lost_while_led | other.lost_while_led,
            admitted_late: self.admitted_late | other.admitted_late,
            renewed_early: self.renewed_early | other.renewed_early,
            taken: self.taken | other.taken,
            taken_from_a_leader: self.taken_from_a_leader | other.taken_from_a_leader,
            losses_told: self.losses_told | other.losses_told,
            leaders_watch_pasts: self.leaders_watch_pasts | other.leaders_watch_pasts,
            suspends: self.suspends | other.suspends,
            clock_steps: self.clock_steps | other.clock_steps,
        }
    }
}
