//! A driver's calls wait in the driver, and not in front of the store.
//!
//! **Theorem.** A process has no more calls in flight than twice the least window, and twice those that the store carries
//! out within a round trip and the delay that the window may add, at its highest rate. (Twice, since the window follows a
//! moving average of the delay.)

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::journal::Event;
use super::super::plan::Plan;
use super::{Finding, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;

/// As many calls keep any store busy: the driver's `LEAST`.
const LEAST: u128 = 8;
/// The delay that a window may always add: the driver's `TARGET`.
const TARGET: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(super) struct BoundedWindow(BTreeMap<u32, u128>);

impl Property for BoundedWindow {
    fn name(&self) -> PropertyName {
        PropertyName::BOUNDED_WINDOW
    }

    fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        match *event {
            Event::CallBegan { process } => {
                let flying = self.0.entry(process).or_default();
                *flying += 1;
                tally.count(true);
                let most = most(plan);
                if *flying > most {
                    return Err(Finding::from(format!(
                        "process {process} has {flying} calls in flight at {at}, and {most} would do"
                    )));
                }
            }
            Event::CallEnded { process } => {
                let flying = self.0.entry(process).or_default();
                *flying = flying.saturating_sub(1);
            }
            _ => {}
        }
        Ok(())
    }
}

fn most(plan: &Plan) -> u128 {
    let services = plan.phases.iter().filter_map(|phase| phase.service);
    let least = services.min().unwrap_or(Duration::MAX);
    let delay = plan.round_trip + TARGET.max(plan.round_trip / 2);
    2 * (LEAST + delay.as_nanos() / least.as_nanos().max(1))
}
