//! Faults that wait for something to happen.
//!
//! A fault begins at the very point at which its trigger fires: whoever has come there does nothing more
//! until the engine, at the end of the tick, has carried it out.

use std::sync::Mutex;

use super::lock;
use crate::plan::clock::True;
use crate::plan::{Fault, Plan, Point, Trigger, What, When};

const MS: u64 = 1_000_000;

pub(super) struct Triggers {
    armed: Mutex<Vec<Armed>>,
    fired: Mutex<Vec<Fired>>,
}

struct Armed {
    trigger: Trigger,
    /// How often it must still happen.
    left: u32,
    fault: Fault,
}

/// A fault whose trigger has fired, at that node if it is known.
pub(super) struct Fired {
    pub(super) fault: Fault,
    pub(super) node: Option<usize>,
}

impl Triggers {
    pub(super) fn of(plan: &Plan) -> Self {
        let armed = plan.faults.iter().filter_map(|fault| match fault.when {
            When::AtMs(_) => None,
            When::On(trigger) => Some(Armed { trigger, left: trigger.nth, fault: *fault }),
        });
        Self { armed: Mutex::new(armed.collect()), fired: Mutex::default() }
    }

    pub(super) fn disarm(&self) {
        lock(&self.armed).clear();
    }

    /// A node, or the store for it, has come to that point. True if it must wait there.
    pub(super) fn reached(&self, at: True, point: Point, node: Option<usize>) -> bool {
        let mut waits = false;
        lock(&self.armed).retain_mut(|one| {
            if !one.is_about(at, point, node) {
                return true;
            }
            one.left -= 1;
            if one.left > 0 {
                return true;
            }
            waits |= comes_between(point, node, &one.fault);
            lock(&self.fired).push(Fired { fault: one.fault, node });
            false
        });
        waits
    }

    pub(super) fn take_fired(&self) -> Vec<Fired> {
        std::mem::take(&mut *lock(&self.fired))
    }
}

impl Armed {
    fn is_about(&self, at: True, point: Point, node: Option<usize>) -> bool {
        let Trigger { node: only, after_ms, .. } = self.trigger;
        self.trigger.point == point
            && (only.is_none() || only == node)
            && at >= after_ms.saturating_mul(MS)
    }
}

/// Whether what comes next depends on the fault. A write asks no clock and goes over no link: only what
/// stops its own process comes between it and its check, and nothing else may make it late.
fn comes_between(point: Point, node: Option<usize>, fault: &Fault) -> bool {
    match point {
        Point::Guard => {
            matches!(fault.what, What::Pause { .. } | What::Crash { .. })
                && (fault.node().is_none() || fault.node() == node)
        }
        Point::Send | Point::Sent | Point::Reply | Point::Grant | Point::Leads => true,
    }
}
