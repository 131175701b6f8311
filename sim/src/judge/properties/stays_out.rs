//! **Theorem (section 6).** A candidate that has resigned asks for no lease until its hold-off is
//! over, and a candidate that has left the election asks for none until it is asked to take part
//! again: so that another one can take over.
//!
//! By a fast clock a hold-off takes `1 / (1 + rho)` of its duration; if some candidate's clock
//! counts faster than that, or is put forward, nothing is promised; nor after a suspend of its
//! machine, whose clock may have counted too long. Rests on a process that lives once. Engines with
//! ticks may report the end of a resignation a tick late.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_fastest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, FaultKind, SimTime};
use crate::trace::{Asked, Event, Who};

/// A candidate that has resigned gives way to others.
#[derive(Debug)]
pub(super) struct StaysOut {
    terms: Terms,
    candidates: Recent<Who, Candidate>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// The hold-off of the last resignation; `None` if it left the election.
    hold_off: Option<u64>,
    /// The end of its hold-off.
    out_until: SimTime,
}

impl StaysOut {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), candidates: Recent::default() }
    }

    fn withdrawn(&mut self, at: SimTime, who: Who) {
        let drift_ppm = self.terms.limits_of(who).drift_ppm;
        let candidate = self.candidates.of(who);
        candidate.out_until = match candidate.hold_off {
            Some(hold_off) => {
                let hold_off = Duration::from_nanos(hold_off);
                at + on_fastest_clock(hold_off, drift_ppm) - 2 * self.terms.tick
            }
            None => SimTime::NEVER,
        };
    }

    /// The clock of the machine may be ahead of the time that has passed. (Model seed 2008747: of a
    /// hold-off of 870 ms a suspend of 1 ms left nothing.)
    fn suspended(&mut self, node: usize) {
        for (who, candidate) in self.candidates.iter_mut() {
            if who.node == node && candidate.out_until != SimTime::NEVER {
                candidate.out_until = SimTime::START;
                // The same if the end of the resignation is reported later.
                candidate.hold_off = candidate.hold_off.map(|_| 0);
            }
        }
    }

    /// Compares the first acquire after a resignation with the end of the hold-off. Later ones
    /// can't come too early.
    fn campaigns(&mut self, at: SimTime, who: Who, tally: &mut Tally) -> Found {
        let out_until = std::mem::take(&mut self.candidates.of(who).out_until);
        if out_until == SimTime::START || !self.terms.no_clock_too_fast {
            return Ok(());
        }
        tally.count(true);
        match out_until {
            SimTime::NEVER => Err(Finding::CampaignsAfterLeaving { who }),
            until if at < until => Err(Finding::CampaignsTooSoon { who, until }),
            _ => Ok(()),
        }
    }
}

impl Property for StaysOut {
    fn about(&self) -> About {
        About::of(PropertyName::STAYS_OUT).resting_on(&[Assumption::OneMemory])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::ResignAsked { who, hold_off } => self.candidates.of(who).hold_off = hold_off,
            Event::CampaignAsked { who } => {
                *self.candidates.of(who) =
                    Candidate { hold_off: Some(0), out_until: SimTime::START };
            }
            Event::Withdrawn { who, done: true } => self.withdrawn(at, who),
            Event::Fault { kind: FaultKind::Suspend, node: Some(node) } => self.suspended(node),
            Event::Sent { who, request: Asked::Acquire { .. }, .. } => {
                return self.campaigns(at, who, tally);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, asks, at, compares, fails, holds, n, resign_asked, sent, terms, withdrawn,
    };
    use super::*;

    fn judge() -> StaysOut {
        StaysOut::new(&terms())
    }

    /// A resignation that ends at 50; these events follow.
    fn out(hold_off: Option<u64>, then: &[Seen]) -> Vec<Seen> {
        let asked = [at(40, resign_asked(n(0), hold_off)), at(50, withdrawn(n(0)))];
        [&asked[..], then].concat()
    }

    fn campaigns(when: u64, node: usize) -> Seen {
        at(when, sent(n(node), 1, asks(7)))
    }

    #[test]
    fn a_hold_off_by_a_fast_clock() {
        // 110 takes 100, less two ticks.
        holds(judge(), &out(Some(110), &[campaigns(148, 0)]));
        let what = fails(judge(), &out(Some(110), &[campaigns(147, 0)]));
        assert_eq!(what.to_string(), "n0 has resigned, but campaigns before 148ns");
        holds(judge(), &out(Some(110), &[campaigns(60, 1)]));
        holds(judge(), &out(Some(0), &[campaigns(50, 0)]));
    }

    #[test]
    fn nothing_is_promised_over_a_suspend() {
        let suspend = |node| at(60, Event::Fault { kind: FaultKind::Suspend, node: Some(node) });
        holds(judge(), &out(Some(110), &[suspend(0), campaigns(61, 0)]));
        fails(judge(), &out(Some(110), &[suspend(1), campaigns(61, 0)]));
        fails(judge(), &out(None, &[suspend(0), campaigns(61, 0)]));
        let asked = [at(40, resign_asked(n(0), Some(110))), suspend(0), at(62, withdrawn(n(0)))];
        holds(judge(), &[&asked[..], &[campaigns(63, 0)]].concat());
    }

    #[test]
    fn nothing_is_promised_with_fast_clocks() {
        let fast = Terms { no_clock_too_fast: false, ..terms() };
        holds(StaysOut::new(&fast), &out(Some(110), &[campaigns(60, 0)]));
    }

    #[test]
    fn a_candidate_that_left_stays_out_until_asked() {
        let what = fails(judge(), &out(None, &[campaigns(1_000_000, 0)]));
        assert_eq!(what.to_string(), "n0 has left, but campaigns without a request");
        let asked = at(60, Event::CampaignAsked { who: n(0) });
        holds(judge(), &out(None, &[asked, campaigns(60, 0)]));
        let other = at(60, Event::CampaignAsked { who: n(1) });
        fails(judge(), &out(None, &[other, campaigns(60, 0)]));
    }

    #[test]
    fn a_request_during_the_resignation_counts() {
        let asked = [at(40, resign_asked(n(0), None)), at(45, Event::CampaignAsked { who: n(0) })];
        holds(judge(), &[&asked[..], &[at(50, withdrawn(n(0))), campaigns(50, 0)]].concat());
    }

    #[test]
    fn the_last_resignation_counts() {
        let again = [at(60, resign_asked(n(0), Some(0))), at(60, withdrawn(n(0)))];
        holds(judge(), &out(None, &[&again[..], &[campaigns(61, 0)]].concat()));
    }

    #[test]
    fn other_requests_are_allowed() {
        holds(judge(), &out(None, &[at(60, sent(n(0), 1, Asked::Release { token: 7 }))]));
    }

    #[test]
    fn the_first_campaign_after_a_resignation_is_compared() {
        let campaigns = [campaigns(148, 0), campaigns(900, 0)];
        assert_eq!(compares(judge(), &out(Some(110), &campaigns)), 1);
        assert_eq!(compares(judge(), &campaigns), 0);
    }
}
