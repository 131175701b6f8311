//! **Theorem (G9).** A candidate that is asked to hand over or to leave is done with it within its longest
//! stop, whatever the network does: its work has ended or was dropped, and its lease was handed back, or that
//! was tried for long enough.
//!
//! The longest stop is what `Config::explain` says: by a slow clock it takes up to `1 / (1 - rho)` of that.
//! Engines that move in ticks round up at each step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. Nothing is asked of one that stands
//! still meanwhile: who does not run can't end anything.

use super::recent::Recent;
use super::{Property, Terms, time};
use crate::clock::True;
use crate::plan::{Assumption, FaultKind};
use crate::trace::{Event, Who};

/// How many steps may each end a tick later.
const ROUNDED: u64 = 8;

/// A resignation ends.
#[derive(Debug)]
pub(super) struct ResignedWithin {
    terms: Terms,
    /// By when each candidate that was asked to resign has to be done with it.
    due: Recent<Who, True>,
}

impl ResignedWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), due: Recent::default() }
    }

    /// Whoever is asked again meanwhile is done with both at once.
    fn asked(&mut self, at: True, who: Who) {
        if self.due.get(who).is_none() {
            let limits = self.terms.limits_of(who);
            let takes = limits.at_most(limits.longest_stop) + ROUNDED * self.terms.tick;
            self.due.insert(who, at.saturating_add(takes));
        }
    }

    fn in_time(&self, at: True) -> Result<(), String> {
        match self.due.iter().find(|(_, due)| at > *due) {
            Some((who, due)) => {
                Err(format!("{who:?} was asked to resign, and is not done by {:?}", time(*due)))
            }
            None => Ok(()),
        }
    }
}

impl Property for ResignedWithin {
    fn name(&self) -> &'static str {
        "resigned-within"
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::CandidateClocks, Assumption::OneMemory]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        self.in_time(at)?;
        match *event {
            Event::ResignAsked { who, .. } => self.asked(at, who),
            Event::Withdrawn { who } | Event::Crashed { who } => {
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
    use super::super::history::{
        Seen, at, crashed, fails, holds, n, resign_asked, terms, withdrawn,
    };
    use super::*;

    /// The longest stop takes up to 100, and eight ticks.
    fn judge() -> ResignedWithin {
        ResignedWithin::new(&terms())
    }

    fn asked() -> Seen {
        at(10, resign_asked(n(0), None))
    }

    #[test]
    fn it_is_done_at_the_very_bound() {
        holds(judge(), &[asked(), at(118, withdrawn(n(0))), Seen::End(900)]);
        holds(judge(), &[asked(), Seen::End(118)]);
        let what = fails(judge(), &[asked(), at(119, withdrawn(n(0)))]);
        assert_eq!(what, "n0 was asked to resign, and is not done by 118ns");
        fails(judge(), &[asked(), Seen::End(119)]);
    }

    #[test]
    fn what_others_do_does_not_matter() {
        fails(judge(), &[asked(), at(20, withdrawn(n(1))), Seen::End(119)]);
        fails(judge(), &[asked(), at(20, crashed(n(1))), Seen::End(119)]);
        holds(judge(), &[asked(), at(20, crashed(n(0))), Seen::End(900)]);
    }

    #[test]
    fn nothing_is_asked_of_a_process_that_stands_still() {
        let stops = |node| at(20, Event::Fault { kind: FaultKind::Suspend, node: Some(node) });
        holds(judge(), &[asked(), stops(0), Seen::End(900)]);
        fails(judge(), &[asked(), stops(1), Seen::End(119)]);
    }

    #[test]
    fn who_is_asked_again_is_done_with_both() {
        let again = at(100, resign_asked(n(0), Some(7)));
        holds(judge(), &[asked(), again.clone(), at(118, withdrawn(n(0))), Seen::End(900)]);
        fails(judge(), &[asked(), again, Seen::End(119)]);
        let anew = [asked(), at(100, withdrawn(n(0))), at(101, resign_asked(n(0), None))];
        holds(judge(), &[&anew[..], &[Seen::End(209)]].concat());
        fails(judge(), &[&anew[..], &[Seen::End(210)]].concat());
    }
}
