//! No acquire leaves while a renewal of the same driver waits.
//!
//! **Theorem.** When a process sends an acquire, none of its renewals has been due for longer than [`LATE`] without having
//! been sent: a lease that others may still get is worth less than one that is held.

use std::time::Duration;

use super::super::journal::{Asks, Event};
use super::super::plan::Plan;
use super::renewals::Renewals;
use super::{Finding, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;

/// Timers fire at whole milliseconds, after their time.
const LATE: Duration = Duration::from_millis(3);

#[derive(Default)]
pub(super) struct RenewalsBeforeAcquires(Renewals);

impl Property for RenewalsBeforeAcquires {
    fn name(&self) -> PropertyName {
        PropertyName::RENEWALS_BEFORE_ACQUIRES
    }

    fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        if let Event::Sent(acquires, Asks::Acquire) = event {
            tally.count(self.0.any_held(acquires.process));
            let late = self.0.late(acquires.process, at - LATE, at).next();
            if let Some((due, waits)) = late {
                return Err(Finding::from(format!(
                    "the acquire of {acquires:?} was sent while the renewal of {waits:?} had been due for {:?}",
                    at.since(due)
                )));
            }
        }
        self.0.observe(plan, at, event);
        Ok(())
    }
}
