//! The assumptions of the promises, and the plans that break them.

use serde::{Deserialize, Serialize};

use super::clock::PPM;
use super::{FaultKind, Plan, StoreFault, What};

/// An assumption of some promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// A2, for candidates: over every interval a clock counts at least `1 - rho` of the elapsed time. A clock that is
    /// slower, steps back, or is stopped breaks it.
    CandidateClocks,
    /// A2, for the store: over every interval its clock counts at most `1 + rho` of the elapsed time. A clock that is
    /// faster, or steps forward, breaks it.
    StoreClock,
    /// A2, in the other direction: the clock of a wait (a quarantine, a lease's end) counts at most `1 + rho` of the
    /// elapsed time at a candidate, and at least `1 - rho` at the store.
    Waits,
    /// G6: a store that lost acknowledged writes makes the next leader wait out a quarantine that is at least as long
    /// as any remaining lease, and the server that it replaced acknowledges no further requests.
    LossIsFinal,
    /// G3: after a loss of acknowledged writes, the store's wall clock is not behind the last grant.
    WallClock,
    /// A process lives once: no snapshot of it is restored.
    OneMemory,
    /// No process is paused between a check and its effect, and no effect takes longer than the stop margin by the
    /// process's own clock. A clock that is put forward shortens that time, and the lease is handed back sooner.
    PromptEffects,
    /// G4: a leader takes a resource over with its token, and knows that it has, before it reads the resource.
    TakeOverFirst,
    /// G7: every process gets a processor when it needs one, within the tolerance of the engine. No plan breaks it, but a
    /// real machine may: the promises that rest on it are not judged from that moment on.
    Processor,
}

impl Assumption {
    /// All assumptions.
    pub const ALL: [Self; 9] = [
        Self::CandidateClocks,
        Self::StoreClock,
        Self::Waits,
        Self::LossIsFinal,
        Self::WallClock,
        Self::OneMemory,
        Self::PromptEffects,
        Self::TakeOverFirst,
        Self::Processor,
    ];
}

/// Faults after which the store has lost acknowledged writes, or is another one.
const LOSSES: [FaultKind; 6] = [
    FaultKind::StoreLoss,
    FaultKind::StoreRollback,
    FaultKind::Failover,
    FaultKind::OldPrimary,
    FaultKind::FlushData,
    FaultKind::SplitBrain,
];

impl Plan {
    /// The assumptions that this plan breaks. Promises that rest on them are not judged.
    pub fn broken(&self) -> Vec<Assumption> {
        let breaks = |assumption: &Assumption| match assumption {
            Assumption::CandidateClocks => self.candidate_clocks_lag(),
            Assumption::StoreClock => self.store_clock_runs_ahead(),
            Assumption::Waits => self.waits_are_miscounted(),
            Assumption::LossIsFinal => self.loss_is_not_final(),
            Assumption::WallClock => self.wall_clock_falls_behind(),
            Assumption::OneMemory => self.has(FaultKind::VmRestore),
            Assumption::PromptEffects => self.effects_are_late(),
            Assumption::TakeOverFirst => self.work.reads_first,
            Assumption::Processor => false,
        };
        Assumption::ALL.into_iter().filter(breaks).collect()
    }

    fn any(&self, kinds: &[FaultKind]) -> bool {
        kinds.iter().any(|kind| self.has(*kind))
    }

    /// The drift bound and the clock's rate of each node.
    fn clocks(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let bound = |node| i64::from(self.settings_of(node).drift_ppm);
        self.nodes.iter().enumerate().map(move |(node, plan)| (bound(node), plan.clock_rate_ppm))
    }

    fn candidate_clocks_lag(&self) -> bool {
        self.any(&[FaultKind::ClockBack, FaultKind::VmStop, FaultKind::VmRestore])
            || self.clocks().any(|(bound, rate)| rate < -bound)
    }

    fn store_clock_runs_ahead(&self) -> bool {
        // A promoted replica's clock may be ahead: the replica grants its own leases by that clock, and the quarantine
        // covers the leases that it took over.
        self.has(FaultKind::StoreClockStep)
            || self.clocks().any(|(bound, _)| self.store.clock_rate_ppm > bound)
    }

    fn waits_are_miscounted(&self) -> bool {
        // Or it becomes another server, which makes the next leader wait though nothing is lost.
        let loses = self.any(&LOSSES) || self.any(&[FaultKind::StoreCrash, FaultKind::MoveSlot]);
        self.has(FaultKind::StoreClockBack)
            || self.a_replica_is_behind()
            || self.candidate_clocks_lag()
            || self.clocks().any(|(bound, _)| self.store.clock_rate_ppm < -bound)
            || loses
                && (self.has(FaultKind::ClockStep)
                    || self.clocks().any(|(bound, rate)| rate > bound))
    }

    fn loss_is_not_final(&self) -> bool {
        let most = (0..self.nodes.len()).map(|node| self.settings_of(node).ttl_ms).max();
        let is_short = |node| Some(self.settings_of(node).quarantine_ms) < most;
        // In a split brain the old primary is no exception: what it grants counts only if sentinels still name it.
        self.has(FaultKind::OldPrimary)
            || self.any(&LOSSES)
                && (self.store.trust_empty_store || (0..self.nodes.len()).any(is_short))
    }

    fn wall_clock_falls_behind(&self) -> bool {
        // The order of two primaries' grants is not the order of their tokens.
        self.a_replica_is_behind()
            || self.has(FaultKind::OldPrimary)
            || self.any(&LOSSES) && self.has(FaultKind::StoreClockBack)
    }

    fn a_replica_is_behind(&self) -> bool {
        let is_behind =
            |what| matches!(what, What::Store(StoreFault::Failover { clock_ahead_ms: ..0, .. }));
        self.faults.iter().any(|fault| is_behind(fault.what))
    }

    fn effects_are_late(&self) -> bool {
        // The time left before a claim ends, or before a resignation completes: work is dropped at the drain bound, the
        // lease is handed back, and a write that is still under way arrives in the next tenure.
        let left_us = |node| {
            let settings = self.settings_of(node);
            let drift = u64::from(settings.drift_ppm);
            let counted_ms = settings.stop_margin_ms.min(settings.drain_bound_ms);
            counted_ms * 1_000 * PPM / (PPM + drift)
        };
        self.any(&FaultKind::PAUSES)
            || self.has(FaultKind::VmRestore)
            || self.has(FaultKind::ClockStep)
            || (0..self.nodes.len()).any(|node| self.work.takes_us > left_us(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Act, ClockFault, Fault, Scope, When, swarm};

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

    #[test]
    fn a_wait_at_another_server_may_be_miscounted() {
        let mut plan = swarm(1, &[], Scope::Model);
        let mut breaks = |whats: &[What]| {
            let fault = |what: &What| Fault { when: When::AtMs(1), for_ms: 0, what: *what };
            plan.faults = whats.iter().map(fault).collect();
            plan.broken().contains(&Assumption::Waits)
        };
        let (steps, moves) =
            (ClockFault::ClockStep { by_ms: 1 }.at(None), What::Operator(Act::MoveSlot));
        assert!(breaks(&[steps, moves]) && breaks(&[steps, What::Store(StoreFault::StoreCrash)]));
        assert!(!breaks(&[steps]) && !breaks(&[moves]));
    }
}
