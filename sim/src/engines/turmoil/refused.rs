//! Plans that this engine can't carry out. They are refused before the run, with a reason, and no fault is silently
//! left out.

use crate::plan::{
    ClockFault, Fault, LinkFault, LinksFault, Plan, PlanError, Point, ProcessFault, Program,
    StoreFault, Trigger, What, When,
};

const ENGINE: &str = "turmoil";

pub(super) fn check(plan: &Plan, is_of_a_service: bool) -> Result<(), PlanError> {
    if is_of_a_service && plan.program != Program::default() {
        return Err(PlanError::OutOfBounds {
            field: "program".into(),
            value: format!("{:?}", plan.program),
            bound: "the default: a service is the nodes' program".into(),
        });
    }
    if plan.store.trust_empty_store {
        return Err(PlanError::OutOfBounds {
            field: "store.trust_empty_store".into(),
            value: "true".into(),
            bound: "false in the turmoil engine: the Redis store trusts no server but an empty one"
                .into(),
        });
    }
    let refused = |(index, fault): (usize, &Fault)| {
        let why = why(fault)?;
        Some(PlanError::Unsupported { index, kind: fault.kind(), engine: ENGINE, why })
    };
    plan.faults.iter().enumerate().find_map(refused).map_or(Ok(()), Err)
}

fn why(fault: &Fault) -> Option<&'static str> {
    why_not(fault.what).or_else(|| match fault.when {
        When::AtMs(_) => None,
        When::On(trigger) => why_not_on(trigger),
    })
}

const fn why_not(what: What) -> Option<&'static str> {
    match what {
        What::Link {
            fault: LinkFault::Loss { .. } | LinkFault::Duplicate { .. } | LinkFault::Reorder { .. },
            ..
        } => Some("runs over TCP, which hides the fate of single messages"),
        What::Process { fault: ProcessFault::Suspend | ProcessFault::VmStop, .. } => {
            Some("can't stop one clock alone: its nodes have one clock for everything")
        }
        What::Process { fault: ProcessFault::VmRestore, .. } => {
            Some("can't take a snapshot of a process")
        }
        What::Store(StoreFault::StoreRollback { .. }) => Some("keeps no older data of the store"),
        What::Store(StoreFault::Failover { .. })
        | What::Link { fault: LinkFault::OldPrimary, .. } => {
            Some("has one store, without a replica")
        }
        What::Link {
            fault: LinkFault::Reset | LinkFault::HalfOpen | LinkFault::Throttle { .. },
            ..
        } => Some("simulates a network without firewalls, lost machines and limits of its rate"),
        What::Process { fault: ProcessFault::NoDescriptors, .. } => {
            Some("simulates processes without file descriptors")
        }
        What::Operator(_) => Some("simulates a server without operators"),
        What::Link {
            fault:
                LinkFault::Partition
                | LinkFault::OneWay { .. }
                | LinkFault::Hold
                | LinkFault::Latency { .. }
                | LinkFault::Cut,
            ..
        }
        | What::Links(LinksFault::Swizzle { .. })
        | What::Process {
            fault: ProcessFault::Pause | ProcessFault::Starve | ProcessFault::Leave,
            ..
        }
        | What::Clock { fault: ClockFault::ClockStep { .. }, .. }
        | What::Process { fault: ProcessFault::Crash { .. } | ProcessFault::Resign, .. }
        | What::Store(
            StoreFault::StoreCrash
            | StoreFault::StoreLoss
            | StoreFault::StoreStall
            | StoreFault::StoreClockStep { .. },
        ) => None,
    }
}

const fn why_not_on(trigger: Trigger) -> Option<&'static str> {
    match trigger {
        Trigger { point: Point::Reply, .. } => {
            Some("can't see when a reply arrives: a process reads bytes, not replies")
        }
        Trigger { of: Some(_), .. } => Some("can't distinguish the kinds of requests"),
        Trigger {
            point: Point::Send | Point::Sent | Point::Guard | Point::Grant | Point::Leads,
            ..
        } => None,
    }
}
