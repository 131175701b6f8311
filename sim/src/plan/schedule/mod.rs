//! The schedule of a plan's faults: the beginning and the end of each fault, and the node that it
//! strikes.
//!
//! Every engine uses the same schedule, so a plan means the same in all engines. The schedule is
//! pure: an engine passes in the time, the points that its nodes reach, and the node that leads,
//! and carries out each [`Step`].
//!
//! - A fault of a node strikes the node that it names, or the one at which its trigger fired, or
//!   the leader. Without any of them it does not strike.
//! - A fault of a process does not strike a node whose process is down. A crash ends the pauses of
//!   its process, and of its driver's task.
//! - A fault that lasts ends just before the recovery phase begins, if it was not over earlier. It
//!   does not begin if less than [`SHORTEST`] would be left: a store that is replaced within a
//!   microsecond may grant one token twice.
//! - A swizzle is one fault of each node.
//! - No fault begins in the recovery phase.

#[cfg(test)]
mod tests;
mod triggers;

use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    Fault, FaultKind, LinksFault, NANOSECOND, Plan, Point, RequestKind, SimTime, What, When,
};
use triggers::Triggers;

/// The shortest duration of a fault that lasts. Only the beginning of the recovery phase shortens
/// it, by a nanosecond.
const SHORTEST: Duration = Duration::from_millis(1);

/// The faults of a plan in one run.
#[derive(Debug)]
pub(crate) struct Schedule {
    faults: Vec<Fault>,
    calm_from: SimTime,
    /// By time, and then in the order in which they were put there.
    timeline: BTreeMap<(SimTime, u64), Due>,
    put: u64,
    triggers: Triggers,
    /// The number of nodes.
    nodes: usize,
    /// The faults that have begun and last.
    under_way: Vec<Strike>,
    /// Faults of that kind are ordered, but not carried out.
    without: Option<FaultKind>,
}

/// An instruction to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The fault begins, or happens, if it is one that does not last.
    Begin(Strike),
    /// It ends.
    End(Strike),
    /// The recovery phase begins.
    Calm,
}

/// A fault that strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strike {
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) kind: FaultKind,
    pub(crate) what: What,
    /// The node that it strikes; `None` for a fault of the store.
    pub(crate) node: Option<usize>,
}

/// At least one fault waited for the point that was reached, and is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fired {
    /// True if the process must wait: its next action depends on the faults.
    pub(crate) comes_between: bool,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    /// The fault at that index of the plan, and the node at which its trigger fired, if it has one.
    Fault {
        index: usize,
        fired_at: Option<usize>,
    },
    /// A fault whose node has been chosen begins, and would end at that time.
    Begin {
        strike: Strike,
        ends: SimTime,
    },
    End(Strike),
    Calm,
}

impl Schedule {
    /// The schedule of a plan. The engine carries out no fault of the kind `without`.
    pub(crate) fn of(plan: &Plan, without: Option<FaultKind>) -> Self {
        let mut schedule = Self {
            faults: plan.faults.clone(),
            calm_from: plan.calm_from(),
            timeline: BTreeMap::new(),
            put: 0,
            triggers: Triggers::of(&plan.faults),
            nodes: plan.nodes.len(),
            under_way: Vec::new(),
            without,
        };
        for (index, fault) in plan.faults.iter().enumerate() {
            if let When::AtMs(at_ms) = fault.when {
                schedule.put(SimTime::from_millis(at_ms), Due::Fault { index, fired_at: None });
            }
        }
        schedule.put(schedule.calm_from, Due::Calm);
        schedule
    }

    /// The faults that have begun and not ended, also those that the engine does not carry out.
    pub(crate) fn under_way(&self) -> &[Strike] {
        &self.under_way
    }

    /// Those of a node, or of the store, that the engine carries out. Faults overlap: what several
    /// do begins with the first of them, and ends when none is left.
    pub(crate) fn at(&self, node: Option<usize>) -> impl Iterator<Item = What> + '_ {
        let is_it =
            move |strike: &&Strike| strike.node == node && Some(strike.kind) != self.without;
        self.under_way().iter().filter(is_it).map(|strike| strike.what)
    }

    /// The time of the next step.
    pub(crate) fn next(&self) -> Option<SimTime> {
        self.timeline.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next step that is due by now. `leader` is the node that leads, if one does.
    pub(crate) fn take_due(
        &mut self,
        now: SimTime,
        leader: impl Fn() -> Option<usize>,
    ) -> Option<Step> {
        loop {
            let entry = self.timeline.first_entry().filter(|entry| entry.key().0 <= now)?;
            let ((at, _), due) = entry.remove_entry();
            let step = match due {
                Due::Fault { index, fired_at } => {
                    self.strike(index, at, now, || fired_at.or_else(&leader))
                }
                Due::Begin { strike, ends } => self.begin(strike, ends, now),
                Due::End(strike) => {
                    self.under_way.retain(|other| *other != strike);
                    Some(Step::End(strike))
                }
                Due::Calm => {
                    // Only the later parts of a swizzle are left.
                    self.timeline.clear();
                    self.triggers.disarm();
                    Some(Step::Calm)
                }
            };
            if step.is_some() {
                return step;
            }
        }
    }

    /// A node, or the store for it, has reached that point, with that kind of request. Faults that
    /// waited for it are due now.
    pub(crate) fn reached(
        &mut self,
        now: SimTime,
        point: Point,
        node: Option<usize>,
        of: Option<RequestKind>,
    ) -> Option<Fired> {
        let fired = self.triggers.reached(now, point, node, of);
        for index in &fired {
            self.put(now, Due::Fault { index: *index, fired_at: node });
        }
        let comes_between = |index: &usize| comes_between(point, node, &self.faults[*index]);
        let comes_between = fired.iter().any(comes_between);
        (!fired.is_empty()).then_some(Fired { comes_between })
    }

    fn put(&mut self, at: SimTime, due: Due) {
        self.put += 1;
        self.timeline.insert((at, self.put), due);
    }

    /// The time of a fault has come: chooses the node that it strikes.
    fn strike(
        &mut self,
        index: usize,
        at: SimTime,
        now: SimTime,
        elsewhere: impl Fn() -> Option<usize>,
    ) -> Option<Step> {
        let fault = self.faults[index];
        let strike = Strike { index, kind: fault.kind(), what: fault.what, node: None };
        if let What::Links(LinksFault::Swizzle { step_ms, shift }) = fault.what {
            for (node, begins_ms, ends_ms) in swizzled(self.nodes, step_ms, shift, fault.for_ms) {
                let strike = Strike { node: Some(node), ..strike };
                let [begins, ends] = [begins_ms, ends_ms].map(|ms| at + Duration::from_millis(ms));
                self.put(begins, Due::Begin { strike, ends });
            }
            return None;
        }
        let is_of_a_node = fault.what.is_of_a_node();
        let node = if is_of_a_node { Some(fault.node().or_else(elsewhere)?) } else { None };
        self.begin(Strike { node, ..strike }, at + Duration::from_millis(fault.for_ms), now)
    }

    fn begin(&mut self, strike: Strike, ends: SimTime, now: SimTime) -> Option<Step> {
        let is_down =
            self.under_way.iter().any(|other| other.node == strike.node && other.what.is_a_crash());
        if is_down && strike.kind.needs_a_process() {
            return None;
        }
        if strike.what.lasts() {
            if now + SHORTEST > self.calm_from {
                return None;
            }
            self.put(ends.max(now + SHORTEST).min(self.calm_from - NANOSECOND), Due::End(strike));
            self.under_way.push(strike);
        }
        if strike.what.is_a_crash() {
            self.end_with_process(strike.node, now);
        }
        Some(Step::Begin(strike))
    }

    /// A process has crashed: what has stopped it, or a task of it, is over. It would stop the next
    /// process once another fault of the kind ends, and no event would say so.
    fn end_with_process(&mut self, node: Option<usize>, now: SimTime) {
        let ends = |due: &Due| match due {
            Due::End(strike) => strike.node == node && strike.what.ends_with_its_process(),
            _ => false,
        };
        let ending = self.timeline.iter().filter(|(_, due)| ends(due)).map(|(key, _)| *key);
        for key in ending.collect::<Vec<_>>() {
            if let Some(end) = self.timeline.remove(&key) {
                self.put(now, end);
            }
        }
    }
}

/// True if the process has to wait for the fault. A write reads no clock and uses no link, so only
/// a fault that stops its own process can delay the write after its check.
fn comes_between(point: Point, node: Option<usize>, fault: &Fault) -> bool {
    match point {
        Point::Guard => {
            fault.kind().stops_a_process() && (fault.node().is_none() || fault.node() == node)
        }
        Point::Send | Point::Sent | Point::Reply | Point::Grant | Point::Leads => true,
    }
}

/// The partitions of a swizzle: the node, and the beginning and the end in milliseconds after the
/// swizzle began.
fn swizzled(nodes: usize, step_ms: u64, shift: usize, for_ms: u64) -> Vec<(usize, u64, u64)> {
    let place = |node: usize| node as u64;
    (0..nodes)
        .map(|node| {
            let heals = (node + nodes - shift % nodes) % nodes;
            let begins = step_ms * place(node);
            (node, begins, begins.max(for_ms) + step_ms * (place(heals) + 1))
        })
        .collect()
}
