//! A driver's calls wait in the driver, and not in front of the store.
//!
//! **Theorem.** A process has no more calls in flight than [`TIMES`] the least window, and those
//! that the store carries out within a round trip and the delay that the window may add, at its
//! highest rate. (The window follows a moving average of the delay, and so comes late.) Elections
//! that the store does not answer come on top: they must not hold back the others.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_driver::LEAST_CALLS;

use super::super::journal::process;
use super::super::plan::Plan;
use super::{Call, Calls};
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::Event;

/// 2,000 seeds of 400 elections reach 2.2 times.
const TIMES: u128 = 3;
/// The delay that a window may always add: the driver's `TARGET`.
const TARGET: Duration = Duration::from_millis(5);

pub(super) struct BoundedWindow {
    most: u128,
    calls: Calls,
    /// The calls of each process in flight.
    flying: BTreeMap<usize, u128>,
}

impl BoundedWindow {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { most: most(plan), calls: Calls::default(), flying: BTreeMap::new() }
    }
}

impl Property for BoundedWindow {
    fn about(&self) -> About {
        About::of(PropertyName::BOUNDED_WINDOW)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        let Some((who, call)) = self.calls.observe(event) else { return Ok(()) };
        let (process, most) = (process(who), self.most);
        let flying = self.flying.entry(process).or_default();
        match call {
            Call::Began => {
                *flying += 1;
                tally.count(true);
                if *flying > most {
                    return Err(Finding::TooManyCalls { process, at, calls: *flying, most });
                }
            }
            Call::Ended => *flying -= 1,
        }
        Ok(())
    }
}

fn most(plan: &Plan) -> u128 {
    let services = plan.phases.iter().filter_map(|phase| phase.service);
    let least = services.min().unwrap_or(Duration::MAX);
    let delay = plan.round_trip + TARGET.max(plan.round_trip / 2);
    TIMES * (u128::from(LEAST_CALLS) + delay.as_nanos() / least.as_nanos().max(1))
        + u128::from(plan.stuck)
}
