//! A plan in the making: a leader has led for a while, and something is about to happen.

use crate::plan::draw::Draw;
use crate::plan::{Plan, Point, Trigger, What};

/// A plan, and the time at which its faults begin.
#[derive(Debug)]
pub struct Stage {
    /// The plan so far.
    pub plan: Plan,
    /// The time of the faults, in milliseconds of true time.
    pub at_ms: u64,
    pub(super) draw: Draw,
}

impl Stage {
    pub(super) fn ttl_ms(&self) -> u64 {
        self.plan.settings.ttl_ms
    }

    /// A random time between `least` and `most` TTLs, in milliseconds.
    pub(super) fn ttls(&mut self, least: u64, most: u64) -> u64 {
        let ttl_ms = self.ttl_ms();
        self.draw.within(least * ttl_ms..=most * ttl_ms)
    }

    /// Adds a fault at the time of the faults; its duration is zero if it happens at one moment.
    pub(super) fn now(&mut self, for_ms: u64, what: What) {
        self.plan.at(self.at_ms, for_ms, what);
    }

    /// Adds a fault that begins when a node next reaches that point.
    pub(super) fn next(&mut self, point: Point, for_ms: u64, what: What) {
        self.plan.on(Trigger::next(point, self.at_ms), for_ms, what);
    }
}
