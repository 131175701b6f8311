//! When a run is over: a while after somebody leads in the calm, and once more after the lead was handed
//! over, if the plan says so.

use super::world::World;
use crate::plan::Plan;
use crate::properties::Leader;

/// How long a run goes on once there is nothing more to wait for.
const AFTERWARDS_MS: u64 = 300;

pub(super) struct Ending {
    calm_from_ms: u64,
    /// How long to wait for somebody to lead.
    bound_ms: u64,
    hands_over: bool,
    awaited: Awaited,
    ends_ms: u64,
}

enum Awaited {
    Leader,
    /// Another tenure than that one, whose leader was asked to hand over.
    Successor(u64),
    Nothing,
}

impl Ending {
    pub(super) fn new(plan: &Plan, world: &World) -> Self {
        let bound = plan.progress_bound(&world.configs).as_millis();
        let bound_ms = u64::try_from(bound).unwrap_or(u64::MAX).saturating_add(1);
        Self {
            calm_from_ms: plan.calm_from_ms,
            bound_ms,
            hands_over: plan.handover,
            awaited: Awaited::Leader,
            ends_ms: plan.calm_from_ms.saturating_add(bound_ms),
        }
    }

    pub(super) fn is_over(&self, at_ms: u64) -> bool {
        at_ms >= self.ends_ms
    }

    /// Looks at who leads.
    pub(super) fn look(&mut self, world: &World, at_ms: u64, leaders: &[Leader]) {
        if at_ms <= self.calm_from_ms {
            return;
        }
        match (&self.awaited, leaders) {
            (Awaited::Leader, [leader, ..]) if self.hands_over => {
                world.resign(leader.who.node);
                self.awaited = Awaited::Successor(leader.token);
                self.ends_ms = at_ms.saturating_add(self.bound_ms);
            }
            (Awaited::Leader, [_, ..]) => self.wind_up(at_ms),
            (Awaited::Successor(of), _) if leaders.iter().any(|leader| leader.token != *of) => {
                self.wind_up(at_ms);
            }
            (Awaited::Leader | Awaited::Successor(_) | Awaited::Nothing, _) => {}
        }
    }

    fn wind_up(&mut self, at_ms: u64) {
        self.awaited = Awaited::Nothing;
        self.ends_ms = self.ends_ms.min(at_ms.saturating_add(AFTERWARDS_MS));
    }
}
