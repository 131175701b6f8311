//! When a run is over: a while after somebody leads every election in the calm, and once more after those
//! leads were handed over, if the plan says so.

use super::world::World;
use crate::judge::properties::Leader;
use crate::plan::Plan;

/// How long a run goes on once there is nothing more to wait for.
const AFTERWARDS_MS: u64 = 300;

pub(super) struct Ending {
    calm_from_ms: u64,
    /// How long to wait for somebody to lead.
    bound_ms: u64,
    hands_over: bool,
    elections: Vec<End>,
}

/// When one election is over.
#[derive(Clone, Copy)]
struct End {
    awaited: Awaited,
    ends_ms: u64,
}

#[derive(Clone, Copy)]
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
        let ends_ms = plan.calm_from_ms.saturating_add(bound_ms);
        Self {
            calm_from_ms: plan.calm_from_ms,
            bound_ms,
            hands_over: plan.handover,
            elections: vec![End { awaited: Awaited::Leader, ends_ms }; world.elections()],
        }
    }

    pub(super) fn is_over(&self, at_ms: u64) -> bool {
        self.elections.iter().all(|end| at_ms >= end.ends_ms)
    }

    /// Looks at who leads each election.
    pub(super) fn look(&mut self, world: &World, at_ms: u64, leaders: &[Vec<Leader>]) {
        if at_ms <= self.calm_from_ms {
            return;
        }
        for (election, (end, leaders)) in self.elections.iter_mut().zip(leaders).enumerate() {
            match (end.awaited, &leaders[..]) {
                (Awaited::Leader, [leader, ..]) if self.hands_over => {
                    world.resign_in(election, leader.who.node);
                    end.awaited = Awaited::Successor(leader.token);
                    end.ends_ms = at_ms.saturating_add(self.bound_ms);
                }
                (Awaited::Leader, [_, ..]) => end.wind_up(at_ms),
                (Awaited::Successor(of), _) if leaders.iter().any(|leader| leader.token != of) => {
                    end.wind_up(at_ms);
                }
                (Awaited::Leader | Awaited::Successor(_) | Awaited::Nothing, _) => {}
            }
        }
    }
}

impl End {
    fn wind_up(&mut self, at_ms: u64) {
        self.awaited = Awaited::Nothing;
        self.ends_ms = self.ends_ms.min(at_ms.saturating_add(AFTERWARDS_MS));
    }
}
