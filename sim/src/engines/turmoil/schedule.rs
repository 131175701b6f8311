//! The schedule of a run's faults, shared by the engine and all processes.
//!
//! A fault begins exactly at the point at which its trigger fires: the process that has reached the
//! point does nothing more until the engine, at the end of the tick, has carried the fault out.

use std::sync::Mutex;

use super::lock;
use crate::plan::{FaultKind, Plan, Point, Schedule, SimTime, Step, Strike, What};

pub(super) struct SharedSchedule(Mutex<Schedule>);

impl SharedSchedule {
    pub(super) fn of(plan: &Plan, without: Option<FaultKind>) -> Self {
        Self(Mutex::new(Schedule::of(plan, without)))
    }

    /// The faults under way at a node, or at the store.
    pub(super) fn at(&self, node: Option<usize>) -> Vec<What> {
        lock(&self.0).at(node).collect()
    }

    pub(super) fn under_way<T>(&self, of: impl FnOnce(&[Strike]) -> T) -> T {
        of(lock(&self.0).under_way())
    }

    /// A node, or the store for it, has reached that point. Returns whether it has to wait there.
    pub(super) fn reached(&self, now: SimTime, point: Point, node: Option<usize>) -> bool {
        // The kinds of requests can't be distinguished here, so triggers with a kind are refused
        // before the run.
        let fired = lock(&self.0).reached(now, point, node, None);
        fired.is_some_and(|fired| fired.comes_between)
    }

    pub(super) fn take_due(
        &self,
        now: SimTime,
        leader: impl Fn() -> Option<usize>,
    ) -> Option<Step> {
        lock(&self.0).take_due(now, leader)
    }
}
