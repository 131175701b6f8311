//! Fewer faults, simpler ones, and earlier ones.

use super::Progress;
use super::numbers::around;
use super::search::Search;
use crate::plan::{
    Act, ClockFault, Fault, LinkFault, LinksFault, Plan, ProcessFault, StoreFault, What, When,
};

/// Delta debugging: leaves out halves, quarters, and so on down to single faults (Zeller and Hildebrandt,
/// "Simplifying and isolating failure-inducing input", 2002, without its step of keeping one part alone).
pub(super) fn fewer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    let mut length = search.best().faults.len();
    while length > 0 {
        let mut from = 0;
        while from < search.best().faults.len() {
            let to = (from + length).min(search.best().faults.len());
            let is_gone = search.change(|plan| {
                plan.faults.drain(from..to);
            });
            if !is_gone {
                from = to;
            }
        }
        length /= 2;
    }
}

/// Replaces faults by simpler ones.
pub(super) fn plainer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    for index in 0..search.best().faults.len() {
        if let Some(what) = plainer_than(search.best().faults[index].what) {
            search.change(|plan| plan.faults[index].what = what);
        }
    }
    search.change(|plan| plan.faults.sort_by_key(Fault::from_ms));
}

const fn plainer_than(what: What) -> Option<What> {
    match what {
        What::Link { node, fault } => match fault {
            LinkFault::OneWay { .. }
            | LinkFault::Hold
            | LinkFault::Latency { .. }
            | LinkFault::Loss { .. }
            | LinkFault::Duplicate { .. }
            | LinkFault::Reorder { .. }
            | LinkFault::Throttle { .. } => Some(LinkFault::Partition.at(node)),
            LinkFault::Reset | LinkFault::HalfOpen => Some(LinkFault::Cut.at(node)),
            LinkFault::Partition | LinkFault::Cut | LinkFault::OldPrimary => None,
        },
        What::Links(LinksFault::Swizzle { .. }) => Some(LinkFault::Partition.at(None)),
        What::Process { node, fault } => match fault {
            ProcessFault::NoDescriptors => Some(LinkFault::Partition.at(node)),
            ProcessFault::Suspend | ProcessFault::VmStop | ProcessFault::VmRestore => {
                Some(ProcessFault::Pause.at(node))
            }
            ProcessFault::Pause
            | ProcessFault::Starve
            | ProcessFault::Crash { .. }
            | ProcessFault::Resign
            | ProcessFault::Leave => None,
        },
        What::Clock { fault: ClockFault::ClockStep { .. }, .. } => None,
        What::Store(fault) => match fault {
            StoreFault::StoreRollback { .. } | StoreFault::Failover { .. } => {
                Some(What::Store(StoreFault::StoreLoss))
            }
            StoreFault::StoreStall => Some(What::Store(StoreFault::StoreCrash)),
            StoreFault::StoreCrash | StoreFault::StoreLoss | StoreFault::StoreClockStep { .. } => {
                None
            }
        },
        What::Operator(act) => match act {
            Act::DisconnectLeader => Some(LinkFault::Cut.at(None)),
            Act::LockRow
            | Act::LockTable
            | Act::Pooler
            | Act::RotatePassword
            | Act::PauseRaftLeader
            | Act::FillDisk
            | Act::ExpireCertificate => Some(What::Store(StoreFault::StoreStall)),
            Act::SplitBrain => {
                Some(What::Store(StoreFault::Failover { lag_ms: 0, clock_ahead_ms: 0 }))
            }
            Act::DeleteLog | Act::KillMember | Act::MoveSlot => {
                Some(What::Store(StoreFault::StoreCrash))
            }
            Act::Disconnect
            | Act::FlushScripts
            | Act::FlushData
            | Act::FillMemory
            | Act::MoveRaftLeader => None,
        },
    }
}

/// Moves all faults and `calm_from_ms` to an earlier time by the same amount, so the times between them stay the same.
pub(super) fn earlier<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    while let Some(first) = search.best().faults.iter().map(Fault::from_ms).min() {
        let by = [first, around(first, 1)[0], around(first / 2, 1)[0]];
        let sooner = |plan: &mut Plan, by| {
            plan.calm_from_ms -= by;
            plan.faults.iter_mut().for_each(|fault| begin_sooner(fault, by));
        };
        if !by.into_iter().any(|by| by > 0 && search.change(|plan| sooner(plan, by))) {
            break;
        }
    }
}

const fn begin_sooner(fault: &mut Fault, by_ms: u64) {
    match &mut fault.when {
        When::AtMs(at_ms) => *at_ms -= by_ms,
        When::On(trigger) => trigger.after_ms -= by_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plainer_faults_end_at_faults_of_every_engine() {
        let node = Some(1);
        for (what, plainest) in [
            (LinkFault::Reset.at(node), LinkFault::Cut.at(node)),
            (LinkFault::HalfOpen.at(node), LinkFault::Cut.at(node)),
            (LinkFault::Throttle { bytes_per_second: 7 }.at(node), LinkFault::Partition.at(node)),
            (What::Operator(Act::LockTable), What::Store(StoreFault::StoreCrash)),
        ] {
            let mut found = what;
            while let Some(plainer) = plainer_than(found) {
                found = plainer;
            }
            assert_eq!(found, plainest, "{what:?}");
        }
    }
}
