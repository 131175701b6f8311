//! The worst case around a fault: a leader that is cut off just after its grant, clocks at opposite bounds, and another
//! candidate that sends a request exactly when the lease ends.

use std::time::Duration;

use super::formula::{Bounds, on_clock};
use crate::plan::clock::{PPM, true_time};
use crate::plan::{
    Asking, LinkFault, NANOSECOND, NodePlan, Plan, Point, ProcessFault, StorePlan, Trigger, millis,
    nanos,
};

/// The first reading of the clocks, from which no step leads below zero.
const OFFSET_MS: u64 = 36_000_000;
/// The beginning of all faults: the first millisecond after the grant, in milliseconds.
pub(super) const BEGINS_MS: u64 = 1;
/// The number of poll bounds that are tried to make the next candidate's request arrive in time.
const POLLS: u64 = 1_000;
/// The number of pauses that are tried to place a check just before the claim's end.
const DELAYS_MS: u64 = 400;

/// The leader of the stage, and the waiting candidate.
pub(super) const LEADER: Option<usize> = Some(0);
pub(super) const NEXT: usize = 1;

/// Two candidates with clocks at opposite bounds: the first one leads from the beginning, and is cut off from then
/// until the recovery phase.
pub(super) fn duel(bounds: &Bounds, seed: u64) -> Plan {
    let mut plan = alone(bounds, -bounds.rho(), seed);
    plan.store.clock_rate_ppm = bounds.rho();
    plan.nodes.push(NodePlan { clock_rate_ppm: bounds.rho(), ..plan.nodes[0] });
    let for_ms = plan.calm_from_ms;
    plan.at(BEGINS_MS, for_ms, LinkFault::Partition.at(LEADER));
    plan
}

/// One candidate, whose clock is off by that rate, and a store without faults and without latency.
pub(super) fn alone(bounds: &Bounds, rate_ppm: i64, seed: u64) -> Plan {
    let leader = NodePlan { clock_rate_ppm: rate_ppm, ..NodePlan::of_offset(OFFSET_MS) };
    Plan {
        // The first candidate that sends a request leads at once. The stages about lost data change this.
        store: StorePlan { clock_rate_ppm: 0, trust_empty_store: true },
        calm_from_ms: 4 * bounds.settings.ttl_ms,
        ..Plan::quiet(seed, bounds.settings, vec![leader])
    }
}

/// Adds a pause of the leader the `nth` time that it reaches that point, unless the pause takes no time.
pub(super) fn on(plan: &mut Plan, (point, of, nth): (Point, Option<Asking>, u32), for_ms: u64) {
    if for_ms > 0 {
        let trigger = Trigger { point, node: LEADER, of, nth, after_ms: 0 };
        plan.on(trigger, for_ms, ProcessFault::Pause.at(LEADER));
    }
}

/// Makes the next candidate send a request at the end of the lease, or as soon after it as possible, and never before:
/// its poll bound and its clock are chosen for that.
pub(super) fn next_asks_at(plan: &mut Plan, lease_ends: Duration) {
    let ends = lease_ends.max(Duration::from_millis(1));
    let ttl_ms = plan.settings.ttl_ms;
    let most_ms = millis(on_clock(ends, plan.store.clock_rate_ppm)).clamp(1, ttl_ms);
    // The rate of its clock stays within the store's; its own claims do not affect the stage.
    let rate = plan.store.clock_rate_ppm.unsigned_abs();
    let width_ms = most_ms * 2 * rate / (PPM + rate);
    let polls = (most_ms - POLLS.min(width_ms)..=most_ms).map(|poll_ms| {
        let polls = Duration::from_millis(poll_ms);
        let pace = polls.as_nanos() * u128::from(PPM) / ends.as_nanos();
        let pace = u64::try_from(pace).unwrap_or(PPM).max(1);
        let rate_ppm = pace.cast_signed() - PPM.cast_signed();
        (true_time(polls, rate_ppm).saturating_sub(ends), poll_ms, rate_ppm)
    });
    if let Some((_, poll_ms, rate_ppm)) = polls.min() {
        let mut settings = plan.settings_of(NEXT);
        settings.poll_bound_ms = poll_ms;
        plan.nodes[NEXT].clock_rate_ppm = rate_ppm;
        plan.nodes[NEXT].settings = Some(settings);
    }
}

/// The largest delay of that request, in nanoseconds: the clock's rate is a whole number of ppm.
pub(super) fn next_is_late(bounds: &Bounds) -> u64 {
    nanos(bounds.lease_ends()) / PPM + 1_000
}

/// A second check of leadership just before the leader's claim ends.
///
/// A check comes a whole number of milliseconds after the election, so the election is delayed by a pause
/// before the leader reads the grant. The claim counts from the request, and is not delayed.
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
        on(plan, (Point::Reply, Some(Asking::Acquire), 1), self.delay_ms);
        plan.work.every_ms = self.every_ms;
    }
}
