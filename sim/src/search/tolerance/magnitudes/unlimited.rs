//! Magnitudes without a frontier: they never break single leadership, however large they are.

use super::super::formula::Bounds;
use super::super::promise::Promise;
use super::super::stage::{BEGINS_MS, LEADER, duel, next_asks_at};
use super::{Magnitude, Side, Unit, nothing};
use crate::plan::{LinkFault, Plan, ProcessFault, StoreFault, What};

/// The most TTLs that are tried.
const TTLS: u64 = 8;

const fn up_to_many_ttls(bounds: &Bounds) -> (u64, u64) {
    (1, TTLS * bounds.settings.ttl_ms)
}

const fn without_frontier(
    name: &'static str,
    about: &'static str,
    plan: fn(&Bounds, u64, u64) -> Plan,
) -> Magnitude {
    Magnitude {
        name,
        about,
        promise: Promise::SingleLeader,
        side: Side::Above,
        unit: Unit::Ms,
        formula: "none",
        frontier: |_| None,
        explained: nothing,
        tolerance: |_| 0,
        range: up_to_many_ttls,
        seeds: 4,
        plan,
    }
}

pub(super) const PAUSE: Magnitude = without_frontier(
    "long-pause",
    "the leader's process is paused, and its clocks run",
    |bounds, for_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_asks_at(&mut plan, bounds.lease_ends());
        plan.calm_from_ms += for_ms;
        plan.at(BEGINS_MS, for_ms, ProcessFault::Pause.at(LEADER));
        plan
    },
);

pub(super) const HOLD: Magnitude = without_frontier(
    "late-messages",
    "all messages between the leader and the store are held, and arrive in order afterwards",
    |bounds, for_ms, seed| {
        let mut plan = duel(bounds, seed);
        next_asks_at(&mut plan, bounds.lease_ends());
        plan.calm_from_ms += for_ms;
        plan.faults.clear();
        // The leader is not cut off: its requests arrive later.
        plan.at(BEGINS_MS, for_ms, LinkFault::Hold.at(LEADER));
        plan
    },
);

pub(super) const REPLICA_LAG: Magnitude = without_frontier(
    "replica-lag",
    "a lagging replica is promoted, and the old primary acknowledges nothing any more",
    |bounds, lag_ms, seed| {
        let mut plan = duel(bounds, seed);
        plan.faults.clear();
        // The first leader waits out a quarantine of its own, which must be over.
        plan.store.trust_empty_store = false;
        let begins_ms = (TTLS + 4) * bounds.settings.ttl_ms + bounds.settings.quarantine_ms;
        plan.calm_from_ms = begins_ms + 4 * bounds.settings.ttl_ms + bounds.settings.quarantine_ms;
        plan.at(begins_ms, 1, What::Store(StoreFault::Failover { lag_ms, clock_ahead_ms: 0 }));
        let for_ms = plan.calm_from_ms;
        plan.at(begins_ms, for_ms, LinkFault::Partition.at(LEADER));
        plan
    },
);
