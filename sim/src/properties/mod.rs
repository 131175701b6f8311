//! What must hold, one property a file, judged in true time.
//!
//! A property sees every event, and after every step of the simulation who leads, as `is_leader()`
//! answers on every node. It is judged only in runs whose plan keeps the assumptions that it rests on.
//!
//! An event that a property has no arm for says nothing about it: the `_` arms here are meant. The
//! order of what happened at one and the same instant says nothing either.

mod fail_closed;
mod fenced_writes;
#[cfg(test)]
pub(crate) mod history;
mod leader_within;
mod margin_kept;
mod no_release_under_work;
mod no_resurrection;
mod one_step_down;
mod own_lease_only;
mod single_leader;
mod token_monotonic;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use crate::clock::True;
use crate::plan::Assumption;
use crate::trace::{Answer, Event, StoreStep, Who};

/// Something that must hold in every run.
pub trait Property {
    /// Its name, in reports.
    fn name(&self) -> &'static str;

    /// What it rests on: a run whose plan breaks one of these is not judged.
    fn assumes(&self) -> &'static [Assumption] {
        &[]
    }

    /// Looks at what happened next.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        let _ = (at, event);
        Ok(())
    }

    /// Looks at who answers "I lead" at this very moment, paused nodes included.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn probe(&mut self, at: True, leaders: &[Leader]) -> Result<(), String> {
        let _ = (at, leaders);
        Ok(())
    }

    /// Looks back at the whole run.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn finish(&mut self, at: True) -> Result<(), String> {
        let _ = at;
        Ok(())
    }
}

/// A node that answers "I lead".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Which one.
    pub who: Who,
    /// The token of its tenure.
    pub token: u64,
}

/// What properties know about the run.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The stop margin.
    pub stop_margin: Duration,
    /// The drift bound.
    pub drift_ppm: u32,
    /// How long after the calm began somebody must lead.
    pub progress_bound: Duration,
}

impl Terms {
    /// `stop margin / (1 + rho)`, rounded down: the least true time by which a claim ends before its
    /// lease.
    pub fn margin(&self) -> u64 {
        let nanos =
            self.stop_margin.as_nanos() * 1_000_000 / (1_000_000 + u128::from(self.drift_ppm));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// The token of the tenure that begins with this step, if one does. The same grant told to the same
/// live holder again begins none.
pub(crate) fn new_tenure(at: True, step: &StoreStep) -> Option<u64> {
    let Answer::Granted { token, .. } = step.answer else { return None };
    let repeated = step.before.is_some_and(|before| {
        before.is_live(at) && before.holder == step.holder && before.token == token
    });
    (!repeated).then_some(token)
}

/// True time, as people read it.
fn time(at: True) -> Duration {
    Duration::from_nanos(at)
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which one.
    pub property: &'static str,
    /// When it was seen.
    pub at: True,
    /// What is wrong.
    pub what: String,
}

/// All properties, fresh for one run.
pub fn all(terms: Terms) -> Vec<Box<dyn Property>> {
    vec![
        Box::new(single_leader::SingleLeader::default()),
        Box::new(margin_kept::MarginKept::new(terms)),
        Box::new(fail_closed::FailClosed::new(terms)),
        Box::new(token_monotonic::TokenMonotonic::default()),
        Box::new(fenced_writes::FencedWrites::default()),
        Box::new(own_lease_only::OwnLeaseOnly::default()),
        Box::new(one_step_down::OneStepDown::default()),
        Box::new(no_resurrection::NoResurrection::default()),
        Box::new(no_release_under_work::NoReleaseUnderWork::default()),
        Box::new(leader_within::LeaderWithin::new(terms)),
    ]
}

/// The names of all properties.
pub fn names() -> impl Iterator<Item = &'static str> {
    let nobody =
        Terms { stop_margin: Duration::ZERO, drift_ppm: 0, progress_bound: Duration::ZERO };
    all(nobody).into_iter().map(|property| property.name())
}

/// Names a property.
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
    /// What was asked for.
    pub name: String,
}

/// Judges one run. The default one judges nothing.
#[derive(Default)]
pub struct Judge {
    properties: Vec<Judged>,
    violation: Option<Violation>,
}

struct Judged {
    property: Box<dyn Property>,
    /// False if the plan breaks what the property rests on.
    applies: bool,
}

impl Judge {
    /// For a run that breaks those assumptions: all properties, or only those named.
    pub fn new(terms: Terms, broken: &[Assumption], only: Option<&[PropertyName]>) -> Self {
        let properties = all(terms).into_iter().map(|property| {
            let wanted = only.is_none_or(|only| only.contains(&PropertyName(property.name())));
            let applies = wanted && !property.assumes().iter().any(|rests| broken.contains(rests));
            Judged { property, applies }
        });
        Self { properties: properties.collect(), violation: None }
    }

    /// Looks at what happened next.
    pub fn observe(&mut self, at: True, event: &Event) {
        self.judge(at, |property| property.observe(at, event));
    }

    /// Looks at who leads at this very moment.
    pub fn probe(&mut self, at: True, leaders: &[Leader]) {
        self.judge(at, |property| property.probe(at, leaders));
    }

    /// The run is over.
    pub fn finish(&mut self, at: True) {
        self.judge(at, |property| property.finish(at));
    }

    /// The first violation. A run is not judged beyond it: what follows may be its consequence.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Which properties were judged.
    pub fn judged(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.properties.iter().filter(|judged| judged.applies).map(|judged| judged.property.name())
    }

    fn judge(&mut self, at: True, mut look: impl FnMut(&mut dyn Property) -> Result<(), String>) {
        if self.violation.is_some() {
            return;
        }
        for judged in self.properties.iter_mut().filter(|judged| judged.applies) {
            if let Err(what) = look(&mut *judged.property) {
                self.violation = Some(Violation { property: judged.property.name(), at, what });
                return;
            }
        }
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("violation", &self.violation).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::history::{leader, n};
    use super::*;

    const TERMS: Terms = Terms {
        stop_margin: Duration::from_nanos(11),
        drift_ppm: 100_000,
        progress_bound: Duration::from_secs(1),
    };

    #[test]
    fn the_margin_is_rounded_down() {
        assert_eq!(TERMS.margin(), 10);
        assert_eq!(Terms { stop_margin: Duration::from_nanos(10), ..TERMS }.margin(), 9);
        assert_eq!(Terms { stop_margin: Duration::ZERO, ..TERMS }.margin(), 0);
    }

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        let judge = Judge::new(TERMS, &[], None);
        let names: Vec<_> = judge.judged().collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!((names.len(), unique.len()), (10, 10));
        assert!(names.concat().chars().all(|letter| letter == '-' || letter.is_ascii_lowercase()));
    }

    #[test]
    fn what_rests_on_a_broken_assumption_is_not_judged() {
        let mut judge = Judge::new(TERMS, &[Assumption::Rates], None);
        judge.probe(1, &[leader(n(0), 7), leader(n(1), 8)]);
        assert_eq!(judge.violation(), None);
        let judged: Vec<_> = judge.judged().collect();
        assert!(judged.contains(&"fenced-writes") && judged.contains(&"own-lease-only"));
        let at_stake = ["single-leader", "margin-kept", "fail-closed"];
        assert!(at_stake.iter().all(|name| !judged.contains(name)));
    }

    #[test]
    fn only_what_was_asked_for_is_judged() {
        let only: PropertyName = "fail-closed".parse().expect("a name");
        let judge = Judge::new(TERMS, &[], Some(&[only]));
        assert_eq!(judge.judged().collect::<Vec<_>>(), ["fail-closed"]);
        let judge = Judge::new(TERMS, &[Assumption::Rates], Some(&[only]));
        assert_eq!(judge.judged().count(), 0);
        "fail-open".parse::<PropertyName>().expect_err("no such property");
    }

    #[test]
    fn probes_and_the_end_are_judged() {
        let mut judge = Judge::new(TERMS, &[], None);
        judge.probe(1, &[leader(n(0), 7), leader(n(1), 8)]);
        assert_eq!(judge.violation().map(|first| first.property), Some("single-leader"));
        let mut judge = Judge::new(TERMS, &[], None);
        judge.observe(0, &Event::Calm);
        judge.finish(999_999_999);
        assert_eq!(judge.violation(), None);
        judge.finish(1_000_000_000);
        assert_eq!(judge.violation().map(|first| first.property), Some("leader-within"));
    }

    #[test]
    fn only_the_first_violation_is_told() {
        let mut judge = Judge::new(TERMS, &[], None);
        judge.observe(
            1,
            &Event::SteppedDown { who: n(0), token: 7, reason: crate::trace::Reason::Expired },
        );
        judge.probe(2, &[leader(n(0), 7), leader(n(1), 8)]);
        let first = judge.violation().expect("a violation");
        assert_eq!((first.property, first.at), ("one-step-down-per-election", 1));
    }
}
