//! The properties that must hold, one in each file, judged in true time.
//!
//! A property sees every event. At the time of every event, and just before it, a property that asks for it
//! also sees the leaders, as `is_leader()` answers on every node. A property is judged only in runs whose plan
//! keeps the assumptions that it rests on.
//!
//! The calm is the part of a run after its last fault has ended. A process is put back if its machine is restored
//! from a snapshot: it lives more than once.
//!
//! An event without an arm of its own is not relevant for that property: the `_` arms here are intended. The
//! order of events at the same instant has no meaning either.

mod answered_when_healthy;
mod asker;
mod drained_before_the_next;
mod drains_within_bounds;
mod due;
mod fail_closed;
mod fenced_reads;
mod fenced_writes;
mod handover_within;
#[cfg(test)]
pub(crate) mod history;
mod judge;
mod leader_within;
mod leases_handed_back;
pub(crate) mod linearizable;
mod looks_within;
mod margin_kept;
mod no_churn_when_healthy;
mod no_late_quarantine;
mod no_release_under_work;
mod no_resurrection;
mod one_step_down;
mod order;
mod own_lease_only;
pub(crate) mod recent;
mod renews_in_time;
mod resigned_at_once;
mod resigned_within;
mod single_leader;
mod stays_out;
mod store_loss_quarantine;
mod takeover_within;
mod terms;
mod token_monotonic;
mod told_of_the_end;
mod unfenced_in_order;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Event, StoreStep, Who};
pub use judge::{Judge, Violation};
pub(crate) use own_lease_only::allowed;
pub use terms::{Limits, Terms};
use terms::{counted_by_fastest_clock, on_fastest_clock, on_slowest_clock};

/// A statement that must hold in every run.
pub trait Property {
    /// Its name, in reports.
    fn name(&self) -> &'static str;

    /// The assumptions that it rests on: a run whose plan breaks one of them is not judged.
    fn assumes(&self) -> &'static [Assumption] {
        &[]
    }

    /// The number of comparisons so far: cases in which an event could have violated the property. A run without any
    /// says nothing about it.
    fn compared(&self) -> u64;

    /// Judges the next event.
    ///
    /// # Errors
    /// A description of the violation.
    fn observe(&mut self, at: SimTime, event: &Event) -> Result<(), String> {
        let _ = (at, event);
        Ok(())
    }

    /// Whether it is probed with the leaders. Most properties are not: there are many probes in a run.
    fn probes(&self) -> bool {
        false
    }

    /// Judges the nodes that answer "I lead" at that time, paused nodes included.
    ///
    /// # Errors
    /// A description of the violation.
    fn probe(&mut self, at: SimTime, leaders: &[Leader]) -> Result<(), String> {
        let _ = (at, leaders);
        Ok(())
    }

    /// Judges the end of the run.
    ///
    /// # Errors
    /// A description of the violation.
    fn finish(&mut self, at: SimTime) -> Result<(), String> {
        let _ = at;
        Ok(())
    }
}

/// A node that answers "I lead".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The node and its life.
    pub who: Who,
    /// The token of its tenure.
    pub token: u64,
}

/// The token of the tenure that begins with this step, if one does. A repeated grant to the holder of a live
/// lease begins none.
pub(crate) fn new_tenure(step: &StoreStep) -> Option<u64> {
    let Answer::Granted { token, .. } = step.answer else { return None };
    let repeated = step.before.is_some_and(|before| {
        before.is_live(step.now) && before.holder == step.holder && before.token == token
    });
    (!repeated).then_some(token)
}

/// All properties, in their initial state.
pub fn all(terms: &Terms) -> Vec<Box<dyn Property>> {
    let mut all: Vec<Box<dyn Property>> = vec![
        Box::new(single_leader::SingleLeader::default()),
        Box::new(margin_kept::MarginKept::new(terms)),
        Box::new(fail_closed::FailClosed::new(terms)),
        Box::new(token_monotonic::TokenMonotonic::default()),
        Box::new(fenced_writes::FencedWrites::default()),
        Box::new(fenced_reads::FencedReads::default()),
        Box::new(own_lease_only::OwnLeaseOnly::default()),
        Box::new(linearizable::Linearizable::default()),
        Box::new(one_step_down::OneStepDown::default()),
        Box::new(no_resurrection::NoResurrection::new(terms)),
        Box::new(no_release_under_work::NoReleaseUnderWork::default()),
        Box::new(drained_before_the_next::DrainedBeforeTheNext::default()),
        Box::new(drains_within_bounds::DrainsWithinBounds::new(terms)),
        Box::new(leases_handed_back::LeasesHandedBack::new(terms)),
        Box::new(unfenced_in_order::UnfencedInOrder::default()),
        Box::new(store_loss_quarantine::StoreLossQuarantine::new(terms)),
        Box::new(leader_within::LeaderWithin::new(terms)),
        Box::new(no_churn_when_healthy::NoChurnWhenHealthy::new(terms)),
        Box::new(renews_in_time::RenewsInTime::new(terms)),
        Box::new(handover_within::HandoverWithin::new(terms)),
        Box::new(no_late_quarantine::NoLateQuarantine::new(terms)),
        Box::new(takeover_within::TakeoverWithin::new(terms)),
        Box::new(resigned_within::ResignedWithin::new(terms)),
        Box::new(answered_when_healthy::AnsweredWhenHealthy::new(terms)),
        Box::new(stays_out::StaysOut::new(terms)),
    ];
    if terms.has_handles() {
        all.push(Box::new(looks_within::LooksWithin::new(terms)));
        all.push(Box::new(resigned_at_once::ResignedAtOnce::default()));
        all.push(Box::new(told_of_the_end::ToldOfTheEnd::new(terms)));
    }
    all
}

/// The names of all properties.
pub fn names() -> impl Iterator<Item = &'static str> {
    all(&Terms::default()).into_iter().map(|property| property.name())
}

/// The names of the properties that judge runs of an engine with that tick: an engine without ticks has no handles,
/// so the properties about handles do not apply.
pub fn names_at(tick: Duration) -> impl Iterator<Item = &'static str> {
    let terms = Terms::of_engine(tick);
    all(&terms).into_iter().map(|property| property.name())
}

/// The name of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PropertyName(&'static str);

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for PropertyName {
    type Err = UnknownProperty;

    fn from_str(name: &str) -> Result<Self, UnknownProperty> {
        let found = names().find(|known| *known == name);
        found.map(Self).ok_or_else(|| UnknownProperty { name: name.to_owned() })
    }
}

/// No property has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown property {name:?}; known are {}", names().collect::<Vec<_>>().join(", "))]
pub struct UnknownProperty {
    /// The name that was given.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NANOSECOND;

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        let names: Vec<_> = names().collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len());
        assert!(names.concat().chars().all(|letter| letter == '-' || letter.is_ascii_lowercase()));
    }

    #[test]
    fn nothing_is_compared_before_the_first_event() {
        for mut property in all(&Terms { tick: NANOSECOND, ..Terms::default() }) {
            property.observe(SimTime::START, &Event::Calm).expect("nothing is wrong");
            assert_eq!(property.compared(), 0, "{}", property.name());
        }
    }

    #[test]
    fn a_property_is_found_by_its_name() {
        let name: PropertyName = "single-leader".parse().expect("a name");
        assert_eq!(name.to_string(), "single-leader");
        "fail-open".parse::<PropertyName>().expect_err("no such property");
    }
}
