//! The errors of clocks, computed from the plan and from the times of its faults.
//!
//! A trace contains the time at which a clock was stepped; the size of the step is in the plan.

use std::time::Duration;

use serde::Serialize;
use tenure_core::Instant;

use crate::plan::clock::Clock;
use crate::plan::{ClockFault, FaultKind, Plan, SimTime, StoreFault, What, When, nanos};
use crate::trace::{Entry, Event};

/// The largest delay of a fault in an engine with ticks.
const LATE: Duration = Duration::from_millis(2);

/// A clock's error over time, relative to its first reading.
#[derive(Debug, Serialize)]
pub(super) struct Error {
    pub(super) rate_ppm: i64,
    /// Its first reading, in milliseconds.
    pub(super) showed_ms: u64,
    /// True time and error, in nanoseconds; straight lines between them.
    pub(super) points: Vec<(SimTime, i64)>,
}

/// A clock and its errors so far.
struct Watched {
    clock: Clock,
    showed: Duration,
    stops: u32,
    /// Its readings when snapshots were taken.
    snapshots: Vec<Instant>,
    points: Vec<(SimTime, i64)>,
}

impl Watched {
    fn new(showed: Duration, rate_ppm: i64) -> Self {
        let clock = Clock::new(showed, rate_ppm);
        Self { clock, showed, stops: 0, snapshots: Vec::new(), points: vec![(SimTime::START, 0)] }
    }

    fn sample(&mut self, at: SimTime) {
        let shows = self.clock.read(at).as_nanos();
        let error = i128::from(shows) - i128::from(nanos(self.showed)) - i128::from(at.as_nanos());
        let error = i64::try_from(error).unwrap_or(if error < 0 { i64::MIN } else { i64::MAX });
        if self.points.last() != Some(&(at, error)) {
            self.points.push((at, error));
        }
    }

    fn change(&mut self, at: SimTime, change: impl FnOnce(&mut Self)) {
        self.sample(at);
        change(self);
        self.sample(at);
    }

    fn begins(&mut self, at: SimTime, kind: FaultKind, by_ms: Option<i64>) {
        match kind {
            FaultKind::VmStop => self.change(at, |of| {
                of.stops += 1;
                of.clock.stop(at);
            }),
            FaultKind::VmRestore => self.snapshots.push(self.clock.read(at)),
            _ => {
                if let Some(by_ms) = by_ms {
                    self.change(at, |of| of.clock.step(at, by_ms));
                }
            }
        }
    }

    fn ends(&mut self, at: SimTime, kind: FaultKind) {
        match kind {
            FaultKind::VmStop => self.change(at, |of| {
                of.stops = of.stops.saturating_sub(1);
                if of.stops == 0 {
                    of.clock.resume(at);
                }
            }),
            FaultKind::VmRestore if !self.snapshots.is_empty() => self.change(at, |of| {
                let back = of.snapshots.remove(0);
                of.clock.set(at, back);
            }),
            _ => {}
        }
    }

    fn finish(mut self, at: SimTime, (showed_ms, rate_ppm): (u64, i64)) -> Error {
        self.sample(at);
        Error { rate_ppm, showed_ms, points: self.points }
    }
}

/// The error of every node's clock, then that of the store's.
pub(super) fn errors(plan: &Plan, entries: &[Entry], end: SimTime) -> Vec<Error> {
    let rates = plan.nodes.iter().map(|node| (node.clock_offset_ms, node.clock_rate_ppm));
    let rates: Vec<_> = rates.chain([(0, plan.store.clock_rate_ppm)]).collect();
    let watch =
        |(showed_ms, rate): &(u64, i64)| Watched::new(Duration::from_millis(*showed_ms), *rate);
    let mut clocks: Vec<Watched> = rates.iter().map(watch).collect();
    let store = plan.nodes.len();
    let mut used = vec![false; plan.faults.len()];
    for Entry { at, event } in entries {
        match *event {
            Event::Fault { kind, node } => {
                let by_ms = stepped_by(plan, &mut used, *at, kind, node);
                if let Some(clock) = clocks.get_mut(node.unwrap_or(store)) {
                    clock.begins(*at, kind, by_ms);
                }
            }
            Event::Healed { kind, node } => {
                if let Some(clock) = clocks.get_mut(node.unwrap_or(store)) {
                    clock.ends(*at, kind);
                }
            }
            _ => {}
        }
    }
    clocks.into_iter().zip(rates).map(|(clock, rates)| clock.finish(end, rates)).collect()
}

/// The clock step of a fault at that time: the step of the first matching fault in the plan that
/// has not been used yet.
fn stepped_by(
    plan: &Plan,
    used: &mut [bool],
    at: SimTime,
    kind: FaultKind,
    node: Option<usize>,
) -> Option<i64> {
    let fits = |index: &usize| {
        let fault = &plan.faults[*index];
        let names = fault.node().is_none_or(|named| Some(named) == node);
        !used[*index] && fault.kind() == kind && names && may_begin(fault.when, at)
    };
    let is_timed = |index: &usize| matches!(plan.faults[*index].when, When::AtMs(_));
    let fitting: Vec<usize> = (0..plan.faults.len()).filter(fits).collect();
    let index = fitting.iter().copied().find(is_timed).or_else(|| fitting.first().copied())?;
    used[index] = true;
    match plan.faults[index].what {
        What::Clock { fault: ClockFault::ClockStep { by_ms }, .. }
        | What::Store(StoreFault::StoreClockStep { by_ms }) => Some(by_ms),
        What::Store(StoreFault::Failover { clock_ahead_ms, .. }) => Some(clock_ahead_ms),
        _ => None,
    }
}

fn may_begin(when: When, at: SimTime) -> bool {
    match when {
        When::AtMs(at_ms) => {
            let due = SimTime::from_millis(at_ms);
            (due..=due + LATE).contains(&at)
        }
        When::On(trigger) => at >= SimTime::from_millis(trigger.after_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Fault, ProcessFault, Scope, ms, swarm};

    fn plan(what: What) -> Plan {
        let mut plan = swarm(1, &[], Scope::Model);
        plan.nodes[0].clock_rate_ppm = 1_000;
        plan.faults = vec![Fault { when: When::AtMs(1_000), for_ms: 0, what }];
        plan
    }

    fn entry(at_ms: u64, event: Event) -> Entry {
        Entry { at: ms(at_ms), event }
    }

    #[test]
    fn a_clock_drifts_and_is_stepped() {
        let plan = plan(ClockFault::ClockStep { by_ms: -50 }.at(Some(0)));
        let (kind, node) = (FaultKind::ClockBack, Some(0));
        let entries = [entry(1_000, Event::Fault { kind, node })];
        let errors = errors(&plan, &entries, ms(2_000));
        let points = [(ms(0), 0), (ms(1_000), 1_000_000), (ms(1_000), -49_000_000)];
        assert_eq!(errors[0].points[..3], points);
        assert_eq!(errors[0].points[3].0, ms(2_000));
        assert_eq!(errors[0].points[3].1, -48_000_000);
    }

    #[test]
    fn a_stopped_machines_clock_falls_behind() {
        let mut plan = plan(ProcessFault::VmStop.at(Some(0)));
        plan.nodes[0].clock_rate_ppm = 0;
        let (kind, node) = (FaultKind::VmStop, Some(0));
        let entries =
            [entry(1_000, Event::Fault { kind, node }), entry(1_300, Event::Healed { kind, node })];
        let errors = errors(&plan, &entries, ms(2_000));
        assert_eq!(errors[0].points.last(), Some(&(ms(2_000), -300_000_000)));
        assert_eq!(errors.len(), plan.nodes.len() + 1);
    }
}
