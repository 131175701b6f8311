//! A candidate that stops ends in time, at whatever moment and beside whatever other command, also
//! while the store does not answer.
//!
//! **Theorem.** A stop takes no longer than `Config::explain` says of the longest stop, and the time
//! in which the process does nothing.

use std::collections::BTreeMap;

use super::super::journal::process;
use super::super::plan::Plan;
use super::super::process::place;
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::{Event, Who};

pub(super) struct StoppedWithin {
    plan: Plan,
    due: BTreeMap<Who, SimTime>,
}

impl StoppedWithin {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), due: BTreeMap::new() }
    }
}

impl Property for StoppedWithin {
    fn about(&self) -> About {
        About::of(PropertyName::STOPPED_WITHIN).timed()
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        match self.due.iter().find(|(_, due)| **due < at) {
            Some((who, due)) => Err(Finding::ResignationTooLong { who: *who, due: *due }),
            None => Ok(()),
        }
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::ResignAsked { who, hold_off: None } => {
                self.due.insert(who, self.plan.stopped_by(place(process(who)), at));
            }
            Event::Crashed { who } => {
                self.due.remove(&who);
            }
            Event::Withdrawn { who, .. } => tally.count(self.due.remove(&who).is_some()),
            _ => {}
        }
        Ok(())
    }
}
