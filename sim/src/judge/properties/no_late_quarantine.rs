//! **Theorem (G8, after a restart).** A past is watched once. A candidate that has been told of a
//! past, and asks for the lease or renews it `max(longest TTL, longest quarantine) / (1 - rho)` of
//! true time later, is not told of it again: that request has told the store that it was watched.
//! So a restart costs a quarantine soon after it, but none at a handover much later.
//!
//! Another server begins another past, and so does an acquire of a candidate that knows a higher
//! token than the store; a candidate whose machine was suspended begins its watches anew. Readings
//! are rounded down: two ticks are allowed.
//!
//! Rests on clocks of candidates that are not slow and were not put back, on one server at a time,
//! and on a process that lives once.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_slowest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, FaultKind, SimTime};
use crate::trace::{Answer, Asked, Event, Who};

/// Nobody watches a past for longer than it must.
#[derive(Debug)]
pub(super) struct NoLateQuarantine {
    bound: Duration,
    terms: Terms,
    /// Since when each candidate has known of the present past.
    told: Recent<Who, SimTime>,
    /// The last request of each candidate since that past began.
    sent: Recent<Who, Sent>,
    /// The candidates that have stepped down, and may still keep a lease while their work ends.
    ended: Recent<Who, ()>,
    /// Nodes that were paused: the next answer may be to a request that was given up, and is not
    /// taken then.
    paused: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    id: u64,
    at: SimTime,
    /// True if it tells the store what the candidate has watched.
    tells: bool,
}

impl NoLateQuarantine {
    pub(super) fn new(terms: &Terms) -> Self {
        let drifts = terms.candidates.iter().map(|limits| limits.drift_ppm);
        let waits = terms.longest_ttl.max(terms.longest_quarantine);
        let bound = on_slowest_clock(waits, drifts.max().unwrap_or(0)) + 2 * terms.tick;
        let (told, sent, ended) = (Recent::default(), Recent::default(), Recent::default());
        Self { bound, terms: terms.clone(), told, sent, ended, paused: Vec::new() }
    }

    /// The store has another past: answers to requests that were sent before tell of either.
    fn begins_anew(&mut self) {
        (self.told, self.sent) = (Recent::default(), Recent::default());
    }

    fn answered(
        &mut self,
        at: SimTime,
        (who, id): (Who, u64),
        answer: Answer,
        tally: &mut Tally,
    ) -> Found {
        let Some(past_is_watched) = answer.past_is_watched() else { return Ok(()) };
        let sent = self.sent.get(who).copied().filter(|sent| sent.id == id);
        let Some(sent) = sent else { return Ok(()) };
        if let Some(place) = self.paused.iter().position(|node| *node == who.node) {
            self.paused.swap_remove(place);
            return Ok(());
        }
        if let Some(&since) = self.told.get(who) {
            let is_late = sent.tells && sent.at > since + self.bound;
            tally.count(is_late);
            if is_late && !past_is_watched {
                return Err(Finding::LateQuarantine { who, since });
            }
        }
        if past_is_watched {
            self.told.remove(who);
        } else if self.told.get(who).is_none() && self.terms.is_taken(at, who, sent.at) {
            self.told.insert(who, at);
        }
        Ok(())
    }
}

impl Property for NoLateQuarantine {
    fn about(&self) -> About {
        About::of(PropertyName::NO_LATE_QUARANTINE).resting_on(&[
            Assumption::CandidateClocks,
            Assumption::LossIsFinal,
            Assumption::OneMemory,
        ])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Sent { who, id, request } => {
                let renews = matches!(request, Asked::Renew { .. });
                let tells = renews || matches!(request, Asked::Acquire { .. });
                // The answer is not taken if the claim has ended by then.
                if renews && self.ended.get(who).is_some() {
                    self.sent.remove(who);
                } else {
                    self.sent.insert(who, Sent { id, at, tells });
                }
            }
            Event::Elected { who, .. } => {
                self.ended.remove(who);
            }
            Event::Answered { who, id, answer: Some(answer) } => {
                return self.answered(at, (who, id), answer, tally);
            }
            Event::StoreCrashed { .. } | Event::Elsewhere { knew_more: true, .. } => {
                self.begins_anew();
            }
            Event::Store(ref step) => {
                let last = step.before.map_or(0, |record| record.token);
                if let Asked::Acquire { seen, .. } = step.request
                    && seen > last
                {
                    self.begins_anew();
                }
            }
            Event::Fault { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                self.told.retain(|who| who.node != node);
                self.paused.push(node);
            }
            // It may not take the answer to the renewal that was under way.
            Event::SteppedDown { who, .. } => {
                self.sent.remove(who);
                self.ended.insert(who, ());
            }
            // Nor does it take the answer to a look for a lease that it does not want any more.
            Event::ResignAsked { who, .. }
                if self.sent.get(who).is_some_and(|sent| !sent.tells) =>
            {
                self.sent.remove(who);
            }
            // A process may begin with another candidate, after one has left: that one has watched
            // nothing.
            Event::Crashed { who } | Event::Started { who } => {
                self.told.remove(who);
                self.sent.remove(who);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, answered, at, compares, crashed, fails, holds, n, refuse, resign_asked, sent, span,
        stepped_down, store_crashed, terms,
    };
    use super::*;
    use crate::trace::Reason;

    const ASKS: Asked = Asked::Acquire { seen: 7, watched: None };
    const TOLD: Answer = Answer::Not { past_is_watched: false };

    /// A request timeout of 50 on the fastest clock, less two ticks.
    const WAITS: u64 = 43;

    /// 90 at a tenth of drift, and two ticks: 102.
    fn property() -> NoLateQuarantine {
        let terms = Terms { longest_ttl: span(63), longest_quarantine: span(90), ..terms() };
        NoLateQuarantine::new(&terms)
    }

    /// Told at 1,000, and once more in the answer to a request that was sent at that time.
    fn told_again(between: &[Event], sent_at: u64, request: Asked, answer: Answer) -> Vec<Seen> {
        let mut history = vec![at(990, sent(n(0), 1, ASKS)), at(1_000, answered(n(0), 1, TOLD))];
        history.extend(between.iter().map(|event| at(1_001, event.clone())));
        history.push(at(sent_at, sent(n(0), 2, request)));
        history.push(at(sent_at + 10, answered(n(0), 2, answer)));
        history
    }

    #[test]
    fn a_past_that_was_watched_for_long_enough_is_told_again() {
        holds(property(), &told_again(&[], 1_102, ASKS, TOLD));
        let what = fails(property(), &told_again(&[], 1_103, ASKS, TOLD));
        assert_eq!(
            what.to_string(),
            "n0 is told to watch the store's past, which it has watched since 1µs"
        );
        let renews = (Asked::Renew { token: 7 }, Answer::Renewed { past_is_watched: false });
        fails(property(), &told_again(&[], 1_103, renews.0, renews.1));
    }

    #[test]
    fn answers_that_keep_the_promise_are_counted() {
        let watched = Answer::Not { past_is_watched: true };
        assert_eq!(compares(property(), &told_again(&[], 1_103, ASKS, watched)), 1);
        assert_eq!(compares(property(), &told_again(&[], 1_102, ASKS, watched)), 0);
    }

    /// (Model seed 16309: the request had been given up when it left, at the end of the pause.)
    #[test]
    fn the_first_answer_after_a_pause_may_not_be_taken() {
        let paused = at(980, Event::Fault { kind: FaultKind::PauseAtSend, node: Some(0) });
        let told = |sent_at| [vec![paused.clone()], told_again(&[], sent_at, ASKS, TOLD)].concat();
        holds(property(), &told(1_103));
        let third = |sent_at| {
            vec![at(sent_at, sent(n(0), 3, ASKS)), at(sent_at + 10, answered(n(0), 3, TOLD))]
        };
        holds(property(), &[told(1_103), third(1_113 + 102)].concat());
        fails(property(), &[told(1_103), third(1_113 + 103)].concat());
    }

    /// (Model seed 18306: the store had stalled.)
    #[test]
    fn a_late_answer_is_not_taken() {
        let late = |told_at| {
            let told = at(told_at, answered(n(0), 1, TOLD));
            let again = [at(1_203, sent(n(0), 2, ASKS)), at(1_213, answered(n(0), 2, TOLD))];
            [vec![at(990, sent(n(0), 1, ASKS)), told], again.to_vec()].concat()
        };
        holds(property(), &late(990 + WAITS));
        fails(property(), &late(990 + WAITS - 1));
    }

    /// (Model seed 5164008: it was asked to leave before it was told.)
    #[test]
    fn the_answer_after_a_step_down_may_not_be_taken() {
        let stepped_down = at(999, stepped_down(n(0), 7, Reason::Resigned));
        let mut history = told_again(&[], 1_103, ASKS, TOLD);
        fails(property(), &history);
        history.insert(1, stepped_down);
        holds(property(), &history);
    }

    /// (Model seed 7406238: the claim had ended before the answer came.)
    #[test]
    fn an_answer_to_ending_work_may_not_be_taken() {
        let (renews, told) =
            (Asked::Renew { token: 7 }, Answer::Renewed { past_is_watched: false });
        let renewal = [at(990, sent(n(0), 1, renews)), at(1_000, answered(n(0), 1, told))];
        let asks = [at(1_103, sent(n(0), 2, ASKS)), at(1_113, answered(n(0), 2, TOLD))];
        let ends = [at(900, stepped_down(n(0), 7, Reason::Resigned))];
        fails(property(), &[&renewal[..], &asks[..]].concat());
        holds(property(), &[&ends[..], &renewal[..], &asks[..]].concat());
    }

    /// (Model seed 284539: it was asked to leave before it was told.)
    #[test]
    fn the_answer_to_a_look_after_a_resignation_is_not_taken() {
        let asks = [at(1_103, sent(n(0), 2, ASKS)), at(1_113, answered(n(0), 2, TOLD))];
        let (look, told) = (Asked::Look { seen: 7 }, Answer::At { past_is_watched: false });
        for (request, told, is_taken) in [(look, told, false), (ASKS, TOLD, true)] {
            let begins = [at(990, sent(n(0), 1, request)), at(995, resign_asked(n(0), None))];
            let history = [&begins[..], &[at(1_000, answered(n(0), 1, told))], &asks[..]].concat();
            if is_taken {
                fails(property(), &history);
            } else {
                holds(property(), &history);
            }
        }
    }

    #[test]
    fn a_look_tells_the_store_nothing() {
        let (look, at) = (Asked::Look { seen: 7 }, Answer::At { past_is_watched: false });
        holds(property(), &told_again(&[], 1_103, look, at));
    }

    #[test]
    fn another_past_is_watched_anew() {
        let knew_more = Event::Elsewhere { server: 0, knew_more: true };
        let lost = refuse(2, Asked::Acquire { seen: 9, watched: None }, TOLD, None);
        let suspended = Event::Fault { kind: FaultKind::Suspend, node: Some(0) };
        let started = Event::Started { who: n(0) };
        for event in [store_crashed(true), knew_more, lost, suspended, crashed(n(0)), started] {
            holds(property(), &told_again(&[event], 1_103, ASKS, TOLD));
        }
        let elsewhere = Event::Elsewhere { server: 0, knew_more: false };
        fails(property(), &told_again(&[elsewhere], 1_103, ASKS, TOLD));
    }
}
