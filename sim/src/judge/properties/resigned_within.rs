//! **Theorem (G9).** A resignation of a candidate, to hand over or to leave, ends within its
//! longest stop, whatever the network does: its work has ended or was dropped, and its lease was
//! handed back, or the release was tried for long enough. `StopError::StillRunning` is a violation,
//! unless the driver did not run meanwhile or the clock was put forward.
//!
//! The longest stop is computed by `Config::explain`: by a slow clock it takes up to
//! `1 / (1 - rho)` of that. Engines with ticks round up at each step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. A process that is
//! paused meanwhile is not judged: it can't end anything. A driver that does not run excuses only
//! candidates that leave, as in some of these cases no caller waits; a caller that waits for a
//! handover gets its answer in time all the same.

use super::due::Due;
use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Event, Who};

/// A resignation ends in time.
#[derive(Debug)]
pub(super) struct ResignedWithin {
    terms: Terms,
    /// The deadline of each candidate's resignation.
    due: Due,
    /// The resigning candidates that leave.
    leaving: Vec<Who>,
    /// The nodes whose driver does not run, once for each fault that causes this.
    starving: Vec<usize>,
    /// The resigning candidates that may answer that work still runs: their driver did not run for
    /// a while since, or their clock was put forward.
    excused: Vec<Who>,
}

impl ResignedWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            terms: terms.clone(),
            due: Due::default(),
            leaving: Vec::new(),
            starving: Vec::new(),
            excused: Vec::new(),
        }
    }

    /// A repeated request shares the deadline of the first.
    fn asked(&mut self, at: SimTime, who: Who) {
        if !self.due.is_set(who) {
            let takes = self.terms.limits_of(who).longest_stop;
            self.due.set(who, self.terms.latest_end(at, who, takes));
        }
        if self.starving.contains(&who.node) {
            self.excused.push(who);
        }
    }

    fn leaves(&mut self, who: Who) {
        self.leaving.push(who);
        if self.starving.contains(&who.node) {
            self.due.excuse(|other| other == who);
        }
    }

    fn starves(&mut self, node: usize) {
        self.starving.push(node);
        self.excuses(node);
        self.due.excuse(|who| who.node == node && self.leaving.contains(&who));
    }

    fn excuses(&mut self, node: usize) {
        self.excused.extend(self.due.keys().filter(|who| who.node == node));
    }

    fn forget(&mut self, who: Who) {
        self.leaving.retain(|other| *other != who);
        self.excused.retain(|other| *other != who);
    }
}

impl Property for ResignedWithin {
    fn about(&self) -> About {
        About::of(PropertyName::RESIGNED_WITHIN).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        self.due.in_time(at, |who, due| Finding::ResignationTooLong { who, due })
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::ResignAsked { who, hold_off } => {
                self.asked(at, who);
                if hold_off.is_none() {
                    self.leaves(who);
                }
            }
            Event::Withdrawn { who, done } => {
                let is_due = self.due.end(who);
                tally.count(is_due);
                if is_due && !done && !self.excused.contains(&who) {
                    return Err(Finding::StillRunning { who });
                }
                self.forget(who);
            }
            Event::Crashed { who } => {
                self.due.end(who);
                self.forget(who);
            }
            Event::Fault { kind: FaultKind::Starve, node: Some(node) } => self.starves(node),
            Event::Fault { kind: FaultKind::ClockStep, node: Some(node) } => self.excuses(node),
            Event::Healed { kind: FaultKind::Starve, node: Some(node) } => {
                if let Some(place) = self.starving.iter().position(|starves| *starves == node) {
                    self.starving.swap_remove(place);
                }
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
    use super::super::history::{
        Seen, at, crashed, end, fails, holds, n, resign_asked, terms, withdrawn,
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
    fn a_resignation_that_ends_at_the_bound() {
        holds(judge(), &[asked(), at(118, withdrawn(n(0))), end(900)]);
        holds(judge(), &[asked(), end(118)]);
        let what = fails(judge(), &[asked(), at(119, withdrawn(n(0)))]);
        assert_eq!(what.to_string(), "the resignation of n0 has not ended by 118ns");
        fails(judge(), &[asked(), end(119)]);
    }

    #[test]
    fn other_candidates_do_not_matter() {
        fails(judge(), &[asked(), at(20, withdrawn(n(1))), end(119)]);
        fails(judge(), &[asked(), at(20, crashed(n(1))), end(119)]);
        holds(judge(), &[asked(), at(20, crashed(n(0))), end(900)]);
    }

    #[test]
    fn a_paused_process_is_not_judged() {
        let stops = |node| at(20, Event::Fault { kind: FaultKind::Suspend, node: Some(node) });
        holds(judge(), &[asked(), stops(0), end(900)]);
        fails(judge(), &[asked(), stops(1), end(119)]);
    }

    #[test]
    fn a_starved_driver_excuses_leaving_candidates() {
        let starves = at(20, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let earlier = at(5, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let again = at(6, Event::Healed { kind: FaultKind::Starve, node: Some(0) });
        holds(judge(), &[asked(), starves.clone(), end(900)]);
        holds(judge(), &[earlier.clone(), asked(), end(900)]);
        fails(judge(), &[earlier, again, asked(), end(119)]);
        let resigns = at(10, resign_asked(n(0), Some(7)));
        fails(judge(), &[resigns, starves, end(119)]);
    }

    #[test]
    fn work_that_still_runs_needs_an_excuse() {
        let gave_up = at(118, Event::Withdrawn { who: n(0), done: false });
        let resigns = at(10, resign_asked(n(0), Some(7)));
        let what = fails(judge(), &[resigns.clone(), gave_up.clone()]);
        assert_eq!(
            what.to_string(),
            "the resignation of n0 ended with StillRunning, though its driver ran"
        );
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
    fn a_repeated_request_shares_the_deadline() {
        let again = at(100, resign_asked(n(0), Some(7)));
        holds(judge(), &[asked(), again.clone(), at(118, withdrawn(n(0))), end(900)]);
        fails(judge(), &[asked(), again, end(119)]);
        let anew = [asked(), at(100, withdrawn(n(0))), at(101, resign_asked(n(0), None))];
        holds(judge(), &[&anew[..], &[end(209)]].concat());
        fails(judge(), &[&anew[..], &[end(210)]].concat());
    }
}
