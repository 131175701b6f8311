//! Overload costs leads that are not gained, and none that are held.
//!
//! **Theorem.** A tenure ends by itself only if the store could not have renewed all leaders since
//! the claim began: if the renewals that it can carry out within a claim's validity are fewer than
//! the leaders, a tenth more for requests that were given up, an acquire for each standby
//! candidate, and what a store that pauses has to make up for: a process asks on, with
//! [`LEAST_CALLS`] calls in each request timeout at most.

use std::collections::{BTreeMap, BTreeSet};

use tenure_driver::LEAST_CALLS;

use super::super::journal::election;
use super::super::plan::{Kind, Plan};
use super::super::process::PLACES;
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::{Event, Reason, Who};

pub(super) struct NoLeadLost {
    plan: Plan,
    leads: BTreeMap<Who, u64>,
    /// The number of leaders after each change.
    counts: Vec<(SimTime, u64)>,
    /// The number of the phase, and the leads at its beginning.
    phase: usize,
    at_its_beginning: BTreeSet<(Who, u64)>,
}

impl Property for NoLeadLost {
    fn about(&self) -> About {
        About::of(PropertyName::NO_LEAD_LOST_TO_OVERLOAD)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        self.end_phases(at, tally);
        match *event {
            Event::Elected { who, token, .. } => {
                self.leads.insert(who, token);
            }
            Event::SteppedDown { who, token, reason, .. } => {
                let gives_up = matches!(reason, Reason::Resigned | Reason::HandedOver);
                if !gives_up && !self.plan.is_stuck(election(who)) {
                    self.lost(at, (who, token, reason))?;
                }
                self.leads.remove(&who);
            }
            _ => return Ok(()),
        }
        self.counts.push((at, self.leads.len().try_into().unwrap_or(u64::MAX)));
        Ok(())
    }

    fn finish(&mut self, at: SimTime, tally: &mut Tally) -> Found {
        self.end_phases(at, tally);
        Ok(())
    }
}

impl NoLeadLost {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            leads: BTreeMap::new(),
            counts: Vec::new(),
            phase: 0,
            at_its_beginning: BTreeSet::new(),
        }
    }

    /// Counts the leads that were held through a phase in which the store was too slow.
    fn end_phases(&mut self, at: SimTime, tally: &mut Tally) {
        while let Some(phase) = self.plan.phases.get(self.phase).filter(|phase| phase.until <= at) {
            let overloads = !matches!(phase.kind, Kind::Healthy | Kind::Faulty | Kind::Stops);
            for (who, token) in &self.at_its_beginning {
                tally.count(overloads && self.leads.get(who) == Some(token));
            }
            self.at_its_beginning = self.leads.iter().map(|(who, token)| (*who, *token)).collect();
            self.phase += 1;
        }
    }

    fn lost(&self, at: SimTime, (who, token, reason): (Who, u64, Reason)) -> Found {
        let plan = &self.plan;
        let from = at - plan.config().validity();
        let before = self.counts.partition_point(|(changed, _)| *changed < from).saturating_sub(1);
        let leaders = self.counts[before..].iter().map(|(_, count)| *count).max().unwrap_or(0);
        let needs = leaders
            + leaders / 10
            + u64::from(plan.standbys * plan.acquire_costs)
            + given_up_in_pauses(plan, from, at);
        let capacity = plan.capacity(from, at);
        if capacity < needs {
            return Ok(());
        }
        Err(Finding::LeadLostToOverload { who, token, at, reason, capacity, from, leaders, needs })
    }
}

/// The calls that processes may have sent in vain while the store did not run.
fn given_up_in_pauses(plan: &Plan, from: SimTime, until: SimTime) -> u64 {
    let paused = plan.phases.iter().filter(|phase| phase.kind == Kind::Paused);
    let paused = paused.map(|phase| phase.until.min(until).since(phase.from.max(from)));
    let timeout = plan.config().request_timeout().as_nanos();
    let timeouts: u128 = paused.map(|lasts| lasts.as_nanos().div_ceil(timeout)).sum();
    u64::try_from(timeouts).unwrap_or(u64::MAX) * PLACES as u64 * u64::from(LEAST_CALLS)
}
