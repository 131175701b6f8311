//! The conditions that a campaign must have met before "nothing violated" means anything.
//!
//! Each condition is counted from the events of the trace, never from what a plan intended. Not
//! guaranteed: that a run in which a condition was met would have shown a bug there.

mod candidates;
mod condition;
mod faults;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::judge::State;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, Scope, SimTime};
use crate::trace::{Event, Who};
use candidates::Life;
use condition::Condition;
use faults::{Faults, ShownFaults};
use store::Store;

/// The names of the conditions that an engine of that scope can meet.
pub fn names(scope: Scope) -> impl Iterator<Item = &'static str> {
    let conditions = Condition::all().filter(move |condition| condition.is_in(scope));
    conditions.map(Condition::name).chain(faults::names(scope.kinds()))
}

/// The names of all conditions.
pub fn every_name() -> impl Iterator<Item = &'static str> {
    Condition::all().map(Condition::name).chain(faults::names(FaultKind::ALL))
}

/// The names of the conditions that only an engine's own leader-only work meets.
#[cfg(feature = "turmoil")]
pub(crate) fn names_of_work() -> impl Iterator<Item = &'static str> {
    Condition::all().filter(|condition| condition.is_of_work()).map(Condition::name)
}

/// Counts how often each condition was met.
#[derive(Clone, Debug)]
pub struct Sometimes {
    met: [u64; Condition::COUNT],
    lives: Recent<Who, Life>,
    /// The last life of each node that led.
    led: Recent<usize, Option<u32>>,
    /// Since when there has been no leader, after the first one.
    vacant_since: Option<SimTime>,
    faults: Faults,
    shown: ShownFaults,
    store: Store,
}

impl Default for Sometimes {
    fn default() -> Self {
        Self {
            met: [0; Condition::COUNT],
            lives: Recent::default(),
            led: Recent::default(),
            vacant_since: None,
            faults: Faults::default(),
            shown: ShownFaults::default(),
            store: Store::default(),
        }
    }
}

impl Sometimes {
    /// Takes the next event into account, before which the election is in that state.
    pub fn observe(&mut self, at: SimTime, event: &Event, state: &State) {
        match *event {
            Event::Store(ref step) => self.store_stepped(at, step, state),
            Event::StoreCrashed { keeps_data } => self.store_crashed(keeps_data, state),
            Event::Fault { kind, node } => self.fault(kind, node, state),
            Event::Effect { kind, node } => self.took_effect(at, kind, node, state),
            Event::Healed { kind, node } => self.healed(kind, node),
            Event::Calm => self.faults = Faults::default(),
            Event::Started { who } => self.started(who),
            Event::Crashed { who } => self.crashed(at, who, state),
            Event::Sent { who, id, request } => self.sent(at, who, id, request),
            Event::Answered { who, id, answer } => self.answered(who, id, answer),
            Event::Watches { who } => {
                self.lives.of(who).waits = true;
                self.store.told_of_a_past = true;
            }
            Event::Leads { who, token } => self.leads(at, who, token),
            Event::LeadsNoMore { who } => self.leads_no_more(at, who, state),
            Event::SteppedDown { who, token, reason, drain_ends } => {
                self.lives.of(who).drains = (token, drain_ends);
                self.stepped_down(who, token, reason, state);
            }
            Event::DrainMoved { who, token, drain_ends } => {
                self.drain_moved(at, who, token, drain_ends);
            }
            Event::WorkEnded { token, polled, .. } => {
                self.store.tenures.of(token).worked = true;
                self.met_if(Condition::DrainingWorkDropped, polled.is_none());
            }
            Event::Wrote { who, token, checked, accepted_by_fenced, .. } => {
                self.wrote(at, who, checked);
                self.met_if(Condition::EffectAfterTheLead, state.leads(who) != Some(token));
                self.met_if(Condition::StaleWriteFenced, !accepted_by_fenced);
            }
            Event::Called { .. }
            | Event::Elsewhere { .. }
            | Event::Stalled { .. }
            | Event::WaitsToBeTold { .. }
            | Event::WorkBegan { .. }
            | Event::LookBegan { .. }
            | Event::LookEnded { .. }
            | Event::DriverPanicked { .. }
            | Event::CallbackBegan { .. }
            | Event::CallbackEnded { .. }
            | Event::Hinted { .. }
            | Event::Message { .. }
            | Event::CampaignAsked { .. }
            | Event::ResignAsked { .. }
            | Event::Withdrawn { .. }
            | Event::Elected { .. }
            | Event::Renewed { .. } => {}
        }
    }

    /// The count of each condition. Conditions that were never met are included with zero.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let conditions = Condition::all().map(|one| (one.name(), self.met[one as usize]));
        let mut counts: BTreeMap<_, _> = conditions.collect();
        for (name, met) in self.shown.counts() {
            *counts.entry(name).or_default() += met;
        }
        counts
    }

    /// Adds the counts of another election of the same run.
    #[cfg(feature = "turmoil")]
    pub(crate) fn beside(&mut self, other: &Self) {
        self.met.iter_mut().zip(other.met).for_each(|(met, others)| *met += others);
        self.shown.add(&other.shown);
    }

    fn met(&mut self, condition: Condition) {
        self.met[condition as usize] += 1;
    }

    fn met_if(&mut self, condition: Condition, holds: bool) {
        self.met[condition as usize] += u64::from(holds);
    }
}

/// Removes one of the equal elements. False if there is none.
fn take<T: PartialEq>(from: &mut Vec<T>, one: &T) -> bool {
    let place = from.iter().position(|other| other == one);
    place.map(|place| from.swap_remove(place)).is_some()
}
