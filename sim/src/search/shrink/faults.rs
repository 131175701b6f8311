//! Fewer faults, simpler ones, and earlier ones.

use super::Progress;
use super::numbers::around;
use super::search::Search;
use crate::plan::{Act, Fault, Plan, What, When};

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
        What::OneWay { node, .. }
        | What::Hold { node }
        | What::Latency { node, .. }
        | What::Loss { node, .. }
        | What::Duplicate { node, .. }
        | What::Reorder { node, .. }
        | What::Throttle { node, .. }
        | What::NoDescriptors { node } => Some(What::Partition { node }),
        What::Reset { node } | What::HalfOpen { node } => Some(What::Cut { node }),
        What::Operator(Act::DisconnectLeader) => Some(What::Cut { node: None }),
        What::Swizzle { .. } => Some(What::Partition { node: None }),
        What::Suspend { node } | What::VmStop { node } | What::VmRestore { node } => {
            Some(What::Pause { node })
        }
        What::StoreRollback { .. } | What::Failover { .. } => Some(What::StoreLoss),
        What::StoreStall => Some(What::StoreCrash),
        What::Operator(
            Act::LockRow
            | Act::LockTable
            | Act::Pooler
            | Act::RotatePassword
            | Act::PauseRaftLeader
            | Act::FillDisk
            | Act::ExpireCertificate,
        ) => Some(What::StoreStall),
        What::Operator(Act::SplitBrain) => Some(What::Failover { lag_ms: 0, clock_ahead_ms: 0 }),
        What::Operator(Act::DeleteLog | Act::KillMember | Act::MoveSlot) => Some(What::StoreCrash),
        What::Partition { .. }
        | What::Cut { .. }
        | What::Pause { .. }
        | What::Starve { .. }
        | What::ClockStep { .. }
        | What::Crash { .. }
        | What::Resign { .. }
        | What::Leave { .. }
        | What::StoreCrash
        | What::StoreLoss
        | What::OldPrimary { .. }
        | What::StoreClockStep { .. }
        | What::Operator(
            Act::Disconnect
            | Act::FlushScripts
            | Act::FlushData
            | Act::FillMemory
            | Act::MoveRaftLeader,
        ) => None,
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
            (What::Reset { node }, What::Cut { node }),
            (What::HalfOpen { node }, What::Cut { node }),
            (What::Throttle { node, bytes_per_second: 7 }, What::Partition { node }),
            (What::Operator(Act::LockTable), What::StoreCrash),
        ] {
            let mut found = what;
            while let Some(plainer) = plainer_than(found) {
                found = plainer;
            }
            assert_eq!(found, plainest, "{what:?}");
        }
    }
}
