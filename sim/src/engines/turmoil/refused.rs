//! Plans that this engine can't carry out. They are refused before the run, with a reason, and no
//! fault is silently left out.

use crate::plan::{Fault, NO_REPLIES, Plan, PlanError, Point, Program, Scope, Trigger, When};

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
    Scope::Turmoil.why_not(fault.kind()).or_else(|| match fault.when {
        When::AtMs(_) => None,
        When::On(trigger) => why_not_on(trigger),
    })
}

const fn why_not_on(trigger: Trigger) -> Option<&'static str> {
    match trigger {
        Trigger { point: Point::Reply, .. } => Some(NO_REPLIES),
        Trigger { of: Some(_), .. } => Some("can't distinguish the kinds of requests"),
        Trigger {
            point: Point::Send | Point::Sent | Point::Guard | Point::Grant | Point::Leads,
            ..
        } => None,
    }
}
