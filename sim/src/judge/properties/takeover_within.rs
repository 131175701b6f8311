//! **Theorem (G8).** In the calm, and outside a quarantine, a candidate leads soon after a leader has stopped renewing
//! without handing its lease back, as a crashed leader does, if another candidate waits for it: from the first answer
//! that shows the waiting candidate the lease's last mark, within
//!
//! - the TTL, for which it watches the mark, and a jitter by which waiting candidates spread their requests, both on the
//!   slowest clock;
//! - a round trip for the request, and one for a request in flight.
//!
//! Engines with ticks round up at every step of the way, so two dozen of their ticks are allowed.
//!
//! The time counts from the first answer in the calm that shows the record that the store still has. A
//! renewal or a release makes it void, and so does a past that is not watched yet, a candidate that knows of a lost
//! tenure, or a grant to a process that is
//! not known to wait; and nothing is due if some candidate's request timeout is shorter
//! than a healthy network needs for an answer, or if settings contradict each other: then a lease is watched for longer.
//! `handover-within` is the same theorem for leases that were handed back.
//!
//! Rests on clocks that are not stepped, and on one server at a time.

use std::time::Duration;

use super::due::Due;
use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_slowest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Event, Mark, StoreStep, Who};

/// The number of steps of an engine that may each end a tick later.
const ROUNDED: u32 = 24;

/// A lease that has ended is soon granted to a waiting candidate, which leads.
#[derive(Debug)]
pub(super) struct TakeoverWithin {
    terms: Terms,
    /// Whether every candidate gets its answers in time, if there are no faults, and watches no lease for longer than a
    /// TTL.
    is_promised: bool,
    /// The mark that each candidate has seen, while something is due.
    seen: Recent<Who, Option<Mark>>,
    /// The latest time for the next lead after the first answer that showed a candidate the lease's mark.
    due: Due,
}

impl TakeoverWithin {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            terms: terms.clone(),
            is_promised: terms.all_are_answered_in_time() && terms.settings_agree(),
            seen: Recent::default(),
            due: Due::default(),
        }
    }

    fn answered(
        &mut self,
        at: SimTime,
        (who, id): (Who, u64),
        answer: Option<Answer>,
        state: &State,
    ) {
        let mut asker = state.asker(who);
        asker.answered(id, answer);
        if !asker.asked_last(id) {
            return;
        }
        let shown = state.record().filter(|kept| {
            let is_present = asker.is_settled && asker.sent_at > state.changed_at();
            is_present && !kept.released && asker.campaigns().is_some_and(|seen| seen <= kept.token)
        });
        match (answer, shown) {
            (Some(Answer::Granted { .. }), _) => {}
            (
                Some(Answer::Not { past_is_watched: true } | Answer::At { past_is_watched: true }),
                Some(kept),
            ) if self.is_promised => {
                if self.seen.insert(who, Some(kept.mark)) != Some(Some(kept.mark)) {
                    self.due.set(who, at + self.taken_up(who));
                }
            }
            _ => {
                self.due.end(who);
                self.seen.remove(who);
            }
        }
    }

    /// The longest time from the first answer that shows the last mark to the next lead.
    fn taken_up(&self, who: Who) -> Duration {
        let terms = &self.terms;
        let limits = terms.limits_of(who);
        let waits = terms.longest_ttl + terms.longest_jitter;
        on_slowest_clock(waits, limits.drift_ppm) + 4 * terms.latency_most + ROUNDED * terms.tick
    }

    fn stepped(&mut self, step: &StoreStep, state: &State) {
        let is_taken_up = match step.answer {
            Answer::Granted { .. } => state.is_from_waiting(step.request),
            _ => false,
        };
        if step.after != state.record() && !is_taken_up {
            self.nothing_is_due();
        }
    }

    fn nothing_is_due(&mut self) {
        self.due.retain(|_| false);
        self.seen = Recent::default();
    }
}

impl Property for TakeoverWithin {
    fn about(&self) -> About {
        About::of(PropertyName::TAKEOVER_WITHIN).timed().resting_on(&[
            Assumption::Waits,
            Assumption::CandidateClocks,
            Assumption::LossIsFinal,
            Assumption::Processor,
        ])
    }

    fn in_time(&self, at: SimTime, state: &State) -> Found {
        match self.due.missed(at) {
            Some((who, due)) if state.leaders().is_empty() => Err(Finding::NoTakeover { who, due }),
            Some(_) | None => Ok(()),
        }
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Answered { who, id, answer } => self.answered(at, (who, id), answer, state),
            Event::ResignAsked { who, .. } | Event::Crashed { who } => {
                // It may be the one that was about to lead.
                if state.asker(who).campaigns().is_some() {
                    self.nothing_is_due();
                }
                self.due.end(who);
                self.seen.remove(who);
            }
            Event::Store(ref step) => self.stepped(step, state),
            Event::Leads { .. } => {
                tally.count(self.due.keys().next().is_some() && state.leaders().is_empty());
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
        Seen, answered, at, compares, crashed, end, fails, grant, holds, kept, leads, millis, n,
        release, renew, resign_asked, sent, step, terms,
    };
    use super::super::{Limits, Terms};
    use super::*;
    use crate::trace::{Asked, Kept};

    const ACQUIRE: Asked = Asked::Acquire { seen: 7 };

    /// A latency of 1 ms, and clocks that may be off by a tenth.
    fn of(latency_ms: u64, poll_bound_ms: u64) -> TakeoverWithin {
        let limits = Limits {
            drift_ppm: 100_000,
            poll_bound: Duration::from_millis(poll_bound_ms),
            request_timeout: Duration::from_millis(10),
            ..Limits::default()
        };
        let terms = Terms {
            candidates: vec![limits; 4],
            latency_most: Duration::from_millis(latency_ms),
            ..terms()
        };
        TakeoverWithin::new(&terms)
    }

    fn property() -> TakeoverWithin {
        of(1, 1_000)
    }

    fn lease() -> Kept {
        kept(1, 7, millis(200))
    }

    /// Node 0 holds a lease until 200 ms and has crashed. Node 1 asks at 110 ms, and gets its answer at 112 ms: 90 ms
    /// are left, which are 99 by a fast store, and 104 with the jitter; a slow candidate takes
    /// 115,555,556 ns for that; and the request takes 2 ms.
    fn waits() -> Vec<Seen> {
        vec![
            at(0, grant(None, lease())),
            at(millis(100), Event::Calm),
            at(millis(110), sent(n(1), 1, ACQUIRE)),
            at(millis(112), answered(n(1), 1, Answer::Held)),
        ]
    }

    const DUE: u64 = millis(112) + 115_555_556 + millis(2) + 24;

    fn then(what: &[Seen]) -> Vec<Seen> {
        [waits(), what.to_vec()].concat()
    }

    /// It asks again, and is granted the lease.
    fn tries_again() -> [Seen; 2] {
        let granted = grant(Some(lease()), kept(2, 8, millis(500)));
        [at(millis(215), sent(n(1), 2, ACQUIRE)), at(millis(216), granted)]
    }

    #[test]
    fn a_leader_at_the_bound() {
        let elected = [&tries_again()[..], &[at(DUE, leads(n(1), 8)), end(millis(900))]];
        assert_eq!(compares(property(), &then(&elected.concat())), 1);
    }

    #[test]
    fn a_leader_after_the_bound() {
        let what = fails(property(), &then(&[at(DUE + 1, leads(n(1), 8))]));
        assert_eq!(
            what.to_string(),
            "no candidate led by 229.55558ms, though the lease that n1 waits for has ended"
        );
        fails(property(), &then(&[&tries_again()[..], &[end(DUE + 1)]].concat()));
        assert_eq!(compares(property(), &then(&[end(DUE)])), 0);
    }

    #[test]
    fn a_shorter_poll_bound_is_due_sooner() {
        // 54 ms take a slow candidate 60.
        let due = millis(112) + millis(60) + millis(2) + 24;
        holds(of(1, 54), &then(&[end(due)]));
        fails(of(1, 54), &then(&[end(due + 1)]));
    }

    #[test]
    fn the_newest_answer_counts() {
        let again = [
            at(millis(205), sent(n(1), 2, ACQUIRE)),
            at(millis(207), answered(n(1), 2, Answer::Held)),
        ];
        // 1 ms at the least, and 5: 6.666667 ms.
        let due = millis(207) + 6_666_667 + millis(2) + 24;
        holds(property(), &then(&[&again[..], &[end(due)]].concat()));
        fails(property(), &then(&[&again[..], &[end(due + 1)]].concat()));
    }

    #[test]
    fn a_leader_that_keeps_the_lead_counts() {
        let leads = at(millis(111), leads(n(0), 7));
        let [asks, answer] = [waits()[2].clone(), waits()[3].clone()];
        let history = |then: &[Seen]| {
            let begins = [at(0, grant(None, lease())), at(millis(100), Event::Calm)];
            [&begins[..], &[asks.clone(), leads.clone(), answer.clone()], then].concat()
        };
        holds(property(), &history(&[end(millis(900))]));
        for over in [Event::LeadsNoMore { who: n(0) }, crashed(n(0))] {
            fails(property(), &history(&[at(millis(190), over), end(millis(900))]));
        }
    }

    #[test]
    fn an_answer_about_an_old_record_is_ignored() {
        let mut history = then(&[end(millis(900))]);
        history.insert(3, at(millis(111), renew(lease(), millis(250))));
        holds(property(), &history);
    }

    #[test]
    fn nothing_is_due_after_renewals_or_releases() {
        for change in [renew(lease(), millis(400)), release(lease())] {
            holds(property(), &then(&[at(millis(150), change), end(millis(900))]));
        }
    }

    #[test]
    fn nothing_is_due_without_a_known_waiting_candidate() {
        for (index, instead) in [
            // No calm; no request in the calm; no answer; a failed request.
            (1, crashed(n(3))),
            (2, crashed(n(3))),
            (3, crashed(n(3))),
            (3, Event::Answered { who: n(1), id: 1, answer: None }),
        ] {
            let mut history = then(&[end(millis(900))]);
            history[index] = at(millis(110), instead);
            holds(property(), &history);
        }
    }

    #[test]
    fn nothing_is_due_after_crashes_or_other_grants() {
        let [again, granted] = tries_again();
        for event in [crashed(n(1)), resign_asked(n(1), None)] {
            let gone = at(millis(216), event);
            holds(property(), &then(&[again.clone(), gone, end(millis(900))]));
        }
        holds(property(), &then(&[granted.clone(), end(millis(900))]));
        let answer = Answer::Granted { token: 8, waits: true };
        let quarantined = step(2, ACQUIRE, answer, Some(lease()), Some(kept(2, 8, millis(500))));
        holds(property(), &then(&[again, at(millis(216), quarantined), end(millis(900))]));
    }

    #[test]
    fn nothing_is_promised_with_a_short_request_timeout() {
        holds(of(6, 1_000), &then(&[end(millis(900))]));
    }
}
