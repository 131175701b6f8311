//! **Theorem (section 5, G8).** A waiting candidate keeps asking: it sends its next request no
//! later than a renewal of the leader should show, or the poll bound if that is shorter, after an
//! answer that refuses it the lease, and no later than the longest retry delay after a request with
//! unknown outcome. So it sees the leader's last renewal soon, and takes over soon after a crash.
//!
//! Durations are the candidate's: by a slow clock they take up to `1 / (1 - rho)` of it. Engines
//! with ticks round up at each step of the way. A candidate that was asked to resign need not ask.
//!
//! Rests on clocks of candidates that were not put back, and on a process that lives once. From a
//! paused process, or one whose driver does not run, no request is due until it has sent its next
//! one.

use std::time::Duration;

use super::due::Due;
use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Answer, Asked, Event, Who};

/// A waiting candidate asks for the lease, or looks for its renewal, in time.
#[derive(Debug)]
pub(super) struct AsksInTime {
    terms: Terms,
    /// The latest time of each waiting candidate's next request.
    due: Due,
}

impl AsksInTime {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), due: Due::default() }
    }

    fn sent(&mut self, at: SimTime, who: Who, request: Asked, tally: &mut Tally) {
        match request {
            Asked::Acquire { .. } | Asked::Look { .. } => {
                tally.count(self.due.end(who));
                let limits = self.terms.limits_of(who);
                let waits = limits.look_interval.max(limits.retry_most);
                self.is_due(at, who, limits.request_timeout + waits);
            }
            // It leads.
            Asked::Renew { .. } => {
                self.due.end(who);
            }
            // It hands back what a request that it had given up was granted, and waits.
            Asked::Release { .. } => {}
        }
    }

    fn answered(&mut self, at: SimTime, who: Who, answer: Option<Answer>) {
        let limits = self.terms.limits_of(who);
        match answer {
            Some(Answer::Not { .. } | Answer::At { .. }) => {
                self.is_due(at, who, limits.look_interval);
            }
            None => self.is_due(at, who, limits.retry_most),
            Some(_) => {
                self.due.end(who);
            }
        }
    }

    fn is_due(&mut self, at: SimTime, who: Who, waits: Duration) {
        self.due.set(who, self.terms.latest_end(at, who, waits));
    }
}

impl Property for AsksInTime {
    fn about(&self) -> About {
        About::of(PropertyName::ASKS_IN_TIME).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        self.due.in_time(at, |who, due| Finding::NotAsked { who, due })
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Sent { who, request, .. } => self.sent(at, who, request, tally),
            Event::Answered { who, id, answer } => {
                let asker = state.asker(who);
                // A refusal may come after the request was given up. A grant that comes late may
                // be taken all the same: then its leader renews.
                let is_refusal = matches!(answer, Some(Answer::Not { .. } | Answer::At { .. }));
                let is_taken = !is_refusal || self.terms.is_taken(at, who, asker.sent_at);
                let is_last = asker.asked_last(id) && asker.campaigns().is_some();
                if is_taken && is_last && self.due.is_set(who) {
                    self.answered(at, who, answer);
                }
            }
            // It may have asked once more before its driver was told to resign.
            Event::ResignAsked { who, .. }
            | Event::Withdrawn { who, .. }
            | Event::Crashed { who } => {
                self.due.end(who);
            }
            Event::Fault { kind, node: Some(node) }
                if FaultKind::PAUSES.contains(&kind) || kind == FaultKind::Starve =>
            {
                self.due.retain(|who| who.node != node);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        NOT, Seen, answered, asks, at, compares, crashed, end, fails, given_up, granted, holds, n,
        resign_asked, sent, span, terms, withdrawn,
    };
    use super::*;

    const LOOK: Asked = Asked::Look { seen: 7 };

    /// A look after 90 takes up to 100, a retry delay of 36 up to 40, a timeout of 45 and a look up
    /// to 150; and eight ticks.
    fn judge() -> AsksInTime {
        let mut terms = terms();
        for limits in &mut terms.candidates {
            (limits.look_interval, limits.retry_most) = (span(90), span(36));
            limits.request_timeout = span(45);
        }
        AsksInTime::new(&terms)
    }

    /// An acquire at 10; these events follow.
    fn asked(then: &[Seen]) -> Vec<Seen> {
        [&[at(10, sent(n(0), 1, asks(6)))], then].concat()
    }

    /// The same, answered at 20.
    fn refused(then: &[Seen]) -> Vec<Seen> {
        asked(&[&[at(20, answered(n(0), 1, NOT))], then].concat())
    }

    fn looks(when: u64) -> Seen {
        at(when, sent(n(0), 2, LOOK))
    }

    #[test]
    fn the_next_request_counts_from_the_answer() {
        assert_eq!(compares(judge(), &refused(&[looks(128), end(128)])), 1);
        let what = fails(judge(), &refused(&[looks(129)]));
        assert_eq!(what.to_string(), "n0 waits for the lease, but has sent no request by 128ns");
        let other = at(30, sent(n(1), 2, LOOK));
        fails(judge(), &refused(&[other, end(129)]));
        let told = answered(n(0), 2, Answer::At { past_is_watched: true });
        let again = [looks(50), at(60, told)];
        holds(judge(), &refused(&[&again[..], &[end(168)]].concat()));
        fails(judge(), &refused(&[&again[..], &[end(169)]].concat()));
    }

    #[test]
    fn a_request_that_is_given_up_is_repeated() {
        let gives_up = at(60, given_up(n(0), 1));
        holds(judge(), &asked(&[gives_up.clone(), end(108)]));
        fails(judge(), &asked(&[gives_up, end(109)]));
        holds(judge(), &asked(&[end(168)]));
        fails(judge(), &asked(&[end(169)]));
    }

    /// (A stalled store: the request had been given up.)
    #[test]
    fn a_late_answer_is_not_taken() {
        // The timeout by the fastest clock is 40, less two ticks.
        for (told_at, due) in [(10 + 37, 47 + 108), (10 + 38, 168)] {
            let told = at(told_at, answered(n(0), 1, NOT));
            holds(judge(), &asked(&[told.clone(), end(due)]));
            fails(judge(), &asked(&[told, end(due + 1)]));
        }
        holds(judge(), &asked(&[at(10 + 38, answered(n(0), 1, granted(7))), end(900)]));
    }

    #[test]
    fn leaders_and_candidates_that_are_gone_need_not_ask() {
        let renews = sent(n(0), 2, Asked::Renew { token: 7 });
        for over in [answered(n(0), 1, granted(7)), renews, crashed(n(0)), resign_asked(n(0), None)]
        {
            holds(judge(), &asked(&[at(30, over), end(900)]));
        }
        fails(judge(), &refused(&[at(30, crashed(n(1))), end(129)]));
        // A request left between the order to resign and its execution (seed 1654 of turmoil).
        let resigns = [at(30, resign_asked(n(0), None)), looks(31)];
        holds(judge(), &refused(&[&resigns[..], &[at(33, withdrawn(n(0))), end(900)]].concat()));
        fails(judge(), &refused(&[&resigns[..], &[end(900)]].concat()));
    }

    #[test]
    fn a_release_beside_a_campaign_is_no_request_for_the_lease() {
        let releases = at(30, sent(n(0), 2, Asked::Release { token: 6 }));
        fails(judge(), &refused(&[releases.clone(), end(129)]));
        let gives_up = at(40, given_up(n(0), 2));
        holds(judge(), &refused(&[releases, gives_up, end(128)]));
    }

    #[test]
    fn a_paused_process_need_not_ask() {
        let fault = |kind, node| at(30, Event::Fault { kind, node: Some(node) });
        holds(judge(), &refused(&[fault(FaultKind::Pause, 0), end(900)]));
        holds(judge(), &refused(&[fault(FaultKind::Starve, 0), end(900)]));
        fails(judge(), &refused(&[fault(FaultKind::Pause, 1), end(900)]));
        fails(judge(), &refused(&[fault(FaultKind::Partition, 0), end(900)]));
        fails(judge(), &refused(&[fault(FaultKind::Pause, 0), looks(300), end(900)]));
    }

    /// A fault that stopped a process does not stop its successor (seed 2686 of turmoil).
    #[test]
    fn a_restarted_process_asks() {
        let starves = |when| at(when, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        let restarted = Who { node: 0, life: 1 };
        let asks_again = at(50, sent(restarted, 1, asks(6)));
        let again = [starves(30), at(40, crashed(n(0))), asks_again];
        fails(judge(), &refused(&[&again[..], &[end(209)]].concat()));
        holds(judge(), &refused(&[&again[..], &[starves(60), end(900)]].concat()));
    }
}
