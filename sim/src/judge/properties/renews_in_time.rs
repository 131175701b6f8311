//! **Theorem (section 5, G7).** A leader keeps renewing: it sends a renewal no later than the renew
//! interval after the request that its claim rests on, and no later than the request timeout and
//! the longest retry delay after a renewal with unknown outcome, for as long as its claim holds. So
//! a short fault costs no lead.
//!
//! Durations are the candidate's: by a slow clock they take up to `1 / (1 - rho)` of it. Engines
//! with ticks round up at each step of the way. A leader is a candidate that answers so: no renewal
//! is due after its claim has ended.
//!
//! Rests on clocks of candidates that were not put back, and on a process that lives once. From a
//! paused process, or one whose driver does not run, no renewal is due until it has sent its next
//! one.

use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Asked, Event, Who};

/// A leader renews its lease in time.
#[derive(Debug)]
pub(super) struct RenewsInTime {
    terms: Terms,
    /// The time and the kind of each candidate's last request.
    sent: Recent<Who, Option<(SimTime, Asked)>>,
    /// The latest time of each leader's next renewal, if that is known.
    due: Recent<Who, Option<SimTime>>,
}

impl RenewsInTime {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), sent: Recent::default(), due: Recent::default() }
    }

    /// The latest time of the next renewal after that request.
    fn next(&self, at: SimTime, who: Who, request: Asked) -> SimTime {
        let limits = self.terms.limits_of(who);
        let takes = match request {
            // It leads because of this request, so the answer has arrived.
            Asked::Acquire { .. } | Asked::Look { .. } | Asked::Release { .. } => {
                limits.renew_interval
            }
            Asked::Renew { .. } => {
                let again = limits.request_timeout + limits.retry_most;
                limits.renew_interval.max(again)
            }
        };
        self.terms.latest_end(at, who, takes)
    }

    fn leads(&mut self, at: SimTime, who: Who) {
        // After a quarantine the renewal may be due at once.
        let at_once = at + self.terms.rounding();
        let due = self.sent.get(who).copied().flatten();
        let due = due.map(|(sent, request)| self.next(sent, who, request).max(at_once));
        self.due.insert(who, due);
    }

    fn sent(&mut self, at: SimTime, who: Who, request: Asked, tally: &mut Tally) {
        self.sent.insert(who, Some((at, request)));
        if matches!(request, Asked::Renew { .. })
            && let Some(due) = self.due.get(who)
        {
            tally.count(due.is_some());
            let due = self.next(at, who, request);
            self.due.insert(who, Some(due));
        }
    }
}

impl Property for RenewsInTime {
    fn about(&self) -> About {
        About::of(PropertyName::RENEWS_IN_TIME).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        for (who, due) in self.due.iter() {
            if let Some(due) = due.filter(|due| at > *due) {
                return Err(Finding::NoRenewal { who: *who, due });
            }
        }
        Ok(())
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Leads { who, .. } => self.leads(at, who),
            Event::Fault { kind, node: Some(node) }
                if FaultKind::PAUSES.contains(&kind) || kind == FaultKind::Starve =>
            {
                let stops = self.due.iter_mut().filter(|(who, _)| who.node == node);
                stops.for_each(|(_, due)| *due = None);
                let stops = self.sent.iter_mut().filter(|(who, _)| who.node == node);
                stops.for_each(|(_, sent)| *sent = None);
            }
            Event::LeadsNoMore { who } | Event::Crashed { who } => {
                self.due.remove(who);
            }
            Event::Sent { who, request, .. } => self.sent(at, who, request, tally),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, asks, at, crashed, end, fails, holds, leads, leads_no_more, n, sent, span, terms,
    };
    use super::*;

    /// An interval of 90 takes up to 100, a timeout and a retry delay of 72 up to 80; and eight
    /// ticks.
    fn judge() -> RenewsInTime {
        RenewsInTime::new(&terms())
    }

    fn renew(when: u64) -> Seen {
        at(when, sent(n(0), 2, Asked::Renew { token: 7 }))
    }

    /// A grant by a request that was sent at 10, and a lead from 20 on; these events follow.
    fn led(then: &[Seen]) -> Vec<Seen> {
        let begins = [at(10, sent(n(0), 1, asks(6))), at(20, leads(n(0), 7))];
        [&begins[..], then].concat()
    }

    #[test]
    fn the_first_renewal_counts_from_the_acquire() {
        holds(judge(), &led(&[renew(118), end(118)]));
        let what = fails(judge(), &led(&[renew(119)]));
        assert_eq!(what.to_string(), "n0 leads, but has sent no renewal by 118ns");
        fails(judge(), &led(&[end(119)]));
        fails(judge(), &led(&[at(30, sent(n(1), 2, Asked::Renew { token: 7 })), end(119)]));
    }

    #[test]
    fn later_renewals_count_from_the_one_before() {
        holds(judge(), &led(&[renew(50), renew(158), end(266)]));
        fails(judge(), &led(&[renew(50), renew(158), end(267)]));
    }

    #[test]
    fn a_long_wait_for_an_answer_counts() {
        let mut slow = terms();
        slow.candidates.iter_mut().for_each(|limits| limits.retry_most = span(58));
        // 108 take up to 120.
        let judge = || RenewsInTime::new(&slow);
        holds(judge(), &led(&[renew(50), end(178)]));
        fails(judge(), &led(&[renew(50), end(179)]));
    }

    #[test]
    fn a_former_leader_need_not_renew() {
        for over in [leads_no_more(n(0)), crashed(n(0))] {
            holds(judge(), &led(&[at(100, over), end(900)]));
        }
        fails(judge(), &led(&[at(100, leads_no_more(n(1))), end(900)]));
        // A renewal for draining work is sent by a former leader.
        holds(judge(), &led(&[at(100, leads_no_more(n(0))), renew(101), end(900)]));
    }

    #[test]
    fn a_paused_process_need_not_renew() {
        let stops = |node| at(60, Event::Fault { kind: FaultKind::Pause, node: Some(node) });
        holds(judge(), &led(&[stops(0), end(900)]));
        fails(judge(), &led(&[stops(0), renew(300), end(409)]));
        fails(judge(), &led(&[stops(1), end(900)]));
        // Nor after it resumes and leads: its last request may have failed meanwhile.
        let asks = at(10, sent(n(0), 1, asks(6)));
        let pauses = at(20, Event::Fault { kind: FaultKind::Pause, node: Some(0) });
        holds(judge(), &[asks, pauses, at(20, leads(n(0), 7)), end(900)]);
        let other = at(60, Event::Fault { kind: FaultKind::Partition, node: Some(0) });
        fails(judge(), &led(&[other, end(900)]));
    }

    #[test]
    fn after_a_quarantine_a_renewal_is_due_soon() {
        let begins = [at(10, sent(n(0), 1, asks(6))), at(500, leads(n(0), 7))];
        holds(judge(), &[&begins[..], &[renew(508)]].concat());
        fails(judge(), &[&begins[..], &[renew(509)]].concat());
    }
}
