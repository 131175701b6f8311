//! **Theorem (G8).** In the calm, and outside a quarantine, a candidate leads soon after a lease
//! was handed back, if another candidate waits for it: within
//!
//! - one latency, for the hint to reach the waiting candidate;
//! - the longer of a round trip, for a request in flight, and the spacing of requests because of
//!   hints, on the slowest clock;
//! - two round trips of its own: one answer tells it the last tenure, and the next request is
//!   granted.
//!
//! Engines with ticks round up at every step of the way, so two dozen of their ticks are allowed.
//!
//! A candidate waits if its last request is an acquire or a look that was answered or is in flight,
//! and if a request that it sent in the calm has been answered, so that no earlier fault affects
//! its connection to the store. A candidate that knows of a lost tenure does not wait: it watches
//! that loss out. If no candidate waits, nothing is due; nor if the lease may have been granted to
//! a process that is not known to wait: an acquire of a crashed process, for instance, can still
//! arrive. Nor is anything due while the store's past is watched, once a waiting candidate has
//! crashed, if some candidate's request timeout is shorter than a healthy network needs for an
//! answer, or if settings contradict each other: then a lease that was handed back is watched too.
//! So is one that was handed over to a certain candidate.
//!
//! Rests on clocks that were not put back, on one server at a time, and on hints being delivered.
//! An engine without ticks delivers them to every candidate that waits in the calm. In an engine
//! whose candidates subscribe over connections, a subscription may still be under way after the
//! faults: there the time counts from the first hint that reaches a waiting candidate.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms};
use crate::judge::asker::Asker;
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, StoreStep, Who};

/// The number of steps of an engine that may each end a tick later.
const ROUNDED: u32 = 24;

/// A lease that was handed back is soon granted to a waiting candidate, which leads.
#[derive(Debug)]
pub(super) struct HandoverWithin {
    bound: Duration,
    /// True if every candidate gets its answers in time, if there are no faults.
    is_promised: bool,
    hints_may_be_lost: bool,
    /// The token of the last tenure that was handed over to a certain candidate.
    kept: Option<u64>,
    /// The token that was handed back, until a hint reaches a waiting candidate.
    handed_back: Option<u64>,
    /// The token that was handed back, and the latest time for the next lead.
    due: Option<(u64, SimTime)>,
}

impl HandoverWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        let latency = terms.latency_most;
        let spacing = terms.candidates.iter().map(|limits| limits.at_most(limits.hint_spacing));
        let first_try = spacing.max().unwrap_or_default().max(2 * latency);
        let bound = latency + first_try + 4 * latency + ROUNDED * terms.tick;
        let is_promised = terms.all_are_answered_in_time() && terms.settings_agree();
        Self {
            bound,
            is_promised,
            hints_may_be_lost: !terms.is_exact(),
            kept: None,
            handed_back: None,
            due: None,
        }
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep, state: &State) {
        match (step.request, step.answer) {
            (Asked::Release { token }, Answer::Released)
                if state.is_calm() && self.is_promised && self.kept != Some(token) =>
            {
                let knows_no_more = |seen| seen <= token;
                let waits =
                    |asker: &Asker| asker.waits() && asker.campaigns().is_some_and(knows_no_more);
                let is_awaited = state.askers().any(|(_, asker)| waits(asker));
                self.nothing_is_due();
                if is_awaited && self.hints_may_be_lost {
                    self.handed_back = Some(token);
                } else if is_awaited {
                    self.due = Some((token, at + self.bound));
                }
            }
            (request, Answer::Granted { .. }) if !state.is_from_waiting(request) => {
                self.nothing_is_due();
            }
            (_, answer) if answer.past_is_watched() == Some(false) => self.nothing_is_due(),
            _ => {}
        }
    }

    fn hinted(&mut self, at: SimTime, who: Who, state: &State) {
        if state.asker(who).waits()
            && let Some(token) = self.handed_back.take()
        {
            self.due = Some((token, at + self.bound));
        }
    }

    fn nothing_is_due(&mut self) {
        (self.handed_back, self.due) = (None, None);
    }
}

impl Property for HandoverWithin {
    fn about(&self) -> About {
        About::of(PropertyName::HANDOVER_WITHIN).timed().resting_on(&[
            Assumption::Waits,
            Assumption::CandidateClocks,
            Assumption::LossIsFinal,
            Assumption::Processor,
        ])
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        match self.due {
            Some((token, due)) if at > due => Err(Finding::NoHandover { token, due }),
            Some(_) | None => Ok(()),
        }
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            // It may be the one that was about to lead.
            Event::ResignAsked { who, .. } | Event::Crashed { who }
                if state.asker(who).campaigns().is_some() =>
            {
                self.nothing_is_due();
            }
            // Others watch a lease that is kept for one, which may be gone.
            Event::SteppedDown { token, reason: Reason::HandedOver, .. } => self.kept = Some(token),
            Event::Store(ref step) => self.stepped(at, step, state),
            // Not every store shows what it refuses.
            Event::Answered { answer: Some(answer), .. }
                if answer.past_is_watched() == Some(false) =>
            {
                self.nothing_is_due();
            }
            Event::Hinted { who } => self.hinted(at, who, state),
            Event::Leads { .. } => {
                tally.count(self.due.is_some());
                self.nothing_is_due();
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        NOT, Seen, answered, asks, at, back, crashed, end, fails, grant, granted, holds, kept,
        leads, n, refuse, release, resign_asked, sent, span, terms,
    };
    use super::*;

    const ACQUIRE: Asked = asks(7);

    /// A latency of 10, and a spacing of 18 that takes 20: 10 + 20 + 40, and 24 ticks.
    fn property() -> HandoverWithin {
        HandoverWithin::new(&Terms { latency_most: span(10), ..terms() })
    }

    /// Node 1 waits; node 0's lease is handed back at 200.
    fn handed_back() -> Vec<Seen> {
        vec![
            at(100, Event::Calm),
            at(110, sent(n(1), 1, ACQUIRE)),
            at(120, answered(n(1), 1, NOT)),
            at(200, release(kept(1, 7, 900))),
        ]
    }

    fn then(what: &[Seen]) -> Vec<Seen> {
        [handed_back(), what.to_vec()].concat()
    }

    /// It asks again, and is granted the lease.
    fn tries_again() -> [Seen; 2] {
        [
            at(205, sent(n(1), 2, ACQUIRE)),
            at(210, grant(Some(back(kept(1, 7, 900))), kept(2, 8, 900))),
        ]
    }

    #[test]
    fn nothing_is_promised_if_settings_contradict() {
        let terms = Terms { latency_most: span(10), longest_ttl: span(1), ..terms() };
        holds(HandoverWithin::new(&terms), &then(&[end(900)]));
    }

    #[test]
    fn a_candidate_that_knows_of_a_lost_tenure_does_not_wait() {
        let mut history = then(&[end(900)]);
        history[1] = at(110, sent(n(1), 1, asks(8)));
        holds(property(), &history);
    }

    #[test]
    fn nothing_is_due_while_a_past_is_watched() {
        let told = Answer::Not { past_is_watched: false };
        holds(property(), &then(&[at(210, refuse(2, ACQUIRE, told, None)), end(900)]));
    }

    #[test]
    fn a_leader_at_the_bound() {
        let elected = [&tries_again()[..], &[at(294, leads(n(1), 8)), end(900)]].concat();
        holds(property(), &then(&elected));
    }

    #[test]
    fn a_leader_after_the_bound() {
        let what = fails(property(), &then(&[at(295, leads(n(1), 8))]));
        assert_eq!(what.to_string(), "no candidate led by 294ns after token 7 was handed back");
        fails(property(), &then(&[&tries_again()[..], &[end(295)]].concat()));
        holds(property(), &then(&[end(294)]));
    }

    #[test]
    fn a_request_in_flight_counts_as_waiting() {
        let mut history = then(&[end(295)]);
        history.insert(3, at(199, sent(n(1), 2, ACQUIRE)));
        fails(property(), &history);
    }

    #[test]
    fn nothing_is_due_without_a_known_waiting_candidate() {
        for (index, instead) in [
            // No calm; no request in the calm; no answer; a failed request; a grant.
            (0, crashed(n(3))),
            (1, crashed(n(3))),
            (2, crashed(n(3))),
            (2, Event::Answered { who: n(1), id: 1, answer: None }),
            (2, answered(n(1), 1, granted(8))),
        ] {
            let mut history = then(&[end(900)]);
            history[index] = at(110, instead);
            holds(property(), &history);
        }
        let mut history = then(&[end(900)]);
        history.insert(3, at(130, sent(n(1), 2, Asked::Release { token: 6 })));
        holds(property(), &history);
    }

    #[test]
    fn nothing_is_due_without_the_waiting_candidate() {
        for event in [crashed(n(1)), resign_asked(n(1), None)] {
            holds(property(), &then(&[tries_again()[0].clone(), at(210, event), end(900)]));
        }
    }

    #[test]
    fn nothing_is_due_after_a_grant_to_another() {
        let [again, granted] = tries_again();
        holds(property(), &then(&[granted.clone(), end(900)]));
        let unsettled = at(205, sent(n(2), 1, ACQUIRE));
        holds(property(), &then(&[again, unsettled, granted, end(900)]));
    }

    #[test]
    fn nothing_is_promised_with_a_short_request_timeout() {
        let far = Terms { latency_most: span(30), ..terms() };
        holds(HandoverWithin::new(&far), &then(&[end(900)]));
    }

    #[test]
    fn with_lossy_hints_the_first_arrival_counts() {
        let ticking =
            || HandoverWithin::new(&Terms { latency_most: span(10), tick: span(2), ..terms() });
        holds(ticking(), &then(&[end(9_000)]));
        let hinted = |who| at(500, Event::Hinted { who: n(who) });
        // 500, and 10 + 20 + 40, and 24 ticks.
        holds(ticking(), &then(&[hinted(1), end(618)]));
        fails(ticking(), &then(&[hinted(1), end(619)]));
        // The hint reached no waiting candidate.
        holds(ticking(), &then(&[hinted(2), end(9_000)]));
    }
}
