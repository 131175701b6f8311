//! Plans that this engine can't carry out. They are refused before the run, with a reason, and no fault is silently
//! left out.

use crate::plan::{Fault, Plan, PlanError, Point, Program, Trigger, What, When};

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
        What::Loss { .. } | What::Duplicate { .. } | What::Reorder { .. } => {
            Some("runs over TCP, which hides the fate of single messages")
        }
        What::Suspend { .. } | What::VmStop { .. } => {
            Some("can't stop one clock alone: its nodes have one clock for everything")
        }
        What::VmRestore { .. } => Some("can't take a snapshot of a process"),
        What::StoreRollback { .. } => Some("keeps no older data of the store"),
        What::Failover { .. } | What::OldPrimary { .. } => Some("has one store, without a replica"),
        What::Reset { .. } | What::HalfOpen { .. } | What::Throttle { .. } => {
            Some("simulates a network without firewalls, lost machines and limits of its rate")
        }
        What::NoDescriptors { .. } => Some("simulates processes without file descriptors"),
        What::Operator(_) => Some("simulates a server without operators"),
        What::Partition { .. }
        | What::OneWay { .. }
        | What::Hold { .. }
        | What::Latency { .. }
        | What::Cut { .. }
        | What::Swizzle { .. }
        | What::Pause { .. }
        | What::Starve { .. }
        | What::Leave { .. }
        | What::ClockStep { .. }
        | What::Crash { .. }
        | What::Resign { .. }
        | What::StoreCrash
        | What::StoreLoss
        | What::StoreStall
        | What::StoreClockStep { .. } => None,
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
