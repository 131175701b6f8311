//! The plans of the situations: a leader that has led for a while, and one fault.

use super::Situation;
use crate::plan::draw::Draw;
use crate::plan::{
    Asking, Fault, LinkFault, NodePlan, Plan, Point, ProcessFault, Program, SCHEMA, Scope,
    Settings, StoreFault, StorePlan, Trigger, What, When, Work,
};

/// The TTL of the comparison, and that of a store whose leases may end much too early, in milliseconds.
const TTL_MS: u64 = 3_000;
const COARSE_TTL_MS: u64 = 6_000;
/// The time of the fault, in TTLs: the first leader has waited out its quarantine, and has led since.
const AT: u64 = 3;

/// The terms of a situation's faults, all in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    ttl_ms: u64,
    /// When the fault begins: at another point of a renewal interval in each run.
    at_ms: u64,
}

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
    let faults = (situation.faults)(Frame { ttl_ms, at_ms });
    let ends = |fault: &Fault| fault.from_ms() + fault.for_ms;
    let last_ms = faults.iter().map(ends).max().unwrap_or(at_ms);
    let node = |_| NodePlan {
        clock_offset_ms: draw.within(1_000..=10_000_000),
        clock_rate_ppm: 0,
        settings: None,
    };
    Plan {
        schema: SCHEMA,
        seed,
        settings: settings(ttl_ms, granularity_ms),
        nodes: (0..2).map(node).collect(),
        store: StorePlan { clock_rate_ppm: 0, trust_empty_store: false },
        latency_us: (0, 5_000),
        work: Work { every_ms: 50, takes_us: 50_000, reads_first: false },
        program: Program::default(),
        faults,
        // A successor leads by then, whatever the fault was.
        calm_from_ms: last_ms.max(at_ms + 2 * ttl_ms),
        handover: false,
    }
}

/// The library's defaults for that TTL; renewals and retries are more frequent where leases may end much too early.
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

const fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

pub(super) fn resigns(Frame { at_ms, .. }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 0, ProcessFault::Resign.at(None))]
}

pub(super) fn crashes(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 2 * ttl_ms, ProcessFault::Crash { power: false }.at(None))]
}

pub(super) fn loses_power(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 2 * ttl_ms, ProcessFault::Crash { power: true }.at(None))]
}

pub(super) fn pauses(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 2 * ttl_ms, ProcessFault::Pause.at(None))]
}

pub(super) fn pauses_at_guard(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    let point = Trigger { point: Point::Guard, node: None, of: None, nth: 1, after_ms: at_ms };
    vec![Fault { when: When::On(point), for_ms: 2 * ttl_ms, what: ProcessFault::Pause.at(None) }]
}

pub(super) fn cut_off(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 5 * ttl_ms, LinkFault::Partition.at(None))]
}

pub(super) fn cut_off_for_long(Frame { at_ms, .. }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 600_000, LinkFault::Partition.at(None))]
}

pub(super) fn stops_while_cut_off(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![
        at(at_ms, 5 * ttl_ms, LinkFault::Partition.at(None)),
        at(at_ms + ttl_ms / 10, 5 * ttl_ms, ProcessFault::Leave.at(None)),
    ]
}

pub(super) fn loses_data(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, ttl_ms / 10, What::Store(StoreFault::StoreLoss))]
}

pub(super) fn fails_over(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(
        at_ms,
        ttl_ms / 10,
        What::Store(StoreFault::Failover { lag_ms: 100, clock_ahead_ms: 0 }),
    )]
}

pub(super) fn refuses(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 7 * ttl_ms, What::Store(StoreFault::StoreCrash))]
}

pub(super) fn is_silent(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    vec![at(at_ms, 7 * ttl_ms, What::Store(StoreFault::StoreStall))]
}

/// The leader resigns, and all that leaves for the next one is held back from its request on.
pub(super) fn grants_late(Frame { ttl_ms, at_ms }: Frame) -> Vec<Fault> {
    let of = Some(Asking::Acquire);
    let asks = Trigger { point: Point::Sent, node: None, of, nth: 1, after_ms: at_ms };
    let held = LinkFault::Hold.at(Some(0));
    let resigns = at(at_ms, 0, ProcessFault::Resign.at(None));
    let when = When::On(Trigger { node: Some(0), ..asks });
    vec![resigns, Fault { when, for_ms: 2 * ttl_ms, what: held }]
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
