//! Plans that this engine can't carry out. They are refused before the run, with a reason, and no fault is silently
//! left out.

use super::Target;
use crate::plan::{
    Act, ClockFault, Fault, LAG_MOST_MS, LinkFault, LinksFault, Manner, Plan, PlanError, Point,
    ProcessFault, RAFT_PAUSE_MOST_MS, SILENT_MOST_MS, StoreFault, Trigger, What, When,
};

/// Checks that every part of a plan can be carried out.
pub(super) fn check(target: Target, plan: &Plan) -> Result<(), PlanError> {
    let out_of_bounds = |field: &str, value: String, bound: &str| PlanError::OutOfBounds {
        field: field.to_owned(),
        value,
        bound: format!("{bound} in the {} engine", target.engine()),
    };
    if plan.store.clock_rate_ppm != 0 && !target.backend().sets_clock {
        let rate = plan.store.clock_rate_ppm.to_string();
        return Err(out_of_bounds("store.clock_rate_ppm", rate, "0"));
    }
    if plan.program.elections != 1 {
        return Err(out_of_bounds("program.elections", plan.program.elections.to_string(), "1"));
    }
    if plan.program.manner != Manner::WhileLeader {
        let manner = format!("{:?}", plan.program.manner);
        return Err(out_of_bounds("program.manner", manner, "while-leader"));
    }
    if plan.program.cancels {
        return Err(out_of_bounds("program.cancels", "true".to_owned(), "false"));
    }
    if plan.work.reads_first {
        return Err(out_of_bounds("work.reads_first", "true".to_owned(), "false"));
    }
    let refused = |(index, fault): (usize, &Fault)| {
        let why = why(target, fault)?;
        Some(PlanError::Unsupported { index, kind: fault.kind(), engine: target.engine(), why })
    };
    plan.faults.iter().enumerate().find_map(refused).map_or(Ok(()), Err)
}

fn why(target: Target, fault: &Fault) -> Option<&'static str> {
    why_not(target, fault.what).or_else(|| too_much(target, fault)).or(match fault.when {
        When::On(Trigger { point: Point::Grant, .. }) => {
            Some("can't see when a server grants a lease")
        }
        When::On(_) | When::AtMs(_) => None,
    })
}

/// Why a fault of a kind that can be carried out goes beyond what can.
fn too_much(target: Target, fault: &Fault) -> Option<&'static str> {
    match fault.what {
        What::Store(StoreFault::Failover { clock_ahead_ms, .. }) if clock_ahead_ms != 0 => {
            Some("has servers with one clock: 'clock_ahead_ms' must be 0")
        }
        What::Store(StoreFault::Failover { lag_ms, .. }) if lag_ms > LAG_MOST_MS => {
            Some("promotes no replica that lags further: 'lag_ms' must be 500 at most")
        }
        What::Store(StoreFault::StoreStall)
            if target.backend().is_watched && fault.for_ms > SILENT_MOST_MS =>
        {
            Some("replaces a primary that is silent for longer: 'for_ms' must be 500 at most")
        }
        What::Operator(Act::PauseRaftLeader) if fault.for_ms > RAFT_PAUSE_MOST_MS => {
            Some("keeps to pauses that etcd before 3.4.31 survives: 'for_ms' must be 900 at most")
        }
        _ => None,
    }
}

fn why_not(target: Target, what: What) -> Option<&'static str> {
    match what {
        What::Link {
            fault:
                LinkFault::Partition
                | LinkFault::OneWay { .. }
                | LinkFault::Hold
                | LinkFault::Latency { .. }
                | LinkFault::Cut
                | LinkFault::Reset
                | LinkFault::HalfOpen
                | LinkFault::Throttle { .. },
            ..
        }
        | What::Process { fault: ProcessFault::NoDescriptors, .. }
        | What::Links(LinksFault::Swizzle { .. })
            if !target.backend().has_network =>
        {
            Some("has no network: candidates open the file themselves")
        }
        What::Link {
            fault: LinkFault::Loss { .. } | LinkFault::Duplicate { .. } | LinkFault::Reorder { .. },
            ..
        } => Some("runs over TCP, which hides the fate of single messages"),
        What::Process { fault: ProcessFault::Starve, .. } => {
            Some("can't stop one task of a process")
        }
        What::Process {
            fault: ProcessFault::Suspend | ProcessFault::VmStop | ProcessFault::VmRestore,
            ..
        } => Some("can't suspend, stop or restore the machine on which it runs itself"),
        What::Store(StoreFault::StoreRollback { .. }) => Some("keeps no older data of the store"),
        What::Store(StoreFault::Failover { .. }) if !target.backend().fails_over => {
            Some("has one server, without a replica")
        }
        What::Link { fault: LinkFault::OldPrimary, .. } => {
            Some("can't keep a primary that is replaced for one candidate alone")
        }
        What::Store(StoreFault::StoreClockStep { .. }) if !target.backend().sets_clock => {
            Some("can't set the clock by which the store tells the time: it is that of the machine")
        }
        What::Operator(act) => why_no_act(target, act),
        What::Link {
            fault:
                LinkFault::Partition
                | LinkFault::OneWay { .. }
                | LinkFault::Hold
                | LinkFault::Latency { .. }
                | LinkFault::Cut
                | LinkFault::Reset
                | LinkFault::HalfOpen
                | LinkFault::Throttle { .. },
            ..
        }
        | What::Process { fault: ProcessFault::NoDescriptors, .. }
        | What::Links(LinksFault::Swizzle { .. })
        | What::Process { fault: ProcessFault::Pause | ProcessFault::Leave, .. }
        | What::Clock { fault: ClockFault::ClockStep { .. }, .. }
        | What::Process { fault: ProcessFault::Crash { .. } | ProcessFault::Resign, .. }
        | What::Store(
            StoreFault::StoreCrash
            | StoreFault::StoreLoss
            | StoreFault::StoreStall
            | StoreFault::StoreClockStep { .. }
            | StoreFault::Failover { .. },
        ) => None,
    }
}

/// Why an act is not possible at a store.
fn why_no_act(target: Target, act: Act) -> Option<&'static str> {
    if target.backend().acts.contains(&act) {
        return None;
    }
    Some(match act {
        Act::Disconnect => "has no server that ends a client's connections on order",
        Act::FlushScripts => "has no scripts that its server could forget",
        Act::FlushData => "has no command that deletes all data of a server that runs on",
        Act::FillMemory => "has no limit of its memory",
        Act::LockRow => "has no rows that another session could lock",
        Act::LockTable => "has no table that another session could lock",
        Act::Pooler => "has no pooler for its server",
        Act::RotatePassword => "has servers without passwords",
        Act::DeleteLog => "has no files beside a file of the store",
        Act::DisconnectLeader => "has no server that ends one session on order",
        Act::KillMember => "has no member that the others do without",
        Act::PauseRaftLeader | Act::MoveRaftLeader => "has no members that elect one of them",
        Act::SplitBrain => "has no sentinels that replace a primary which is up",
        Act::MoveSlot => "has no slots that move from one primary to another",
        Act::FillDisk => "has no file of the store on a disk that could be full",
        Act::ExpireCertificate => "has no encrypted connections between candidates and a server",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FaultKind, Scope, swarm};

    #[test]
    fn drawn_plans_are_carried_out() {
        for target in Target::ALL {
            for seed in 0..2_000 {
                let plan = swarm(seed, &FaultKind::ALL, Scope::Real(target.backend()));
                check(target, &plan).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
    }

    #[test]
    fn kinds_that_are_never_drawn_are_refused() {
        let example = |kind: FaultKind| {
            // The model engine draws none of these.
            match kind {
                FaultKind::Starve => return Some(ProcessFault::Starve.at(None)),
                FaultKind::Reset => return Some(LinkFault::Reset.at(None)),
                FaultKind::HalfOpen => return Some(LinkFault::HalfOpen.at(None)),
                FaultKind::Throttle => {
                    return Some(LinkFault::Throttle { bytes_per_second: 1 }.at(None));
                }
                FaultKind::NoDescriptors => return Some(ProcessFault::NoDescriptors.at(None)),
                _ => {}
            }
            if let Some(act) = Act::of_kind(kind) {
                return Some(What::Operator(act));
            }
            let mut plans = (0..500).map(|seed| swarm(seed, &[kind], Scope::Model));
            let has = |plan: &Plan| plan.faults.iter().find(|fault| fault.kind() == kind).copied();
            plans.find_map(|plan| has(&plan)).map(|fault| fault.what)
        };
        for target in Target::ALL {
            let drawn = Scope::Real(target.backend()).kinds();
            for kind in FaultKind::ALL {
                let why = example(kind).and_then(|what| why_not(target, what));
                assert_eq!(why.is_none(), drawn.contains(&kind), "{target}, {kind}: {why:?}");
            }
        }
    }
}
