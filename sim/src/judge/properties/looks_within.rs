//! **Theorem (G9).** A look for the leader ends within the request timeout, with an answer or with
//! the information that the leader is not known: whatever the network does, and also if the driver
//! does not run.
//!
//! By a slow clock the request timeout takes up to `1 / (1 - rho)` of it. Engines with ticks round
//! up at each step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. A paused process is
//! not judged.

use super::due::Due;
use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{FaultKind, SimTime};
use crate::trace::Event;

/// A look for the leader ends in time.
#[derive(Debug)]
pub(super) struct LooksWithin {
    terms: Terms,
    /// The deadline of each candidate's look: it has one at a time.
    due: Due,
}

impl LooksWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), due: Due::default() }
    }
}

impl Property for LooksWithin {
    fn about(&self) -> About {
        About::of(PropertyName::LOOKS_WITHIN).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        self.due.in_time(at, |who, due| Finding::LookTooLong { who, due })
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::LookBegan { who } => {
                let takes = self.terms.limits_of(who).request_timeout;
                self.due.set(who, self.terms.latest_end(at, who, takes));
            }
            Event::LookEnded { who } => tally.count(self.due.end(who)),
            Event::Crashed { who } => {
                self.due.end(who);
            }
            Event::Fault { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                self.due.excuse(|who| who.node == node);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, crashed, end, fails, holds, n, span, terms};
    use super::*;

    /// A look takes up to 100, and eight ticks.
    fn judge() -> LooksWithin {
        let mut terms = terms();
        terms.candidates[0].request_timeout = span(90);
        LooksWithin::new(&terms)
    }

    fn looks(then: Seen) -> Vec<Seen> {
        vec![at(10, Event::LookBegan { who: n(0) }), then, end(900)]
    }

    #[test]
    fn a_look_that_ends_at_the_bound() {
        let ends = |at_ns| at(at_ns, Event::LookEnded { who: n(0) });
        holds(judge(), &looks(ends(118)));
        let what = fails(judge(), &looks(ends(119))[..2]);
        assert_eq!(what.to_string(), "n0 looks for the leader, and has no answer by 118ns");
        fails(judge(), &looks(at(20, Event::LookEnded { who: n(1) })));
    }

    #[test]
    fn crashed_and_paused_processes_are_not_judged() {
        let fault = |kind| at(20, Event::Fault { kind, node: Some(0) });
        holds(judge(), &looks(at(20, crashed(n(0)))));
        holds(judge(), &looks(fault(FaultKind::Pause)));
        fails(judge(), &looks(fault(FaultKind::Starve)));
    }
}
