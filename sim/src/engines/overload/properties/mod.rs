//! Properties of a store that is slower than its elections need.
//!
//! The properties of this folder judge the events of all elections together. Each election by
//! itself is judged by some of those that judge every run.

mod bounded_window;
mod fair_within_a_class;
mod no_lead_lost;
mod renewals;
mod renewals_before_acquires;
mod spread;
mod stopped_within;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::Outcome;
use super::journal::{Noted, digest, process};
use super::plan::Plan;
use crate::judge::State;
use crate::judge::properties::{DriverRunsOn, Judge, Property, PropertyName, Terms, Violation};
use crate::plan::NANOSECOND;
use crate::trace::{Event, Reason, Who};

/// The properties that judge each election by itself.
const OF_AN_ELECTION: [PropertyName; 3] = [
    PropertyName::SINGLE_LEADER,
    PropertyName::TOKEN_MONOTONIC,
    PropertyName::ONE_STEP_DOWN_PER_ELECTION,
];

/// The same of a run with faults.
const OF_A_FAULTY_ELECTION: [PropertyName; 8] = [
    PropertyName::SINGLE_LEADER,
    PropertyName::TOKEN_MONOTONIC,
    PropertyName::LEADS_IN_ORDER,
    PropertyName::OWN_LEASE_ONLY,
    PropertyName::LINEARIZABLE,
    PropertyName::ONE_STEP_DOWN_PER_ELECTION,
    PropertyName::NO_RESURRECTION,
    PropertyName::LEADER_WITHIN,
];

fn of_an_election(plan: &Plan) -> &'static [PropertyName] {
    if plan.is_faulty() { &OF_A_FAULTY_ELECTION } else { &OF_AN_ELECTION }
}

/// The names of all properties that judge the runs of a plan.
pub fn names(plan: &Plan) -> impl Iterator<Item = PropertyName> + use<> {
    let of_all = of_all_elections(plan).into_iter().map(|property| property.about().name);
    of_all.chain(of_an_election(plan).iter().copied())
}

fn of_all_elections(plan: &Plan) -> Vec<Box<dyn Property>> {
    let mut all: Vec<Box<dyn Property>> =
        vec![Box::new(stopped_within::StoppedWithin::new(plan)), Box::new(DriverRunsOn)];
    if !plan.is_faulty() {
        all.push(Box::new(no_lead_lost::NoLeadLost::new(plan)));
        all.push(Box::new(renewals_before_acquires::RenewalsBeforeAcquires::new(plan)));
        all.push(Box::new(fair_within_a_class::FairWithinAClass::new(plan)));
        all.push(Box::new(spread::Spread::new(plan)));
        all.push(Box::new(bounded_window::BoundedWindow::new(plan)));
    }
    all
}

/// Judges a run by all properties.
pub(super) fn judge(plan: &Plan, entries: &[Noted]) -> Outcome {
    let mut all = Judge::of(of_all_elections(plan), NANOSECOND).continuing();
    let terms = Terms {
        tick: NANOSECOND,
        progress_bound: plan.progress_bound(),
        no_clock_too_fast: true,
        ..Terms::default()
    };
    let of_one = || Judge::new(&terms, &[], Some(of_an_election(plan))).continuing();
    let mut each: BTreeMap<usize, (Judge, State)> = BTreeMap::new();
    for Noted { election, at, event } in entries {
        let (judge, state) = each.entry(*election).or_insert_with(|| (of_one(), State::default()));
        all.observe(*at, event, state);
        judge.observe(*at, event, state);
        state.observe(*at, event);
    }
    all.finish(plan.end(), &State::default());
    let mut compared: Vec<(PropertyName, u64)> = names(plan).map(|name| (name, 0)).collect();
    let mut count = |judge: &Judge| {
        for (name, times) in judge.judged() {
            compared.iter_mut().filter(|(of, _)| *of == name).for_each(|(_, sum)| *sum += times);
        }
    };
    count(&all);
    let mut found = Vec::new();
    for (election, (judge, state)) in &mut each {
        judge.finish(plan.end(), state);
        count(judge);
        found.extend(judge.violations().iter().map(|violation| (*election, violation)));
    }
    found.sort_by_key(|(_, violation)| violation.at);
    for (election, Violation { property, at, finding }) in found {
        all.accuse(*at, *property, finding.in_election(election));
    }
    Outcome {
        compared,
        violations: all.violations().to_vec(),
        hash: digest(entries),
        events: entries.len(),
        handed_over: handed_over(entries),
        leaders: most_leaders(entries),
        in_flight: in_flight(entries),
    }
}

/// The most leaders at one time.
fn most_leaders(entries: &[Noted]) -> usize {
    let mut leads = BTreeSet::new();
    let counts = entries.iter().map(|noted| {
        match noted.event {
            Event::Elected { who, .. } => drop(leads.insert(who)),
            Event::SteppedDown { who, .. } | Event::Crashed { who } => drop(leads.remove(&who)),
            _ => {}
        }
        leads.len()
    });
    counts.max().unwrap_or(0)
}

/// The most calls of the first process in flight at one time.
fn in_flight(entries: &[Noted]) -> usize {
    let mut calls = Calls::default();
    most(entries.iter().map(|noted| match calls.observe(&noted.event) {
        Some((who, Call::Began)) if process(who) == 0 => 1,
        Some((who, Call::Ended)) if process(who) == 0 => -1,
        Some(_) | None => 0,
    }))
}

/// The number of handovers to the other process's candidate.
fn handed_over(entries: &[Noted]) -> usize {
    let mut by: BTreeMap<usize, Who> = BTreeMap::new();
    let to_the_other = entries.iter().filter(|noted| match noted.event {
        Event::SteppedDown { who, reason: Reason::HandedOver, .. } => {
            by.insert(noted.election, who);
            false
        }
        Event::Elected { who, .. } => by.remove(&noted.election).is_some_and(|by| by != who),
        _ => false,
    });
    to_the_other.count()
}

/// The largest sum on the way.
fn most(steps: impl Iterator<Item = isize>) -> usize {
    let sums = steps.scan(0_isize, |sum, step| {
        *sum += step;
        Some(*sum)
    });
    usize::try_from(sums.max().unwrap_or(0)).unwrap_or(0)
}

/// The calls under way, and how many of their requests have not ended. All requests of a call have
/// its number.
#[derive(Debug, Default)]
struct Calls(BTreeMap<u64, u32>);

/// A change of the calls under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Began,
    Ended,
}

impl Calls {
    /// The call that begins or ends with this event, and a candidate that takes part in it.
    fn observe(&mut self, event: &Event) -> Option<(Who, Call)> {
        match *event {
            Event::Sent { who, id, .. } => {
                let open = self.0.entry(id).or_default();
                *open += 1;
                (*open == 1).then_some((who, Call::Began))
            }
            Event::Answered { who, id, .. } => {
                let open = self.0.get_mut(&id)?;
                *open -= 1;
                if *open > 0 {
                    return None;
                }
                self.0.remove(&id);
                Some((who, Call::Ended))
            }
            _ => None,
        }
    }
}
