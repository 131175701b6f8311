//! **Theorem (G7).** After faults end, a candidate answers "I lead" within the progress bound.
//!
//! Rests on a store that can be reached, and on leases and quarantines that end when they should: a
//! store whose clock was put back keeps a lease for longer than any candidate expects, and a
//! candidate whose clock was put back does nothing until the clock has caught up. An overtaken
//! leader or an unnoticed loss delays no candidate, so nothing else is assumed. A run that ends
//! before the bound is not judged.
//!
//! A leader that led throughout the faults counts as well. Whether it keeps the lead afterwards is
//! not judged here.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;

/// A candidate leads in the end.
#[derive(Debug)]
pub(super) struct LeaderWithin {
    bound: Duration,
    /// The latest time for a leader; `None` before the calm, and after a candidate has led.
    due: Option<SimTime>,
}

impl LeaderWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { bound: terms.progress_bound, due: None }
    }
}

impl Property for LeaderWithin {
    fn about(&self) -> About {
        About::of(PropertyName::LEADER_WITHIN)
            .resting_on(&[Assumption::Waits, Assumption::CandidateClocks, Assumption::Processor])
            .probed()
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, _: &mut Tally) -> Found {
        if let Event::Calm = event {
            self.due = Some(at + self.bound);
        }
        Ok(())
    }

    fn probe(&mut self, at: SimTime, state: &State, tally: &mut Tally) -> Found {
        match self.due {
            Some(due) if at > due => Err(self.no_leader(due)),
            Some(_) if !state.leaders().is_empty() => {
                tally.count(true);
                self.due = None;
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn finish(&mut self, at: SimTime, _: &mut Tally) -> Found {
        match self.due {
            Some(due) if at >= due => Err(self.no_leader(due)),
            Some(_) | None => Ok(()),
        }
    }
}

impl LeaderWithin {
    fn no_leader(&self, due: SimTime) -> Finding {
        Finding::NoLeader { due, bound: self.bound }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{at, end, fails, holds, leader, n, probe, span, terms};
    use super::*;

    fn property() -> LeaderWithin {
        LeaderWithin::new(&Terms { progress_bound: span(50), ..terms() })
    }

    #[test]
    fn a_leader_at_the_bound() {
        holds(
            property(),
            &[
                at(100, Event::Calm),
                probe(149, &[]),
                probe(150, &[leader(n(0), 7)]),
                probe(151, &[]),
                end(500),
            ],
        );
    }

    #[test]
    fn a_leader_after_the_bound() {
        let history = [at(100, Event::Calm), probe(150, &[]), probe(151, &[leader(n(0), 7)])];
        fails(property(), &history);
    }

    #[test]
    fn no_leader_at_all() {
        fails(property(), &[at(100, Event::Calm), probe(150, &[]), probe(151, &[])]);
        fails(property(), &[at(100, Event::Calm), probe(150, &[]), end(150)]);
    }

    #[test]
    fn a_leader_before_the_calm_does_not_count() {
        let history = [probe(99, &[leader(n(0), 7)]), at(100, Event::Calm), probe(151, &[])];
        fails(property(), &history);
    }

    #[test]
    fn runs_without_calm_or_bound_are_not_judged() {
        holds(property(), &[at(100, Event::Calm), probe(149, &[]), end(149)]);
        holds(property(), &[probe(1_000, &[]), end(1_000)]);
    }
}
