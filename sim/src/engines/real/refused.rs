//! Plans that this engine can't carry out. They are refused before the run, with a reason, and no
//! fault is silently left out.

use super::Target;
use crate::plan::{
    Act, Fault, LAG_MOST_MS, Manner, Plan, PlanError, Point, RAFT_PAUSE_MOST_MS, SILENT_MOST_MS,
    Scope, StoreFault, Trigger, What, When,
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
    if plan.program.log_panics {
        return Err(out_of_bounds("program.log_panics", "true".to_owned(), "false"));
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
    let why_not = Scope::Real(target.backend()).why_not(fault.kind());
    why_not.or_else(|| too_much(target, fault)).or(match fault.when {
        When::On(Trigger { point: Point::Grant, .. }) => {
            Some("can't see when a server grants a lease")
        }
        When::On(_) | When::AtMs(_) => None,
    })
}

/// The limit that a fault of a supported kind exceeds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FaultKind, swarm};

    #[test]
    fn drawn_plans_are_carried_out() {
        for target in Target::ALL {
            for seed in 0..2_000 {
                let plan = swarm(seed, &FaultKind::ALL, Scope::Real(target.backend()));
                check(target, &plan).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
    }
}
