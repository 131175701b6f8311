//! Magnitudes without a frontier: they never break single leadership, however large they are.

use super::super::formula::Bounds;
use super::super::promise::Promise;
use super::super::stage::{BEGINS_MS, LEADER, duel, next_takes_at_once};
use super::{Magnitude, Side, Unit, nothing};
use crate::plan::{DAY_MS, LinkFault, Plan, ProcessFault, StoreFault, What};

/// The most TTLs that are tried.
const TTLS: u64 = 8;

const fn up_to_many_ttls(bounds: &Bounds) -> (u64, u64) {
    (1, TTLS * bounds.settings.ttl_ms)
}

const fn without_frontier(
    name: &'static str,
    about: &'static str,
    range: fn(&Bounds) -> (u64, u64),
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
        range,
        seeds: 4,
        plan,
    }
}

/// The leader is not cut off: something else keeps it from renewing for so long.
fn instead_of_a_cut(bounds: &Bounds, for_ms: u64, seed: u64, what: What) -> Plan {
    let mut plan = duel(bounds, seed);
    next_takes_at_once(&mut plan);
    plan.calm_from_ms += for_ms;
    plan.faults.clear();
    plan.at(BEGINS_MS, for_ms, what);
    plan
}

pub(super) const PAUSE: Magnitude = without_frontier(
    "long-pause",
    "the leader's process is paused, and its clocks run",
    up_to_many_ttls,
    |bounds, for_ms, seed| instead_of_a_cut(bounds, for_ms, seed, ProcessFault::Pause.at(LEADER)),
);

pub(super) const HOLD: Magnitude = without_frontier(
    "late-messages",
    "all messages between the leader and the store are held, and arrive in order afterwards",
    up_to_many_ttls,
    |bounds, for_ms, seed| instead_of_a_cut(bounds, for_ms, seed, LinkFault::Hold.at(LEADER)),
);

pub(super) const REPLICA_LAG: Magnitude = without_frontier(
    "replica-lag",
    "a lagging replica is promoted, and the old primary acknowledges nothing any more",
    up_to_many_ttls,
    |bounds, lag_ms, seed| {
        let mut plan = duel(bounds, seed);
        plan.faults.clear();
        let begins_ms = (TTLS + 4) * bounds.settings.ttl_ms;
        plan.calm_from_ms = begins_ms + 4 * bounds.settings.ttl_ms + bounds.settings.quarantine_ms;
        plan.at(begins_ms, 1, What::Store(StoreFault::Failover { lag_ms, clock_ahead_ms: 0 }));
        let for_ms = plan.calm_from_ms;
        plan.at(begins_ms, for_ms, LinkFault::Partition.at(LEADER));
        plan
    },
);

pub(super) const STORE_FORWARD: Magnitude = without_frontier(
    "store-forward",
    "the store's clock is put forward while the leader is cut off",
    |_| (1, DAY_MS),
    |bounds, by_ms, seed| a_step_of_the_store(bounds, by_ms.cast_signed(), seed),
);

pub(super) const STORE_BACK: Magnitude = without_frontier(
    "store-back",
    "the store's clock is put back while the leader is cut off",
    |_| (1, DAY_MS),
    |bounds, by_ms, seed| a_step_of_the_store(bounds, -by_ms.cast_signed(), seed),
);

fn a_step_of_the_store(bounds: &Bounds, by_ms: i64, seed: u64) -> Plan {
    let mut plan = duel(bounds, seed);
    next_takes_at_once(&mut plan);
    plan.at(BEGINS_MS, 0, What::Store(StoreFault::StoreClockStep { by_ms }));
    plan
}
