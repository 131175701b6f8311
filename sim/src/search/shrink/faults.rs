//! Fewer faults, simpler ones, and earlier ones.

use super::Progress;
use super::numbers::around;
use super::search::Search;
use crate::plan::{Fault, Plan, When};

/// Delta debugging: leaves out halves, quarters, and so on down to single faults (Zeller and
/// Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, without its step of
/// keeping one part alone).
pub(super) fn fewer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    let mut length = search.best().faults.len();
    while length > 0 {
        let mut from = 0;
        while from < search.best().faults.len() {
            let to = (from + length).min(search.best().faults.len());
            let is_gone = search.change(|plan| {
                plan.faults.drain(from..to);
            });
            if !is_gone {
                from = to;
            }
        }
        length /= 2;
    }
}

/// Replaces faults by simpler ones.
pub(super) fn plainer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    for index in 0..search.best().faults.len() {
        if let Some(what) = search.best().faults[index].what.plainer() {
            search.change(|plan| plan.faults[index].what = what);
        }
    }
    search.change(|plan| plan.faults.sort_by_key(Fault::from_ms));
}

/// Moves all faults and `calm_from_ms` to an earlier time by the same amount, so the times between
/// them stay the same.
pub(super) fn earlier<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    while let Some(first) = search.best().faults.iter().map(Fault::from_ms).min() {
        let by = [first, around(first, 1)[0], around(first / 2, 1)[0]];
        let sooner = |plan: &mut Plan, by| {
            plan.calm_from_ms -= by;
            plan.faults.iter_mut().for_each(|fault| begin_sooner(fault, by));
        };
        if !by.into_iter().any(|by| by > 0 && search.change(|plan| sooner(plan, by))) {
            break;
        }
    }
}

const fn begin_sooner(fault: &mut Fault, by_ms: u64) {
    match &mut fault.when {
        When::AtMs(at_ms) => *at_ms -= by_ms,
        When::On(trigger) => trigger.after_ms -= by_ms,
    }
}
