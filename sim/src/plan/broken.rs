//! The plans that break an assumption: by a fault whose row says so, or by something else.

use super::catalogue::Class;
use super::clock::PPM;
use super::{Assumption, FaultKind, Plan, StoreFault, What};

impl Plan {
    /// The assumptions that this plan breaks. Promises that rest on them are not judged.
    pub fn broken(&self) -> Vec<Assumption> {
        let is_broken = |assumption: &Assumption| {
            let breaks = |kind: FaultKind| kind.breaks().contains(assumption);
            self.faults.iter().any(|fault| breaks(fault.kind())) || self.breaks(*assumption)
        };
        Assumption::ALL.into_iter().filter(is_broken).collect()
    }

    /// True if something other than a fault alone breaks it.
    fn breaks(&self, assumption: Assumption) -> bool {
        match assumption {
            Assumption::CandidateClocks => self.candidate_clocks_lag(),
            Assumption::Waits => self.clocks().any(|(bound, rate)| rate > bound),
            Assumption::LossIsFinal => self.loss_is_not_final(),
            Assumption::WallClock => self.wall_clock_falls_behind(),
            Assumption::PromptEffects => self.effects_are_late(),
            Assumption::TakeOverFirst => self.work.reads_first,
            Assumption::OneMemory | Assumption::Processor => false,
        }
    }

    fn has_of(&self, class: Class) -> bool {
        self.faults.iter().any(|fault| fault.kind().row().class == class)
    }

    /// The drift bound and the clock's rate of each node.
    fn clocks(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let bound = |node| i64::from(self.settings_of(node).drift_ppm);
        self.nodes.iter().enumerate().map(move |(node, plan)| (bound(node), plan.clock_rate_ppm))
    }

    fn candidate_clocks_lag(&self) -> bool {
        self.clocks().any(|(bound, rate)| rate < -bound)
    }

    fn loss_is_not_final(&self) -> bool {
        let most = (0..self.nodes.len()).map(|node| self.settings_of(node).ttl_ms).max();
        let is_short = |node| Some(self.settings_of(node).quarantine_ms) < most;
        // In a split brain the old primary is no exception: what it grants counts only if sentinels
        // still name it.
        self.has_of(Class::LosesData)
            && (self.store.trust_empty_store || (0..self.nodes.len()).any(is_short))
    }

    fn wall_clock_falls_behind(&self) -> bool {
        self.a_replica_is_behind()
            || self.has_of(Class::LosesData) && self.has(FaultKind::StoreClockBack)
    }

    fn a_replica_is_behind(&self) -> bool {
        let is_behind =
            |what| matches!(what, What::Store(StoreFault::Failover { clock_ahead_ms: ..0, .. }));
        self.faults.iter().any(|fault| is_behind(fault.what))
    }

    fn effects_are_late(&self) -> bool {
        // The time left before a claim ends, or before a resignation completes: work is dropped at
        // the drain bound, the lease is handed back, and a write that is still under way arrives in
        // the next tenure.
        let left_us = |node| {
            let settings = self.settings_of(node);
            let drift = u64::from(settings.drift_ppm);
            let counted_ms = settings.stop_margin_ms.min(settings.drain_bound_ms);
            counted_ms * 1_000 * PPM / (PPM + drift)
        };
        (0..self.nodes.len()).any(|node| self.work.takes_us > left_us(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Act, Fault, Scope, When, swarm};

    #[test]
    fn deleted_data_is_a_loss() {
        let mut plan = swarm(1, &[], Scope::Model);
        plan.store.trust_empty_store = true;
        let mut breaks = |what| {
            plan.faults = vec![Fault { when: When::AtMs(1), for_ms: 0, what }];
            plan.broken().contains(&Assumption::LossIsFinal)
        };
        assert!(breaks(What::Operator(Act::FlushData)));
        assert!(breaks(What::Operator(Act::SplitBrain)));
        assert!(!breaks(What::Operator(Act::FlushScripts)));
        assert!(!breaks(What::Operator(Act::Disconnect)));
        assert!(!breaks(What::Operator(Act::MoveSlot)));
    }
}
