//! No acquire leaves while a renewal of the same driver waits.
//!
//! **Theorem.** When a process sends an acquire, none of its renewals has been due for longer than
//! [`LATE`] without having been sent: a lease that others may still get is worth less than one that
//! is held. Elections that the store does not answer wait for each other only, in a window of their
//! own.

use std::time::Duration;

use super::super::journal::{election, process};
use super::super::plan::Plan;
use super::renewals::Renewals;
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::{Asked, Event, Who};

/// Timers fire at whole milliseconds, after their time.
const LATE: Duration = Duration::from_millis(3);

pub(super) struct RenewalsBeforeAcquires {
    plan: Plan,
    renewals: Renewals,
}

impl RenewalsBeforeAcquires {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), renewals: Renewals::new(plan) }
    }
}

impl Property for RenewalsBeforeAcquires {
    fn about(&self) -> About {
        About::of(PropertyName::RENEWALS_BEFORE_ACQUIRES)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        if let Event::Sent { who: acquires, request: Asked::Acquire { .. }, .. } = event
            && !self.plan.is_stuck(election(*acquires))
        {
            tally.count(self.renewals.any_held(process(*acquires)));
            let is_stuck = |who: &Who| self.plan.is_stuck(election(*who));
            let mut late = self.renewals.late(process(*acquires), at - LATE, at);
            let late = late.find(|(_, who)| !is_stuck(who));
            if let Some((due, waits)) = late {
                let late = at.since(due);
                return Err(Finding::AcquireBeforeRenewal { who: *acquires, waits, late });
            }
        }
        self.renewals.observe(at, event);
        Ok(())
    }
}
