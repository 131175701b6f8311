//! Magnitudes of clock errors: how wrong may the clocks of claims and watches be before two
//! candidates lead at once?

use std::time::Duration;

use super::super::formula::{Bounds, on_clock};
use super::super::promise::Promise;
use super::super::stage::{
    BEGINS_MS, LEADER, NEXT, ROUNDED, duel, next_looks_after, next_takes_at_once,
};
use super::{Magnitude, Side, Unit, nothing};
use crate::plan::clock::PPM;
use crate::plan::{
    ClockFault, Point, ProcessFault, RequestKind, Settings, StoreFault, Trigger, What, nanos,
};

const fn up_to_a_ttl(bounds: &Bounds) -> (u64, u64) {
    (0, bounds.settings.ttl_ms)
}

pub(super) const DRIFT: Magnitude = Magnitude {
    name: "drift",
    about: "the leader's clock is too slow, and the next candidate's too fast",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ppm,
    formula: "(ttl - v)/(ttl + v)",
    frontier: drift_frontier,
    explained: |_, explained| Some(u64::from(explained.drift_tolerated_ppm) * Unit::Ppm.parts()),
    tolerance: |_| ROUNDED,
    range: |_| (0, 500_000),
    seeds: 1,
    plan: |bounds, ppm, seed| {
        let mut plan = duel(bounds, seed);
        plan.nodes[0].clock_rate_ppm = -ppm.cast_signed();
        plan.nodes[NEXT].clock_rate_ppm = ppm.cast_signed();
        next_takes_at_once(&mut plan);
        plan
    },
};

/// `v/(1 - r) = ttl/(1 + r)`.
fn drift_frontier(bounds: &Bounds) -> Option<u64> {
    let (ttl, valid) = (bounds.ttl().as_nanos(), bounds.validity().as_nanos());
    let parts = u128::from(PPM * Unit::Ppm.parts());
    u64::try_from((ttl - valid) * parts / (ttl + valid)).ok()
}

pub(super) const WATCHER_STEP: Magnitude = Magnitude {
    name: "watcher-step",
    about: "the next candidate's clock is put forward once while it watches the lease",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "ttl - v (1 + rho)/(1 - rho)",
    frontier: |bounds| {
        let counted = on_clock(bounds.claim_ends(), bounds.rho());
        Some(nanos(bounds.ttl().saturating_sub(counted)))
    },
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: |_| ROUNDED,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, by_ms, seed| {
        let mut plan = duel(bounds, seed);
        // It looks when so much of the TTL is left. The step comes before the answer, and ends the
        // watch.
        next_looks_after(&mut plan, bounds.settings.ttl_ms.saturating_sub(by_ms));
        if by_ms > 0 {
            let (node, of) = (Some(NEXT), Some(RequestKind::Look));
            let looks = Trigger { node, of, ..Trigger::next(Point::Sent, 0) };
            let by_ms = by_ms.cast_signed();
            plan.on(looks, 0, ClockFault::ClockStep { by_ms }.at(node));
        }
        plan
    },
};

pub(super) const CLOCK_BACK: Magnitude = Magnitude {
    name: "clock-back",
    about: "the leader's clock is put back once",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "ttl (1 - rho)/(1 + rho) - v",
    frontier: |bounds| Some(nanos(on_clock(bounds.gap(), -bounds.rho()))),
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: |_| ROUNDED,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, by_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_takes_at_once(&mut plan);
        if by_ms > 0 {
            let by_ms = -by_ms.cast_signed();
            plan.at(BEGINS_MS, 0, ClockFault::ClockStep { by_ms }.at(LEADER));
        }
        plan
    },
};

pub(super) const VM_STOP: Magnitude = Magnitude {
    name: "vm-stop",
    about: "the leader's machine is stopped with all its clocks",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "ttl/(1 + rho) - v/(1 - rho)",
    frontier: |bounds| Some(nanos(bounds.gap())),
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: |_| ROUNDED,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, for_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_takes_at_once(&mut plan);
        if for_ms > 0 {
            plan.at(BEGINS_MS, for_ms, ProcessFault::VmStop.at(LEADER));
        }
        plan
    },
};

pub(super) const QUARANTINE: Magnitude = Magnitude {
    name: "quarantine",
    about: "the store loses its data, and the next candidate's quarantine is shorter than the leader's TTL",
    promise: Promise::SingleLeader,
    side: Side::Below,
    unit: Unit::Ms,
    formula: "v (1 + rho)/(1 - rho)",
    frontier: |bounds| Some(nanos(on_clock(bounds.claim_ends(), bounds.rho()))),
    explained: nothing,
    // The store loses its data one millisecond after the grant, and answers again one later. The
    // next candidate takes the lease after a random delay.
    tolerance: |bounds| {
        let late = on_clock(Duration::from_millis(BEGINS_MS + 1), bounds.rho());
        nanos(late + bounds.config.takeover_jitter()) + ROUNDED
    },
    range: |bounds| (bounds.settings.ttl_ms / SMALLER, 2 * bounds.settings.ttl_ms),
    seeds: 1,
    plan: |bounds, quarantine_ms, seed| {
        let mut plan = duel(bounds, seed);
        // Its own TTL is shorter: no quarantine may be shorter than that.
        let of = bounds.settings;
        let shorter = Settings { quarantine_ms, ..of.in_parts(SMALLER) };
        // It asks again as soon as the store answers.
        plan.nodes[NEXT].settings = Some(Settings { retry_least_ms: 1, ..shorter });
        plan.calm_from_ms += 2 * of.ttl_ms;
        plan.at(BEGINS_MS, 1, What::Store(StoreFault::StoreLoss));
        plan
    },
};

/// The factor by which the next candidate's TTL is shorter.
const SMALLER: u64 = 10;
