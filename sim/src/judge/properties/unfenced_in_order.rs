//! **Theorem (G1, G2).** Even a resource that checks no tokens accepts no write of an older tenure
//! after one of a newer, as long as no process is paused between a check and its effect, and no
//! effect takes longer than `stop margin / (1 + rho)`.
//!
//! Rests on just that, and on all that `single-leader` rests on: a check is made under a claim, a
//! claim ends a stop margin before its lease, and the next tenure begins no earlier than that lease
//! ends. A candidate that hands a lease back sooner has waited for the effects of its work, which
//! `no-release-under-work` judges. This is the purpose of a stop margin; without prompt effects
//! only tokens help: see `fenced-writes`.
//!
//! All writes are judged, also those that a fenced resource refused. A tenure is older if it was
//! granted earlier.

use super::order::Order;
use super::{About, Found, Property, PropertyName, State, Tally};
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;

/// The unfenced sink never accepts an older tenure after a newer one.
#[derive(Debug, Default)]
pub(super) struct UnfencedInOrder {
    order: Order,
}

impl Property for UnfencedInOrder {
    fn about(&self) -> About {
        About::of(PropertyName::UNFENCED_IN_ORDER).resting_on(&[
            Assumption::PromptEffects,
            Assumption::CandidateClocks,
            Assumption::Waits,
            Assumption::LossIsFinal,
            Assumption::Processor,
        ])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Wrote { who, token, .. } => self.order.wrote(*who, *token, state, tally),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, fails, grant, holds, kept, n, wrote};
    use super::UnfencedInOrder;

    fn tenures() -> Vec<Seen> {
        let lease = kept(1, 7, 100);
        vec![at(0, grant(None, lease)), at(100, grant(Some(lease), kept(2, 8, 200)))]
    }

    #[test]
    fn one_tenure_after_the_other() {
        let writes = [at(100, wrote(n(0), 7, true)), at(101, wrote(n(1), 8, true))];
        holds(UnfencedInOrder::default(), &[tenures(), writes.to_vec()].concat());
    }

    #[test]
    fn a_late_write_with_and_without_a_fence() {
        for fenced in [false, true] {
            let writes = [at(101, wrote(n(1), 8, true)), at(102, wrote(n(0), 7, fenced))];
            fails(UnfencedInOrder::default(), &[tenures(), writes.to_vec()].concat());
        }
    }

    #[test]
    fn a_write_without_a_grant() {
        fails(UnfencedInOrder::default(), &[at(1, wrote(n(0), 7, true))]);
    }
}
