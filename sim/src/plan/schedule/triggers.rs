//! Faults that wait for a point that the run reaches.

use crate::plan::{Fault, Point, RequestKind, SimTime, Trigger, When};

/// The triggers that have not fired.
#[derive(Debug)]
pub(super) struct Triggers(Vec<Armed>);

#[derive(Debug)]
struct Armed {
    /// The place of its fault in the plan.
    index: usize,
    trigger: Trigger,
    /// The number of times that its point has yet to be reached.
    left: u32,
}

impl Triggers {
    pub(super) fn of(faults: &[Fault]) -> Self {
        let armed = |(index, fault): (usize, &Fault)| match fault.when {
            When::AtMs(_) => None,
            When::On(trigger) => Some(Armed { index, trigger, left: trigger.nth }),
        };
        Self(faults.iter().enumerate().filter_map(armed).collect())
    }

    pub(super) fn disarm(&mut self) {
        self.0.clear();
    }

    /// The point was reached: returns the faults whose triggers fire. Each fires once.
    pub(super) fn reached(
        &mut self,
        now: SimTime,
        point: Point,
        node: Option<usize>,
        of: Option<RequestKind>,
    ) -> Vec<usize> {
        let mut fired = Vec::new();
        self.0.retain_mut(|armed| {
            if armed.counts(now, point, node, of) {
                armed.left = armed.left.saturating_sub(1);
                if armed.left == 0 {
                    fired.push(armed.index);
                    return false;
                }
            }
            true
        });
        fired
    }
}

impl Armed {
    fn counts(
        &self,
        now: SimTime,
        point: Point,
        node: Option<usize>,
        of: Option<RequestKind>,
    ) -> bool {
        let Trigger { point: awaited, node: at, of: asking, nth: _, after_ms } = self.trigger;
        awaited == point
            && now >= SimTime::from_millis(after_ms)
            && (at.is_none() || at == node)
            && (asking.is_none() || asking == of)
    }
}
