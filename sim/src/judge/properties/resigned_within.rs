//! **Theorem (G9).** A candidate that is asked to hand over or to leave is done with it within its longest
//! stop, whatever the network does: its work has ended or was dropped, and its lease was handed back, or that
//! was tried for long enough. `StopError::StillRunning` is a violation, unless the driver got no turn meanwhile or
//! the clock was put forward.
//!
//! The longest stop is what `Config::explain` says: by a slow clock it takes up to `1 / (1 - rho)` of that.
//! Engines that move in ticks round up at each step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. Nothing is asked of one that stands
//! still meanwhile: who does not run can't end anything. A driver that gets no turn excuses those alone that leave,
//! some of which nobody waits for; whoever waits for a resignation is told in time all the same.

use super::recent::Recent;
use super::{Property, Terms, time};
use crate::plan::clock::True;
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
    /// Those of them that leave.
    leaving: Vec<Who>,
    /// The nodes whose driver gets no turn, as often as there are reasons.
    starving: Vec<usize>,
    /// The candidates that were asked to resign, and may be told that work still runs: their driver got no turn for a
    /// while since, or their clock was put forward beyond all bounds at once.
    excused: Vec<Who>,
    compared: u64,
}

impl ResignedWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            terms: terms.clone(),
            due: Recent::default(),
            leaving: Vec::new(),
            starving: Vec::new(),
            excused: Vec::new(),
            compared: 0,
        }
    }

    /// Whoever is asked again meanwhile is done with both at once.
    fn asked(&mut self, at: True, who: Who) {
        if self.due.get(who).is_none() {
            let limits = self.terms.limits_of(who);
            let takes = limits.at_most(limits.longest_stop) + ROUNDED * self.terms.tick;
            self.due.insert(who, at.saturating_add(takes));
        }
        if self.starving.contains(&who.node) {
            self.excused.push(who);
        }
    }

    fn leaves(&mut self, who: Who) {
        self.leaving.push(who);
        if self.starving.contains(&who.node) {
            self.due.insert(who, True::MAX);
        }
    }

    fn starves(&mut self, node: usize) {
        self.starving.push(node);
        self.excuses(node);
        for who in self.leaving.iter().filter(|who| who.node == node) {
            self.due.insert(*who, True::MAX);
        }
    }

    fn excuses(&mut self, node: usize) {
        self.excused.extend(self.due.iter().map(|(who, _)| *who).filter(|who| who.node == node));
    }

    fn forget(&mut self, who: Who) {
        self.leaving.retain(|other| *other != who);
        self.excused.retain(|other| *other != who);
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

    fn compared(&self) -> u64 {
        self.compared
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::CandidateClocks, Assumption::OneMemory]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        self.in_time(at)?;
        match *event {
            Event::ResignAsked { who, hold_off } => {
                self.asked(at, who);
                if hold_off.is_none() {
                    self.leaves(who);
                }
            }
            Event::Withdrawn { who, done } => {
                let is_due = self.due.remove(who).is_some_and(|due| due < True::MAX);
                self.compared += u64::from(is_due);
                if is_due && !done && !self.excused.contains(&who) {
                    return Err(format!(
                        "{who:?} was told that work still runs, which its driver drops"
                    ));
                }
                self.forget(who);
            }
            Event::Crashed { who } => {
                self.due.remove(who);
                self.forget(who);
            }
            Event::Fault { kind: FaultKind::Starve, node: Some(node) } => self.starves(node),
            Event::Fault { kind: FaultKind::ClockStep, node: Some(node) } => self.excuses(node),
            Event::Healed { kind: FaultKind::Starve, node: Some(node) } => {
                if let Some(place) = self.starving.iter().position(|starves| *starves == node) {
                    self.starving.swap_remove(place);
                }
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
    fn a_driver_without_turns_excuses_those_that_leave() {
        let starves = at(20, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let earlier = at(5, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let again = at(6, Event::Healed { kind: FaultKind::Starve, node: Some(0) });
        holds(judge(), &[asked(), starves.clone(), Seen::End(900)]);
        holds(judge(), &[earlier.clone(), asked(), Seen::End(900)]);
        fails(judge(), &[earlier, again, asked(), Seen::End(119)]);
        let resigns = at(10, resign_asked(n(0), Some(7)));
        fails(judge(), &[resigns, starves, Seen::End(119)]);
    }

    #[test]
    fn work_that_still_runs_needs_an_excuse() {
        let gave_up = at(118, Event::Withdrawn { who: n(0), done: false });
        let resigns = at(10, resign_asked(n(0), Some(7)));
        let what = fails(judge(), &[resigns.clone(), gave_up.clone()]);
        assert_eq!(what, "n0 was told that work still runs, which its driver drops");
        let starves = |at_ns| at(at_ns, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let heals = at(30, Event::Healed { kind: FaultKind::Starve, node: Some(0) });
        holds(judge(), &[resigns.clone(), starves(20), heals, gave_up.clone()]);
        holds(judge(), &[starves(5), resigns.clone(), gave_up.clone()]);
        for kind in [FaultKind::Pause, FaultKind::ClockStep] {
            let fault = |node| at(20, Event::Fault { kind, node: Some(node) });
            holds(judge(), &[resigns.clone(), fault(0), gave_up.clone()]);
            fails(judge(), &[resigns.clone(), fault(1), gave_up.clone()]);
        }
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
