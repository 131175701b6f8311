//! The errors of clocks, worked out from the plan and from the times of its faults.
//!
//! A trace contains the time at which a clock was stepped, but not the size of the step: the plan does.

use serde::Serialize;

use crate::plan::clock::{Clock, SimTime};
use crate::plan::{FaultKind, Plan, What, When};
use crate::trace::{Entry, Event};

const MS: i64 = 1_000_000;
/// The most by which an engine with ticks carries a fault out after its time.
const LATE: u64 = 2 * 1_000_000;

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
    showed: u64,
    stops: u32,
    /// Its readings when snapshots were taken.
    snapshots: Vec<u64>,
    points: Vec<(SimTime, i64)>,
}

impl Watched {
    fn new(showed: u64, rate_ppm: i64) -> Self {
        let clock = Clock::new(showed, rate_ppm);
        Self { clock, showed, stops: 0, snapshots: Vec::new(), points: vec![(0, 0)] }
    }

    fn look(&mut self, at: SimTime) {
        let shows = self.clock.read(at).as_nanos();
        let error = i128::from(shows) - i128::from(self.showed) - i128::from(at);
        let error = i64::try_from(error).unwrap_or(if error < 0 { i64::MIN } else { i64::MAX });
        if self.points.last() != Some(&(at, error)) {
            self.points.push((at, error));
        }
    }

    fn change(&mut self, at: SimTime, change: impl FnOnce(&mut Self)) {
        self.look(at);
        change(self);
        self.look(at);
    }

    fn begins(&mut self, at: SimTime, kind: FaultKind, by: Option<i64>) {
        match kind {
            FaultKind::VmStop => self.change(at, |of| {
                of.stops += 1;
                of.clock.stop(at);
            }),
            FaultKind::VmRestore => self.snapshots.push(self.clock.read(at).as_nanos()),
            _ => {
                if let Some(by) = by {
                    self.change(at, |of| of.clock.step(at, by));
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
                let back = of.snapshots.remove(0).cast_signed();
                of.clock.step(at, back - of.clock.read(at).as_nanos().cast_signed());
            }),
            _ => {}
        }
    }

    fn finish(mut self, at: SimTime, rate_ppm: i64) -> Error {
        self.look(at);
        let showed_ms = self.showed / MS.unsigned_abs();
        Error { rate_ppm, showed_ms, points: self.points }
    }
}

/// The error of every node's clock, then that of the store's.
pub(super) fn errors(plan: &Plan, entries: &[Entry], end: SimTime) -> Vec<Error> {
    let rates = plan.nodes.iter().map(|node| (node.clock_offset_ms, node.clock_rate_ppm));
    let rates: Vec<_> = rates.chain([(0, plan.store.clock_rate_ppm)]).collect();
    let watch = |(showed_ms, rate): &(u64, i64)| Watched::new(showed_ms * 1_000_000, *rate);
    let mut clocks: Vec<Watched> = rates.iter().map(watch).collect();
    let store = plan.nodes.len();
    let mut used = vec![false; plan.faults.len()];
    for Entry { at, event } in entries {
        match *event {
            Event::Fault { kind, node } => {
                let by = stepped_by(plan, &mut used, *at, kind, node);
                if let Some(clock) = clocks.get_mut(node.unwrap_or(store)) {
                    clock.begins(*at, kind, by);
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
    clocks.into_iter().zip(rates).map(|(clock, (_, rate))| clock.finish(end, rate)).collect()
}

/// The clock step of a fault at that time: the step of the first matching fault in the plan that has not been
/// used yet.
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
        What::ClockStep { by_ms, .. } | What::StoreClockStep { by_ms } => Some(by_ms * MS),
        What::Failover { clock_ahead_ms, .. } => Some(clock_ahead_ms * MS),
        _ => None,
    }
}

fn may_begin(when: When, at: SimTime) -> bool {
    match when {
        When::AtMs(at_ms) => at.checked_sub(at_ms * 1_000_000).is_some_and(|late| late <= LATE),
        When::On(trigger) => at >= trigger.after_ms * 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Fault, Scope, swarm};

    fn plan(what: What) -> Plan {
        let mut plan = swarm(1, &[], Scope::Model);
        plan.nodes[0].clock_rate_ppm = 1_000;
        plan.faults = vec![Fault { when: When::AtMs(1_000), for_ms: 0, what }];
        plan
    }

    fn entry(at_ms: u64, event: Event) -> Entry {
        Entry { at: at_ms * 1_000_000, event }
    }

    #[test]
    fn a_clock_drifts_and_is_stepped() {
        let plan = plan(What::ClockStep { node: Some(0), by_ms: -50 });
        let (kind, node) = (FaultKind::ClockBack, Some(0));
        let entries = [entry(1_000, Event::Fault { kind, node })];
        let errors = errors(&plan, &entries, 2_000_000_000);
        let points = [(0, 0), (1_000_000_000, 1_000_000), (1_000_000_000, -49_000_000)];
        assert_eq!(errors[0].points[..3], points);
        assert_eq!(errors[0].points[3].0, 2_000_000_000);
        assert_eq!(errors[0].points[3].1, -48_000_000);
    }

    #[test]
    fn a_stopped_machines_clock_falls_behind() {
        let mut plan = plan(What::VmStop { node: Some(0) });
        plan.nodes[0].clock_rate_ppm = 0;
        let (kind, node) = (FaultKind::VmStop, Some(0));
        let entries =
            [entry(1_000, Event::Fault { kind, node }), entry(1_300, Event::Healed { kind, node })];
        let errors = errors(&plan, &entries, 2_000_000_000);
        assert_eq!(errors[0].points.last(), Some(&(2_000_000_000, -300_000_000)));
        assert_eq!(errors.len(), plan.nodes.len() + 1);
    }
}
