//! **Theorem (section 5).** A candidate keeps no lease that it does not lead under. After any end
//! but a supersession it sends a release before it campaigns again. A grant that reaches it after
//! it was asked to resign is handed back likewise, and it does not lead under it.
//!
//! A kept lease is not unsafe: all others wait for its end without need.
//!
//! A release is tried for a bounded time by the candidate's clock. A clock that is put forward
//! between the end and the release, or just before the end is reported, ends that time: such an end
//! is not judged.
//!
//! Rests on a process that lives once. The order of a grant and a request to resign is known where
//! the engine writes down when the process itself learns of them: not in an engine with ticks.
//!
//! Not judged: grants for requests before the last one of a campaign that was given up. A candidate
//! remembers only the last.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, FaultKind, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, Who};

/// No lease is kept without need.
#[derive(Debug)]
pub(super) struct LeasesHandedBack {
    is_exact: bool,
    /// An end is reported at most so long after it.
    reported_within: Duration,
    candidates: Recent<Who, Candidate>,
    /// The last time each node's clock was put forward.
    stepped: Recent<usize, Option<SimTime>>,
}

/// The state of one candidate. Zero stands for no token.
#[derive(Debug, Default)]
struct Candidate {
    /// True if it was asked to resign and has not campaigned since.
    resigned: bool,
    /// The id of its last acquire.
    acquire: u64,
    /// The token of the lease that it has yet to hand back.
    owes: Option<u64>,
    /// True if it had a lease to hand back since its last acquire.
    owed: bool,
    /// The highest token that it handed back.
    handed_back: u64,
}

impl LeasesHandedBack {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            is_exact: terms.is_exact(),
            reported_within: terms.rounding(),
            candidates: Recent::default(),
            stepped: Recent::default(),
        }
    }

    /// The clock of a node was put forward: the time for releases is over.
    fn stepped(&mut self, at: SimTime, node: usize) {
        self.stepped.insert(node, Some(at));
        let of_node = self.candidates.iter_mut().filter(|(who, _)| who.node == node);
        of_node.for_each(|(_, candidate)| candidate.excused());
    }

    fn is_excused(&self, at: SimTime, who: Who) -> bool {
        let stepped = self.stepped.get(who.node).copied().flatten();
        stepped.is_some_and(|stepped| at.since(stepped) < self.reported_within)
    }
}

impl Candidate {
    fn excused(&mut self) {
        (self.owes, self.owed) = (None, false);
    }

    fn is_over(&mut self, token: u64) {
        self.owed = true;
        if token > self.handed_back {
            self.owes = Some(token);
        }
    }

    fn sent(&mut self, who: Who, id: u64, request: Asked) -> Found {
        match request {
            Asked::Acquire { .. } => {
                if let Some(token) = self.owes {
                    return Err(Finding::OwesRelease { who, token });
                }
                (self.resigned, self.acquire, self.owed) = (false, id, false);
            }
            Asked::Release { token } => {
                self.handed_back = self.handed_back.max(token);
                self.owes = self.owes.filter(|owed| *owed > self.handed_back);
            }
            Asked::Look { .. } | Asked::Renew { .. } => {}
        }
        Ok(())
    }

    fn answered(&mut self, id: u64, answer: Option<Answer>) {
        match answer {
            Some(Answer::Granted { token }) if self.resigned && id == self.acquire => {
                self.is_over(token);
            }
            // The lease is no longer its own.
            Some(Answer::Superseded) => self.excused(),
            _ => {}
        }
    }

    fn wins(&self, who: Who) -> Found {
        if self.resigned {
            return Err(Finding::LeadsAfterResigning { who });
        }
        Ok(())
    }
}

impl Property for LeasesHandedBack {
    fn about(&self) -> About {
        About::of(PropertyName::LEASES_HANDED_BACK).resting_on(&[Assumption::OneMemory])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Effect { kind: FaultKind::ClockStep, node: Some(node) } => {
                self.stepped(at, node);
            }
            Event::Sent { who, id, request } => {
                let candidate = self.candidates.of(who);
                tally.count(candidate.owed && matches!(request, Asked::Acquire { .. }));
                candidate.sent(who, id, request)?;
            }
            Event::Answered { who, id, answer } => self.candidates.of(who).answered(id, answer),
            Event::ResignAsked { who, .. } if self.is_exact => {
                self.candidates.of(who).resigned = true;
            }
            // A new candidate in the same process. If work of the earlier one outlived its bound,
            // its lease was not handed back, and the new candidate can't do so.
            Event::Started { who } => {
                self.candidates.remove(who);
            }
            Event::Elected { who, .. } => {
                self.candidates.of(who).wins(who)?;
            }
            Event::SteppedDown { who, token, reason, .. }
                if reason != Reason::Superseded && !self.is_excused(at, who) =>
            {
                self.candidates.of(who).is_over(token);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, answered, asks, at, compares, elected, fails, granted, holds, n, sent, span,
        stepped_down, terms,
    };
    use super::*;

    const ACQUIRE: Asked = asks(0);
    const RESIGN: Event = Event::ResignAsked { who: Who { node: 0, life: 0 }, hold_off: None };

    fn judge() -> LeasesHandedBack {
        LeasesHandedBack::new(&terms())
    }

    fn of(events: &[Event]) -> Vec<Seen> {
        (1..).zip(events).map(|(time, event)| at(time, event.clone())).collect()
    }

    fn release(token: u64) -> Event {
        sent(n(0), 9, Asked::Release { token })
    }

    #[test]
    fn a_release_before_the_next_campaign() {
        let over = stepped_down(n(0), 7, Reason::Expired);
        holds(judge(), &of(&[over.clone(), release(7), sent(n(0), 2, ACQUIRE)]));
        let what = fails(judge(), &of(&[over.clone(), sent(n(0), 2, ACQUIRE)]));
        assert_eq!(what.to_string(), "n0 campaigns before it has handed token 7 back");
        fails(judge(), &of(&[over.clone(), release(6), sent(n(0), 2, ACQUIRE)]));
        holds(judge(), &of(&[over, sent(n(1), 2, ACQUIRE)]));
    }

    #[test]
    fn a_clock_put_forward_ends_the_time_for_a_release() {
        let stepped = |node| Event::Effect { kind: FaultKind::ClockStep, node: Some(node) };
        let over = stepped_down(n(0), 7, Reason::Expired);
        let asks = sent(n(0), 2, ACQUIRE);
        holds(judge(), &of(&[over.clone(), stepped(0), asks.clone()]));
        holds(judge(), &of(&[stepped(0), over.clone(), asks.clone()]));
        fails(judge(), &of(&[over.clone(), stepped(1), asks.clone()]));
        fails(judge(), &[at(1, stepped(0)), at(99, over), at(100, asks)]);
    }

    #[test]
    fn an_end_reported_after_the_release() {
        let over = stepped_down(n(0), 7, Reason::Resigned);
        holds(judge(), &of(&[release(7), over, sent(n(0), 2, ACQUIRE)]));
    }

    #[test]
    fn a_superseded_lease_is_not_handed_back() {
        let superseded = stepped_down(n(0), 7, Reason::Superseded);
        holds(judge(), &of(&[superseded, sent(n(0), 2, ACQUIRE)]));
        let drains = stepped_down(n(0), 7, Reason::Resigned);
        let answer = answered(n(0), 1, Answer::Superseded);
        holds(judge(), &of(&[drains, answer, sent(n(0), 2, ACQUIRE)]));
    }

    #[test]
    fn a_grant_after_a_resignation_is_handed_back() {
        let late = [sent(n(0), 1, ACQUIRE), RESIGN, answered(n(0), 1, granted(7))];
        let then = |more: &[Event]| of(&[&late[..], more].concat());
        holds(judge(), &then(&[release(7), sent(n(0), 3, ACQUIRE), elected(n(0), 8, 90)]));
        fails(judge(), &then(&[sent(n(0), 3, ACQUIRE)]));
        let what = fails(judge(), &then(&[elected(n(0), 7, 90)]));
        assert_eq!(what.to_string(), "n0 takes the lead after it has resigned");
    }

    #[test]
    fn a_grant_to_an_earlier_request_is_ignored() {
        let events = [
            sent(n(0), 1, ACQUIRE),
            sent(n(0), 2, ACQUIRE),
            RESIGN,
            answered(n(0), 1, granted(7)),
            sent(n(0), 3, ACQUIRE),
        ];
        holds(judge(), &of(&events));
    }

    #[test]
    fn with_ticks_a_resignation_may_arrive_late() {
        let ticks = LeasesHandedBack::new(&Terms { tick: span(1_000_000), ..terms() });
        let events = [sent(n(0), 1, ACQUIRE), RESIGN, elected(n(0), 7, 90)];
        holds(ticks, &of(&events));
        fails(judge(), &of(&events));
    }

    #[test]
    fn campaigns_without_a_lease_to_hand_back_are_not_compared() {
        let over = stepped_down(n(0), 7, Reason::Expired);
        let campaign = |id| sent(n(0), id, ACQUIRE);
        let events = [campaign(1), over, release(7), campaign(2), campaign(3)];
        assert_eq!(compares(judge(), &of(&events)), 1);
        let superseded = stepped_down(n(0), 7, Reason::Superseded);
        assert_eq!(compares(judge(), &of(&[superseded, campaign(2)])), 0);
    }
}
