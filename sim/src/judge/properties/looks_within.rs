//! **Theorem (G9).** Whoever looks who leads is told within the request timeout, or told that this is not known: whatever
//! the network does, and also if the driver gets no turn.
//!
//! By a slow clock the request timeout takes up to `1 / (1 - rho)` of it. Engines that move in ticks round up at each
//! step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. Nothing is asked of one that stands still.

use super::recent::Recent;
use super::{Property, Terms, time};
use crate::plan::clock::True;
use crate::plan::{Assumption, FaultKind};
use crate::trace::{Event, Who};

/// How many steps may each end a tick later.
const ROUNDED: u64 = 8;

/// A look ends.
#[derive(Debug)]
pub(super) struct LooksWithin {
    terms: Terms,
    /// By when each candidate's look has to end: it has one at a time.
    due: Recent<Who, True>,
    compared: u64,
}

impl LooksWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), due: Recent::default(), compared: 0 }
    }

    fn in_time(&self, at: True) -> Result<(), String> {
        match self.due.iter().find(|(_, due)| at > *due) {
            Some((who, due)) => {
                Err(format!("{who:?} looks who leads, and knows nothing by {:?}", time(*due)))
            }
            None => Ok(()),
        }
    }
}

impl Property for LooksWithin {
    fn name(&self) -> &'static str {
        "looks-within"
    }

    fn compared(&self) -> u64 {
        self.compared
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::CandidateClocks, Assumption::OneMemory]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        self.in_time(at)?;
        match *event {
            Event::LookBegan { who } => {
                let limits = self.terms.limits_of(who);
                let takes = limits.at_most(limits.request_timeout) + ROUNDED * self.terms.tick;
                self.due.insert(who, at.saturating_add(takes));
            }
            Event::LookEnded { who } => {
                let is_due = self.due.remove(who).is_some_and(|due| due < True::MAX);
                self.compared += u64::from(is_due);
            }
            Event::Crashed { who } => {
                self.due.remove(who);
            }
            Event::Fault { kind, node: Some(node) } if FaultKind::STAND_STILL.contains(&kind) => {
                let stops = self.due.iter_mut().filter(|(who, _)| who.node == node);
                stops.for_each(|(_, due)| *due = True::MAX);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: True) -> Result<(), String> {
        self.in_time(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, crashed, fails, holds, n, terms};
    use super::*;

    /// A look takes up to 100, and eight ticks.
    fn judge() -> LooksWithin {
        let mut terms = terms();
        terms.candidates[0].request_timeout = 90;
        LooksWithin::new(&terms)
    }

    fn looks(then: Seen) -> Vec<Seen> {
        vec![at(10, Event::LookBegan { who: n(0) }), then, Seen::End(900)]
    }

    #[test]
    fn it_ends_at_the_very_bound() {
        let ends = |at_ns| at(at_ns, Event::LookEnded { who: n(0) });
        holds(judge(), &looks(ends(118)));
        let what = fails(judge(), &looks(ends(119))[..2]);
        assert_eq!(what, "n0 looks who leads, and knows nothing by 118ns");
        fails(judge(), &looks(at(20, Event::LookEnded { who: n(1) })));
    }

    #[test]
    fn a_process_that_is_gone_or_stands_still_excuses_it() {
        let fault = |kind| at(20, Event::Fault { kind, node: Some(0) });
        holds(judge(), &looks(at(20, crashed(n(0)))));
        holds(judge(), &looks(fault(FaultKind::Pause)));
        fails(judge(), &looks(fault(FaultKind::Starve)));
    }
}
