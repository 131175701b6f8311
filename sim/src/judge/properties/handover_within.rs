//! **Theorem (G8).** In the calm, and outside a quarantine, somebody leads soon after a lease was handed
//! back, if another candidate waits for it: within
//!
//! - one latency, for the hint to reach whoever waits;
//! - the longer of a round trip, for a try that was under way, and the spacing of tries because of hints,
//!   on the slowest clock;
//! - two round trips of its own: `Stale` tells it of the last tenure, and the next try is granted.
//!
//! Engines that move in ticks round up at every step of the way, so two dozen of their ticks are allowed.
//!
//! Who waits is taken from its requests: the last one is an acquire, and was refused, or is under way;
//! and one that was sent in the calm has been answered, so nothing of the trouble is left between it and
//! the store. If nobody waits, nothing is due; nor if somebody else may have been granted the lease, of
//! whom that is not known: an acquire of a process that is gone, for instance, can still arrive. Nor is
//! anything due once a grant makes its holder wait out a quarantine, once one that waited is gone, or if
//! some candidate gives its requests up sooner than a healthy network answers them.
//!
//! Rests on clocks that were not put back, on one server at a time, and on hints being delivered. An engine
//! without ticks owes them to every candidate that waits in the calm. In one whose candidates subscribe
//! over connections, a subscription may still be on its way after the trouble: there the time counts from
//! the first hint that reaches one that waits.

use super::asker::Asker;
use super::recent::Recent;
use super::{Property, Terms, time};
use crate::plan::Assumption;
use crate::plan::clock::True;
use crate::trace::{Answer, Asked, Event, StoreStep, Who};

/// How many steps of an engine may each end a tick later.
const ROUNDED: u64 = 24;

/// A lease that was handed back is taken up.
#[derive(Debug)]
pub(super) struct HandoverWithin {
    bound: u64,
    is_calm: bool,
    /// Whether every candidate gets its answers in time, if nothing goes wrong.
    is_promised: bool,
    /// Each candidate that is alive and was not asked to resign.
    candidates: Recent<Who, Asker>,
    hints_may_be_lost: bool,
    /// The token that was handed back, if nobody who waits has been told so far.
    handed_back: Option<u64>,
    /// The same, and by when somebody has to lead.
    due: Option<(u64, True)>,
    compared: u64,
}

impl HandoverWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        let latency = terms.latency_most;
        let spacing = terms.candidates.iter().map(|limits| limits.at_most(limits.hint_spacing));
        let first_try = spacing.max().unwrap_or(0).max(2 * latency);
        let bound = latency + first_try + 4 * latency + ROUNDED * terms.tick;
        let is_promised = terms.all_are_answered_in_time();
        Self {
            bound,
            is_calm: false,
            is_promised,
            candidates: Recent::default(),
            hints_may_be_lost: terms.tick > 1,
            handed_back: None,
            due: None,
            compared: 0,
        }
    }

    fn stepped(&mut self, at: True, step: &StoreStep) {
        match (step.request, step.answer) {
            (Asked::Release { token }, Answer::Released) if self.is_calm && self.is_promised => {
                let somebody_waits = self.candidates.iter().any(|(_, asker)| asker.waits());
                self.is_settled();
                if somebody_waits && self.hints_may_be_lost {
                    self.handed_back = Some(token);
                } else if somebody_waits {
                    self.due = Some((token, at.saturating_add(self.bound)));
                }
            }
            (request, Answer::Granted { waits, .. })
                if waits || !self.is_surely_of_one_that_waits(request) =>
            {
                self.is_settled();
            }
            _ => {}
        }
    }

    fn hinted(&mut self, at: True, who: Who) {
        if self.candidates.of(who).waits()
            && let Some(token) = self.handed_back.take()
        {
            self.due = Some((token, at.saturating_add(self.bound)));
        }
    }

    /// Nothing is due any more.
    fn is_settled(&mut self) {
        (self.handed_back, self.due) = (None, None);
    }

    fn is_surely_of_one_that_waits(&self, request: Asked) -> bool {
        super::asker::waits_surely(self.candidates.iter().map(|(_, asker)| asker), request)
    }

    fn is_out(&mut self, who: Who) {
        if self.candidates.remove(who).is_some_and(|asker| asker.acquires()) {
            // Perhaps the very one that was about to lead.
            self.is_settled();
        }
    }

    fn in_time(&self, at: True) -> Result<(), String> {
        match self.due {
            Some((token, due)) if at > due => {
                Err(format!("nobody led by {:?} after token {token} was handed back", time(due)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Property for HandoverWithin {
    fn name(&self) -> &'static str {
        "handover-within"
    }

    fn compared(&self) -> u64 {
        self.compared
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::Waits, Assumption::CandidateClocks, Assumption::LossIsFinal]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        self.in_time(at)?;
        match *event {
            Event::Calm => self.is_calm = true,
            Event::Sent { who, id, request } => {
                self.candidates.of(who).sent(at, id, request, self.is_calm);
            }
            Event::Answered { who, id, answer } => self.candidates.of(who).answered(id, answer),
            Event::ResignAsked { who, .. } | Event::Crashed { who } => self.is_out(who),
            Event::Store(ref step) => self.stepped(at, step),
            Event::Hinted { who } => self.hinted(at, who),
            Event::Leads { .. } => {
                self.compared += u64::from(self.due.is_some());
                self.is_settled();
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
        Seen, answered, at, crashed, fails, grant, granted, holds, kept, leads, n, release,
        resign_asked, sent, step, terms,
    };
    use super::*;

    const ACQUIRE: Asked = Asked::Acquire { seen: 7 };

    /// A latency of 10, a spacing of 18 that takes 20: 10 + 20 + 40, and 24 ticks.
    fn property() -> HandoverWithin {
        HandoverWithin::new(&Terms { latency_most: 10, ..terms() })
    }

    /// Node 1 waits; node 0's lease is handed back at 200.
    fn handed_back() -> Vec<Seen> {
        vec![
            at(100, Event::Calm),
            at(110, sent(n(1), 1, ACQUIRE)),
            at(120, answered(n(1), 1, Answer::Held)),
            at(200, release(kept(1, 7, 900))),
        ]
    }

    fn then(what: &[Seen]) -> Vec<Seen> {
        [handed_back(), what.to_vec()].concat()
    }

    /// It asks again, and is granted the lease.
    fn tries_again() -> [Seen; 2] {
        [at(205, sent(n(1), 2, ACQUIRE)), at(210, grant(Some(kept(1, 7, 900)), kept(2, 8, 900)))]
    }

    #[test]
    fn somebody_leads_at_the_very_bound() {
        let elected = [&tries_again()[..], &[at(294, leads(n(1), 8)), Seen::End(900)]].concat();
        holds(property(), &then(&elected));
    }

    #[test]
    fn nobody_does_in_time() {
        let what = fails(property(), &then(&[at(295, leads(n(1), 8))]));
        assert_eq!(what, "nobody led by 294ns after token 7 was handed back");
        fails(property(), &then(&[&tries_again()[..], &[Seen::End(295)]].concat()));
        holds(property(), &then(&[Seen::End(294)]));
    }

    #[test]
    fn a_try_that_is_under_way_is_one_of_somebody_who_waits() {
        let mut history = then(&[Seen::End(295)]);
        history.insert(3, at(199, sent(n(1), 2, ACQUIRE)));
        fails(property(), &history);
    }

    #[test]
    fn nothing_is_due_if_nobody_waits_of_whom_all_is_known() {
        for (index, instead) in [
            // No calm; not asked in the calm; not answered, or without a word; granted.
            (0, crashed(n(3))),
            (1, crashed(n(3))),
            (2, crashed(n(3))),
            (2, Event::Answered { who: n(1), id: 1, answer: None }),
            (2, answered(n(1), 1, granted(8))),
        ] {
            let mut history = then(&[Seen::End(900)]);
            history[index] = at(110, instead);
            holds(property(), &history);
        }
        let mut history = then(&[Seen::End(900)]);
        history.insert(3, at(130, sent(n(1), 2, Asked::Release { token: 6 })));
        holds(property(), &history);
    }

    #[test]
    fn nothing_is_due_once_who_waits_is_gone_or_has_to_wait_out_a_quarantine() {
        let answer = Answer::Granted { token: 8, waits: true };
        let quarantined = step(2, ACQUIRE, answer, None, Some(kept(2, 8, 900)));
        for event in [crashed(n(1)), resign_asked(n(1), None), quarantined] {
            holds(property(), &then(&[tries_again()[0].clone(), at(210, event), Seen::End(900)]));
        }
    }

    #[test]
    fn nothing_is_due_once_somebody_else_may_have_been_granted_the_lease() {
        let [again, granted] = tries_again();
        holds(property(), &then(&[granted.clone(), Seen::End(900)]));
        let unsettled = at(205, sent(n(2), 1, ACQUIRE));
        holds(property(), &then(&[again, unsettled, granted, Seen::End(900)]));
    }

    #[test]
    fn nothing_is_promised_if_some_candidate_gives_up_too_soon() {
        let far = Terms { latency_most: 30, ..terms() };
        holds(HandoverWithin::new(&far), &then(&[Seen::End(900)]));
    }

    #[test]
    fn where_hints_may_be_lost_the_time_counts_from_the_first_that_arrives() {
        let ticking = || HandoverWithin::new(&Terms { latency_most: 10, tick: 2, ..terms() });
        holds(ticking(), &then(&[Seen::End(9_000)]));
        let hinted = |who| at(500, Event::Hinted { who: n(who) });
        // 500, and 10 + 20 + 40, and 24 ticks.
        holds(ticking(), &then(&[hinted(1), Seen::End(618)]));
        fails(ticking(), &then(&[hinted(1), Seen::End(619)]));
        // Nobody who waits was told.
        holds(ticking(), &then(&[hinted(2), Seen::End(9_000)]));
    }
}
