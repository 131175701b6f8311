//! The plans of the situations: a leader that has led for a while, and one fault.

use super::Situation;
use crate::evidence::stage::Stage;
use crate::plan::draw::Draw;
use crate::plan::{NodePlan, Plan, Scope, Settings, Work};

/// The TTL of the comparison, and that of a store whose leases may end much too early, in
/// milliseconds.
const TTL_MS: u64 = 3_000;
const COARSE_TTL_MS: u64 = 6_000;
/// The time of the fault, in TTLs: the first leader has waited out its quarantine, and has led
/// since.
const AT: u64 = 3;

pub(super) fn plan(situation: &Situation, scope: Scope, seed: u64) -> Plan {
    let (granularity_ms, ttl_ms) = match scope {
        Scope::Model => (1, TTL_MS),
        Scope::Turmoil => (1, TTL_MS),
        Scope::Real(backend) if backend.granularity_ms > 1 => {
            (backend.granularity_ms, COARSE_TTL_MS)
        }
        Scope::Real(backend) => (backend.granularity_ms, TTL_MS),
    };
    let mut draw = Draw::new(seed, situation.name, 0);
    let at_ms = AT * ttl_ms + draw.within(0..=ttl_ms / 3);
    let nodes = [(); 2].map(|()| NodePlan::of_offset(draw.within(1_000..=10_000_000)));
    let plan = Plan {
        latency_us: (0, 5_000),
        work: Work { every_ms: 50, takes_us: 50_000, reads_first: false },
        ..Plan::quiet(seed, settings(ttl_ms, granularity_ms), nodes.to_vec())
    };
    let mut stage = Stage { plan, at_ms, draw };
    (situation.faults)(&mut stage);
    let mut plan = stage.plan;
    let ends = plan.faults.iter().map(|fault| fault.from_ms() + fault.for_ms);
    // A successor leads by then, whatever the fault was.
    plan.calm_from_ms = ends.max().unwrap_or(at_ms).max(at_ms + 2 * ttl_ms);
    plan
}

/// The library's defaults for that TTL; renewals and retries are more frequent where leases may end
/// much too early.
const fn settings(ttl_ms: u64, granularity_ms: u64) -> Settings {
    let (renewals, retries) = if granularity_ms > 1 { (4, 30) } else { (3, 15) };
    Settings {
        ttl_ms,
        renew_interval_ms: ttl_ms / renewals,
        request_timeout_ms: ttl_ms / 10,
        stop_margin_ms: ttl_ms / 10,
        retry_least_ms: ttl_ms / 150,
        retry_most_ms: ttl_ms / retries,
        poll_bound_ms: ttl_ms,
        drain_bound_ms: ttl_ms / 10,
        quarantine_ms: ttl_ms,
        granularity_ns: granularity_ms * 1_000_000,
        drift_ppm: 10_000,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ALL;
    use super::*;
    use crate::plan::{Backend, Shows};

    #[test]
    fn plans_are_valid_and_have_their_fault() {
        let real = |granularity_ms| {
            let (has_network, fails_over, is_watched) = (true, false, false);
            let (shows, acts) = (Shows::Changes, &[]);
            Scope::Real(Backend {
                has_network,
                fails_over,
                is_watched,
                sets_clock: true,
                granularity_ms,
                shows,
                acts,
            })
        };
        for scope in [Scope::Model, Scope::Turmoil, real(1), real(1_200)] {
            for situation in &ALL {
                let plan = plan(situation, scope, 7);
                plan.check().unwrap_or_else(|error| panic!("{situation}: {error}"));
                plan.configs().unwrap_or_else(|error| panic!("{situation}: {error}"));
                assert!(plan.has(situation.kind), "{situation}");
            }
        }
    }
}
