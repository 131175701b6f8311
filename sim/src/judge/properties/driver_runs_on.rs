//! **Theorem (section 6).** The driver of a process does not panic, and each of its turns ends,
//! whatever commands, answers and deadlines come together, and also if the log's subscriber panics.
//! Otherwise the process would lose all its elections for good.
//!
//! A turn that does not end is a panic: the driver counts its steps, and asserts that a turn takes
//! no more than it can need.
//!
//! Rests on no assumption.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::plan::SimTime;
use crate::trace::Event;

/// No driver panics.
#[derive(Debug)]
pub(crate) struct DriverRunsOn;

impl Property for DriverRunsOn {
    fn about(&self) -> About {
        About::of(PropertyName::DRIVER_RUNS_ON)
    }

    fn observe(&mut self, _: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Started { .. } => tally.count(true),
            Event::DriverPanicked { who, what } => {
                return Err(Finding::DriverPanicked { who: *who, what: what.clone() });
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{at, compares, crashed, end, fails, n};
    use super::*;

    #[test]
    fn a_driver_may_end_with_its_process_only() {
        let started = at(0, Event::Started { who: n(0) });
        assert_eq!(compares(DriverRunsOn, &[started.clone(), at(1, crashed(n(0))), end(9)]), 1);
        let panicked = Event::DriverPanicked { who: n(0), what: "10000 steps".to_owned() };
        let what = fails(DriverRunsOn, &[started, at(1, panicked)]);
        assert_eq!(what.to_string(), "the driver of n0 panicked: 10000 steps");
    }
}
