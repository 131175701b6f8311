//! Magnitudes of the time between a check of leadership and its effect: how long may it be before a
//! resource that does not compare tokens accepts a stale write? No check can bound that time.

use super::super::formula::Bounds;
use super::super::promise::Promise;
use super::super::stage::{LastCheck, ROUNDED, duel, next_takes_at_once, on};
use super::{Magnitude, Side, Unit};
use crate::plan::clock::true_time;
use crate::plan::{Point, nanos};

/// The time from the leader's last check to the end of its claim.
fn a_check_too_early(bounds: &Bounds) -> u64 {
    nanos(true_time(LastCheck::of(bounds).left, -bounds.rho())) + ROUNDED
}

pub(super) const PAUSE_AT_GUARD: Magnitude = Magnitude {
    name: "pause-at-guard",
    about: "the leader is paused between its last check and the write",
    promise: Promise::UnfencedInOrder,
    side: Side::Above,
    unit: Unit::Ms,
    formula: "ttl/(1 + rho) - v/(1 - rho)",
    frontier: |bounds| Some(nanos(bounds.gap())),
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: a_check_too_early,
    range: |bounds| (0, bounds.settings.ttl_ms),
    seeds: 1,
    plan: |bounds, for_ms, seed| {
        let mut plan = duel(bounds, seed);
        LastCheck::of(bounds).stage(&mut plan);
        next_takes_at_once(&mut plan);
        on(&mut plan, (Point::Guard, None, 2), for_ms);
        plan
    },
};

pub(super) const SLOW_EFFECT: Magnitude = Magnitude {
    name: "slow-effect",
    about: "a write arrives late after its check",
    promise: Promise::PromptEffect,
    side: Side::Above,
    unit: Unit::Us,
    formula: "ttl/(1 + rho) - v/(1 - rho)",
    frontier: |bounds| Some(nanos(bounds.gap())),
    explained: |_, explained| Some(nanos(explained.clock_jump_tolerated)),
    tolerance: a_check_too_early,
    range: |bounds| (0, bounds.settings.ttl_ms * 1_000),
    // Every second write takes as long as permitted, by chance, and the last write must be one of
    // them.
    seeds: 16,
    plan: |bounds, takes_us, seed| {
        let mut plan = duel(bounds, seed);
        LastCheck::of(bounds).stage(&mut plan);
        next_takes_at_once(&mut plan);
        plan.work.takes_us = takes_us;
        plan
    },
};
