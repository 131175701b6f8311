//! Magnitudes of clock errors: how wrong may the clocks of claims and leases be before two candidates lead at once?

use std::time::Duration;

use super::super::formula::{Bounds, on_clock};
use super::super::promise::Promise;
use super::super::stage::{BEGINS_MS, LEADER, NEXT, duel, next_asks_at, next_is_late};
use super::{Magnitude, Side, Unit, nothing};
use crate::plan::clock::{PPM, true_time};
use crate::plan::{ClockFault, LinkFault, ProcessFault, Settings, StoreFault, What, nanos};

const fn up_to_a_ttl(bounds: &Bounds) -> (u64, u64) {
    (0, bounds.settings.ttl_ms)
}

pub(super) const DRIFT: Magnitude = Magnitude {
    name: "drift",
    about: "the leader's clock is too slow, the store's and the next candidate's too fast",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ppm,
    formula: "(ttl - v)/(ttl + v)",
    frontier: drift_frontier,
    explained: |_, explained| Some(u64::from(explained.drift_tolerated_ppm) * Unit::Ppm.parts()),
    // The next candidate asks late by at most a millionth of the lease.
    tolerance: |_| 1_000,
    range: |_| (0, 500_000),
    seeds: 1,
    plan: |bounds, ppm, seed| {
        let mut plan = duel(bounds, seed);
        plan.nodes[0].clock_rate_ppm = -ppm.cast_signed();
        plan.store.clock_rate_ppm = ppm.cast_signed();
        next_asks_at(&mut plan, true_time(bounds.ttl(), ppm.cast_signed()));
        plan
    },
};

/// `v/(1 - r) = ttl/(1 + r)`.
fn drift_frontier(bounds: &Bounds) -> Option<u64> {
    let (ttl, valid) = (bounds.ttl().as_nanos(), bounds.validity().as_nanos());
    let parts = u128::from(PPM * Unit::Ppm.parts());
    u64::try_from((ttl - valid) * parts / (ttl + valid)).ok()
}

pub(super) const STORE_STEP: Magnitude = Magnitude {
    name: "store-step",
    about: "the store's clock is put forward once",
    promise: Promise::SingleLeader,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "ttl - v (1 + rho)/(1 - rho)",
    frontier: |bounds| {
        let counted = on_clock(bounds.claim_ends(), bounds.rho());
        Some(nanos(bounds.ttl().saturating_sub(counted)))
    },
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: next_is_late,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, by_ms, seed| {
        let mut plan = duel(bounds, seed);
        let left = bounds.ttl().saturating_sub(Duration::from_millis(by_ms));
        next_asks_at(&mut plan, true_time(left, bounds.rho()));
        if by_ms > 0 {
            let step = StoreFault::StoreClockStep { by_ms: by_ms.cast_signed() };
            plan.at(BEGINS_MS, 0, What::Store(step));
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
    tolerance: next_is_late,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, by_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_asks_at(&mut plan, bounds.lease_ends());
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
    tolerance: next_is_late,
    range: up_to_a_ttl,
    seeds: 1,
    plan: |bounds, for_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_asks_at(&mut plan, bounds.lease_ends());
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
    // The store loses its data up to two milliseconds after the renewal, answers again one millisecond later, and gets
    // the next candidate's request up to three milliseconds later.
    tolerance: |bounds| nanos(on_clock(Duration::from_millis(BEGINS_MS + 5), bounds.rho())) + 2_000,
    range: |bounds| (bounds.settings.ttl_ms / SMALLER, 2 * bounds.settings.ttl_ms),
    seeds: 1,
    plan: |bounds, quarantine_ms, seed| {
        // A candidate that knows the leader's TTL extends its quarantine to it. So the next candidate sends its first
        // request after the loss, to a store that has to make it wait though it knows no tenure. That store makes the
        // leader wait too, so the leader is cut off just after its first renewal.
        let mut plan = duel(bounds, seed);
        plan.faults.clear();
        plan.store.trust_empty_store = false;
        plan.calm_from_ms += 2 * bounds.settings.ttl_ms;
        // It leads as soon as its own fast clock has counted the quarantine.
        let part = |ms: u64| ms / SMALLER;
        let of = bounds.settings;
        plan.nodes[NEXT].settings = Some(Settings {
            ttl_ms: part(of.ttl_ms),
            renew_interval_ms: part(of.renew_interval_ms).max(1),
            // It sends a request as soon as it can reach the store.
            request_timeout_ms: 1,
            stop_margin_ms: part(of.stop_margin_ms),
            retry_least_ms: 1,
            retry_most_ms: 1,
            poll_bound_ms: of.poll_bound_ms,
            drain_bound_ms: of.drain_bound_ms,
            quarantine_ms,
            granularity_ns: 1,
            drift_ppm: of.drift_ppm,
        });
        let renewals = of.quarantine_ms / of.renew_interval_ms + 1;
        let counted = Duration::from_millis(renewals * of.renew_interval_ms);
        let renewed = true_time(counted, plan.nodes[0].clock_rate_ppm);
        // From the next whole millisecond on.
        let begins_ms = nanos(renewed).div_ceil(nanos(Duration::from_millis(1))) + BEGINS_MS;
        let for_ms = plan.calm_from_ms - begins_ms;
        plan.at(0, begins_ms + 1, LinkFault::Partition.at(Some(NEXT)));
        plan.at(begins_ms, for_ms, LinkFault::Partition.at(LEADER));
        plan.at(begins_ms, 1, What::Store(StoreFault::StoreLoss));
        plan
    },
};

/// The factor by which the next candidate's TTL is shorter: no quarantine may be shorter than the candidate's own TTL.
const SMALLER: u64 = 10;
