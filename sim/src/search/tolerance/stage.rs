//! The worst case around a fault: a leader that is cut off just after its grant, clocks at opposite
//! bounds, and another candidate that learns of the lease at its grant, and takes it at the moment
//! at which its watch is over.

use std::time::Duration;

use super::formula::{Bounds, on_clock};
use crate::plan::{
    LinkFault, NANOSECOND, NodePlan, Plan, Point, ProcessFault, RequestKind, Settings, StorePlan,
    Trigger, millis,
};

/// The first reading of the clocks, from which no step leads below zero.
const OFFSET_MS: u64 = 36_000_000;
/// The beginning of all faults: the first millisecond after the grant, in milliseconds.
pub(super) const BEGINS_MS: u64 = 1;
/// The largest delay of the next candidate's request, in nanoseconds: clocks and times are rounded.
pub(super) const ROUNDED: u64 = 10;
/// The factor by which the next candidate's TTL is longer.
const LONGER: u64 = 4;
/// The number of pauses that are tried to place a check just before the claim's end.
const DELAYS_MS: u64 = 400;

/// The leader of the stage, and the waiting candidate.
pub(super) const LEADER: Option<usize> = Some(0);
pub(super) const NEXT: usize = 1;

/// Two candidates with clocks at opposite bounds: the first one leads from the beginning, and is
/// cut off from then until the recovery phase. The second one is told of the lease at once, so its
/// watch begins as early as it can.
pub(super) fn duel(bounds: &Bounds, seed: u64) -> Plan {
    let mut plan = alone(bounds, -bounds.rho(), seed);
    plan.nodes.push(NodePlan { clock_rate_ppm: bounds.rho(), ..plan.nodes[0] });
    let for_ms = plan.calm_from_ms;
    plan.at(BEGINS_MS, for_ms, LinkFault::Partition.at(LEADER));
    plan
}

/// One candidate, whose clock is off by that rate, and a store without faults, drift and latency.
pub(super) fn alone(bounds: &Bounds, rate_ppm: i64, seed: u64) -> Plan {
    let leader = NodePlan { clock_rate_ppm: rate_ppm, ..NodePlan::of_offset(OFFSET_MS) };
    Plan {
        // The first candidate that sends a request leads at once. The stages about lost data change
        // this.
        store: StorePlan { clock_rate_ppm: 0, trust_empty_store: true },
        calm_from_ms: 4 * bounds.settings.ttl_ms,
        ..Plan::quiet(seed, bounds.settings, vec![leader])
    }
}

/// Adds a pause of the leader the `nth` time that it reaches that point, unless the pause takes no
/// time.
pub(super) fn on(
    plan: &mut Plan,
    (point, of, nth): (Point, Option<RequestKind>, u32),
    for_ms: u64,
) {
    if for_ms > 0 {
        let trigger = Trigger { point, node: LEADER, of, nth, after_ms: 0 };
        plan.on(trigger, for_ms, ProcessFault::Pause.at(LEADER));
    }
}

/// Makes the next candidate take the lease at the moment at which its watch is over.
pub(super) fn next_takes_at_once(plan: &mut Plan) {
    next_looks_after(plan, plan.settings.ttl_ms);
}

/// Makes the next candidate look for the first time after so long by its own clock, and each time
/// after as long again.
///
/// Its own TTL is longer, so it would not look before that. Otherwise it would look when the leader
/// should have renewed, and later take the lease after a random delay. The quarantines cover that
/// TTL, so the settings agree.
pub(super) fn next_looks_after(plan: &mut Plan, counted_ms: u64) {
    let quarantine_ms = plan.settings.quarantine_ms.max(LONGER * plan.settings.ttl_ms);
    plan.settings.quarantine_ms = quarantine_ms;
    plan.nodes[NEXT].settings = Some(Settings {
        ttl_ms: LONGER * plan.settings.ttl_ms,
        renew_interval_ms: LONGER / 2 * plan.settings.ttl_ms,
        poll_bound_ms: counted_ms.max(1),
        ..plan.settings
    });
}

/// A second check of leadership just before the leader's claim ends.
///
/// A check comes a whole number of milliseconds after the election, so the election is delayed by a
/// pause before the leader reads the grant. The claim counts from the request, and is not delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LastCheck {
    /// The rest of the claim at that check, by the leader's clock.
    pub(super) left: Duration,
    delay_ms: u64,
    every_ms: u64,
}

impl LastCheck {
    /// The latest check that can be staged.
    pub(super) fn of(bounds: &Bounds) -> Self {
        let validity = bounds.validity();
        let most_ms = DELAYS_MS.min(millis(bounds.request_timeout() / 2));
        let after = |delay_ms: u64| {
            // Up to the last nanosecond of the claim.
            let delay = on_clock(Duration::from_millis(delay_ms), -bounds.rho());
            let span = validity.saturating_sub(NANOSECOND + delay);
            let whole_ms = millis(span);
            let left = span.saturating_sub(Duration::from_millis(whole_ms)) + NANOSECOND;
            Self { left, delay_ms, every_ms: whole_ms.max(1) }
        };
        (1..=most_ms).map(after).fold(after(0), Ord::min)
    }

    /// Adds the check to a plan.
    pub(super) fn stage(self, plan: &mut Plan) {
        on(plan, (Point::Reply, Some(RequestKind::Acquire), 1), self.delay_ms);
        plan.work.every_ms = self.every_ms;
    }
}
