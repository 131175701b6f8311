//! The first plans of a search, and small changes of plans. Nearly all of them keep every
//! assumption; those that break one are not run.

use super::super::formula::Bounds;
use crate::judge::margin::Ending;
use crate::plan::clock::true_time;
use crate::plan::draw::Draw;
use crate::plan::{
    Fault, LinkFault, NodePlan, Plan, ProcessFault, StoreFault, StorePlan, What, When, Work, micros,
};

/// The beginning of the recovery phase, in TTLs.
const CALM: u64 = 5;
/// The most checks of work in a TTL.
const CHECKS: u64 = 500;
/// The most faults of a plan: further faults would mask each other.
const FAULTS_MOST: usize = 6;

pub(super) struct Changes<'a> {
    bounds: &'a Bounds,
    draw: Draw,
}

impl<'a> Changes<'a> {
    pub(super) fn new(bounds: &'a Bounds, draw: Draw) -> Self {
        Self { bounds, draw }
    }

    /// A random plan in which a tenure probably ends in that way.
    pub(super) fn random(&mut self, ending: Ending) -> Plan {
        let ttl_ms = self.bounds.settings.ttl_ms;
        let what = match ending {
            Ending::Lapsed => LinkFault::Partition.at(Some(0)),
            Ending::HandedBack => ProcessFault::Resign.at(None),
        };
        let for_ms = if what.lasts() { 2 * ttl_ms } else { 0 };
        let at_ms = self.draw.within(1..=ttl_ms);
        let count = self.draw.within(2..=3);
        let seed = self.draw.bits();
        let nodes = (0..count).map(|_| self.node()).collect();
        let mut plan = Plan {
            store: StorePlan { clock_rate_ppm: self.rate(), trust_empty_store: true },
            latency_us: self.latency(),
            work: Work { every_ms: self.every_ms(), takes_us: 0, reads_first: false },
            calm_from_ms: CALM * ttl_ms,
            ..Plan::quiet(seed, self.bounds.settings, nodes)
        };
        plan.at(at_ms, for_ms, what);
        plan
    }

    /// The same plan with one to three changes.
    pub(super) fn changed(&mut self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for _ in 0..self.draw.within(1..=3) {
            self.change(&mut plan);
        }
        plan
    }

    fn change(&mut self, plan: &mut Plan) {
        match self.draw.within(0..=10) {
            0 => {
                let node = self.index(plan.nodes.len());
                plan.nodes[node].clock_rate_ppm =
                    self.changed_rate(plan.nodes[node].clock_rate_ppm);
            }
            1 => plan.store.clock_rate_ppm = self.changed_rate(plan.store.clock_rate_ppm),
            2 => plan.seed = self.draw.bits(),
            3 => plan.latency_us = self.latency(),
            4 => plan.work.every_ms = self.every_ms(),
            5 => plan.work.every_ms = self.nudged(plan.work.every_ms, 1).max(self.least_every_ms()),
            6 => plan.work.takes_us = self.draw.within(0..=self.takes_most_us()),
            7 => self.change_poll(plan),
            8 => self.change_drain(plan),
            9 => self.change_fault(plan),
            _ => self.add_or_drop_fault(plan),
        }
    }

    fn change_poll(&mut self, plan: &mut Plan) {
        let node = self.index(plan.nodes.len());
        let mut settings = plan.settings_of(node);
        settings.poll_bound_ms = if self.draw.chance(1, 2) {
            self.draw.within(1..=settings.ttl_ms)
        } else {
            self.nudged(settings.poll_bound_ms, 1)
        };
        plan.nodes[node].settings = Some(settings);
    }

    /// The drain bound may be shorter, but not shorter than the effects of work may take: if work
    /// is dropped while its write is under way, the lease is handed back before the write lands.
    fn change_drain(&mut self, plan: &mut Plan) {
        let node = self.index(plan.nodes.len());
        let mut settings = plan.settings_of(node);
        let most = self.bounds.settings.drain_bound_ms;
        settings.drain_bound_ms = self.draw.pick(&[most.min(settings.stop_margin_ms), most]);
        plan.nodes[node].settings = Some(settings);
    }

    fn change_fault(&mut self, plan: &mut Plan) {
        if plan.faults.is_empty() {
            return;
        }
        let index = self.index(plan.faults.len());
        let (from_ms, lasts) = (plan.faults[index].from_ms(), plan.faults[index].what.lasts());
        let fault = &mut plan.faults[index];
        if lasts && self.draw.chance(1, 2) {
            fault.for_ms = self.nudged(fault.for_ms, 1);
        } else {
            fault.when = When::AtMs(self.nudged(from_ms, 0).min(plan.calm_from_ms - 1));
        }
    }

    fn add_or_drop_fault(&mut self, plan: &mut Plan) {
        if plan.faults.len() > 1 && self.draw.chance(1, 2) {
            plan.faults.swap_remove(self.index(plan.faults.len()));
        } else if plan.faults.len() < FAULTS_MOST {
            let fault = self.fault(plan);
            plan.faults.push(fault);
        }
    }

    fn fault(&mut self, plan: &Plan) -> Fault {
        let ttl_ms = self.bounds.settings.ttl_ms;
        let node = Some(self.index(plan.nodes.len()));
        let by_ms = self.draw.within(1..=10 * ttl_ms).cast_signed() * self.draw.pick(&[1, -1]);
        let what = self.draw.pick(&[
            LinkFault::Partition.at(node),
            LinkFault::OneWay { to_store: true }.at(node),
            LinkFault::OneWay { to_store: false }.at(node),
            LinkFault::Hold.at(node),
            LinkFault::Cut.at(node),
            LinkFault::Loss { permille: 300 }.at(node),
            LinkFault::Duplicate { permille: 500, most_ms: ttl_ms }.at(node),
            LinkFault::Reorder { permille: 500, most_ms: ttl_ms }.at(node),
            ProcessFault::Crash { power: false }.at(node),
            ProcessFault::Crash { power: true }.at(node),
            ProcessFault::Leave.at(node),
            ProcessFault::Resign.at(None),
            What::Store(StoreFault::StoreStall),
            What::Store(StoreFault::StoreCrash),
            What::Store(StoreFault::StoreClockStep { by_ms }),
        ]);
        let for_ms = if what.lasts() { self.draw.within(1..=2 * ttl_ms) } else { 0 };
        Fault { when: When::AtMs(self.draw.within(0..=plan.calm_from_ms - 1)), for_ms, what }
    }

    fn node(&mut self) -> NodePlan {
        let clock_offset_ms = self.draw.within(1_000..=10_000_000);
        NodePlan { clock_offset_ms, clock_rate_ppm: self.rate(), settings: None }
    }

    /// Any rate within the drift bound.
    fn rate(&mut self) -> i64 {
        let rho = self.bounds.rho();
        self.draw.within(0..=2 * rho.unsigned_abs()).cast_signed() - rho
    }

    /// A rate at a bound, near the last one, or any.
    fn changed_rate(&mut self, rate_ppm: i64) -> i64 {
        let rho = self.bounds.rho();
        match self.draw.within(0..=3) {
            0 => rho,
            1 => -rho,
            2 => self.rate(),
            _ => {
                let from_bound = (rate_ppm + rho).unsigned_abs();
                (self.nudged(from_bound, 0).cast_signed() - rho).min(rho)
            }
        }
    }

    fn latency(&mut self) -> (u64, u64) {
        let least = self.draw.pick(&[0, 0, 50]);
        (least, least + self.draw.pick(&[0, 0, 200, 2_000]))
    }

    fn every_ms(&mut self) -> u64 {
        let most = self.bounds.settings.ttl_ms;
        self.draw.within(self.least_every_ms()..=most)
    }

    fn least_every_ms(&self) -> u64 {
        (self.bounds.settings.ttl_ms / CHECKS).max(1)
    }

    /// The longest time that an effect may take: `stop margin/(1 + rho)`, and no longer than the
    /// drain bound.
    fn takes_most_us(&self) -> u64 {
        let most = self.bounds.config.stop_margin().min(self.bounds.config.drain_bound());
        micros(true_time(most, self.bounds.rho()))
    }

    /// A value that is a little or much larger or smaller, but at least `least`.
    fn nudged(&mut self, value: u64, least: u64) -> u64 {
        let most = 1 << self.draw.within(0..=13);
        let by = self.draw.within(1..=most);
        let nudged = if self.draw.chance(1, 2) {
            value.saturating_add(by)
        } else {
            value.saturating_sub(by)
        };
        nudged.max(least)
    }

    fn index(&mut self, len: usize) -> usize {
        let last = (len as u64).saturating_sub(1);
        usize::try_from(self.draw.within(0..=last)).unwrap_or(0)
    }
}
