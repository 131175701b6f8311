//! Magnitudes that cost the lead, but never safety: the time for which the leader can't renew.

use std::time::Duration;

use super::super::formula::Bounds;
use super::super::promise::Promise;
use super::super::stage::{LEADER, alone, on};
use super::{Magnitude, Side, Unit, nothing};
use crate::plan::clock::true_time;
use crate::plan::{LinkFault, NANOSECOND, Plan, Point, RequestKind, micros, millis, nanos};

/// A single leader whose clock is as fast as permitted, and whose requests are answered just before
/// its request timeout.
fn slowly_answered(bounds: &Bounds, seed: u64) -> Plan {
    let mut plan = alone(bounds, bounds.rho(), seed);
    plan.latency_us = (slowest_us(bounds), slowest_us(bounds));
    plan
}

/// Half a request timeout on a fast clock, less two microseconds.
fn slowest_us(bounds: &Bounds) -> u64 {
    micros(true_time(bounds.request_timeout(), bounds.rho()) / 2).saturating_sub(1)
}

/// The largest distance of random delays from the longest delay before the next attempt, in
/// nanoseconds: at least one of all seeds comes as close as that.
fn part_of_a_delay(longest: Duration) -> u64 {
    nanos(longest / 8 + Duration::from_micros(20))
}

pub(super) const PAUSE: Magnitude = Magnitude {
    name: "pause",
    about: "the leader's process is paused before it reads a reply",
    promise: Promise::LeadKept,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "(v - max(renew interval, request timeout) - 2 request timeout - least retry)/(1 + rho)",
    frontier: |bounds| Some(nanos(pause_frontier(bounds))),
    explained: |bounds, explained| Some(nanos(true_time(explained.largest_pause, bounds.rho()))),
    tolerance: |bounds| part_of_a_delay(bounds.backoff(1)),
    range: |bounds| (0, bounds.settings.ttl_ms),
    seeds: 64,
    plan: |bounds, for_ms, seed| {
        let mut plan = slowly_answered(bounds, seed);
        on(&mut plan, (Point::Reply, Some(RequestKind::Renew), 1), for_ms);
        plan
    },
};

/// The pause costs the first reply after the last renewal that counts. The delay after one failure
/// follows, and a second attempt that takes as long as possible. `Config::explain` assumes more
/// earlier failures, and the longest delay.
fn pause_frontier(bounds: &Bounds) -> Duration {
    let spent = bounds.next_renewal() + 2 * bounds.request_timeout() + bounds.backoff(1);
    true_time(bounds.validity().saturating_sub(spent), bounds.rho())
}

pub(super) const CUT: Magnitude = Magnitude {
    name: "cut",
    about: "no message arrives between the leader and the store",
    promise: Promise::LeadKept,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "the earliest last attempt that is lost and leaves too little time for another",
    frontier: cut_frontier,
    explained: |bounds, explained| Some(nanos(true_time(explained.longest_cut, bounds.rho()))),
    tolerance: |bounds| part_of_a_delay(2 * bounds.config.retry().1),
    range: |bounds| (0, bounds.settings.ttl_ms),
    seeds: 512,
    plan: |bounds, for_ms, seed| {
        let mut plan = slowly_answered(bounds, seed);
        if for_ms > 0 {
            plan.at(cut_begins_ms(bounds), for_ms, LinkFault::Partition.at(LEADER));
        }
        plan
    },
};

/// The cut begins just before the store answers a renewal, the first after the last one that
/// counts. This answer and all following attempts are lost. The lead is lost if an attempt is lost
/// after which there is no time left for its timeout, the longest delay, and one more slow attempt.
/// Delays are drawn up to a bound that grows with the failures in a row, so the `n`-th attempt is
/// sent between `least` and `most`.
fn cut_frontier(bounds: &Bounds) -> Option<u64> {
    let timeout = bounds.request_timeout();
    let (mut least, mut most) = (bounds.next_renewal(), bounds.next_renewal());
    for failures in 1.. {
        let delay = bounds.backoff(failures);
        let too_late = bounds.validity().saturating_sub(2 * timeout + delay);
        if most >= too_late {
            let lost = true_time(least.max(too_late), bounds.rho());
            let begins = Duration::from_millis(cut_begins_ms(bounds));
            return Some(nanos(lost.saturating_sub(begins)));
        }
        (least, most) = (least + timeout, most + timeout + delay);
    }
    None
}

/// The last millisecond before the store answers the first renewal.
fn cut_begins_ms(bounds: &Bounds) -> u64 {
    let asked = true_time(bounds.next_renewal(), bounds.rho());
    millis((asked + Duration::from_micros(slowest_us(bounds))).saturating_sub(NANOSECOND))
}

pub(super) const LATENCY: Magnitude = Magnitude {
    name: "latency",
    about: "every message has that latency, in each direction",
    promise: Promise::LeadKept,
    side: Side::Above,
    unit: Unit::Us,
    formula: "request timeout/(1 + rho)/2",
    frontier: |bounds| Some(nanos(true_time(bounds.request_timeout(), bounds.rho()) / 2)),
    explained: nothing,
    tolerance: |_| Unit::Us.parts(),
    range: |bounds| (0, bounds.settings.request_timeout_ms * 1_000),
    seeds: 1,
    plan: |bounds, takes_us, seed| {
        let mut plan = alone(bounds, bounds.rho(), seed);
        plan.latency_us = (takes_us, takes_us);
        plan
    },
};
