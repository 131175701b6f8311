//! **Theorem (section 6).** Work of a tenure that has ended is polled no longer than its time to
//! drain lasts. That time is
//!
//! - the drain bound at the most, if its leader resigned;
//! - the stop margin beyond its claim at the most, if the claim ran out, or a renewal failed;
//! - nothing, if the store answered that the tenure is over, also if that answer comes while work
//!   drains.
//!
//! Durations are the candidate's: by a slow clock they take up to `1 / (1 - rho)` of it. The clock
//! is read before each poll, so a poll may begin no later than that. A process that is paused does
//! nothing wrong if it drops its work when it resumes, or completes a poll that had begun in time.
//! (Real engine, SQLite, seed 8014: the pause came in the middle of a poll.)
//!
//! Rests on clocks of candidates that were not put back, and on a process that lives once. The end
//! of a claim that was over when it was reported is not known; and a drain end that was over when
//! it was reported permits nothing.

use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms, on_fastest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, NANOSECOND, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, Who};

/// Work drains no longer than promised.
#[derive(Debug)]
pub(super) struct DrainsWithinBounds {
    terms: Terms,
    tenures: Recent<(Who, u64), Tenure>,
    /// Each candidate's last request.
    asked: Recent<Who, Request>,
    /// Nodes that were paused: the next request may have been given up when it left.
    paused: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    id: u64,
    /// The token of the tenure, if it is a renewal.
    renews: Option<u64>,
    sent_at: SimTime,
}

/// The reports of a candidate on one of its tenures.
#[derive(Clone, Copy, Debug, Default)]
struct Tenure {
    /// The end of its claim.
    claim_ends: Option<SimTime>,
    /// The end of the time for its work to drain, and the latest end that is permitted.
    drain_ends: Option<SimTime>,
    at_most: Option<SimTime>,
}

impl DrainsWithinBounds {
    pub(super) fn new(terms: &Terms) -> Self {
        let (tenures, asked) = (Recent::default(), Recent::default());
        Self { terms: terms.clone(), tenures, asked, paused: Vec::new() }
    }

    fn stepped_down(&mut self, at: SimTime, of: (Who, u64), reason: Reason) {
        let limits = self.terms.limits_of(of.0);
        let tenure = self.tenures.of(of);
        // Both ends are reported in true time, each rounded to a nanosecond. (Model seed 107252: a
        // time measured by a clock at the drift bound was a nanosecond too long.)
        let beyond = |from: SimTime, bound| from + limits.at_most(bound) + NANOSECOND;
        tenure.at_most = match reason {
            Reason::Resigned | Reason::HandedOver => Some(beyond(at, limits.drain_bound)),
            Reason::Superseded => Some(at),
            Reason::Expired | Reason::RenewFailed | Reason::Other => {
                tenure.claim_ends.map(|claim_ends| beyond(claim_ends, limits.stop_margin))
            }
        };
    }

    /// Draining work has to end, unless the candidate had given the renewal up before: with a fast
    /// clock it does so sooner. Once its claim would have ended, the candidate ignores the answer:
    /// the lease is left to end by itself, and covers the draining work.
    fn superseded(&mut self, at: SimTime, who: Who, id: u64) {
        let limits = self.terms.limits_of(who);
        let Some(&Request { id: last, renews: Some(token), sent_at }) = self.asked.get(who) else {
            return;
        };
        let waits = on_fastest_clock(limits.request_timeout, limits.drift_ppm);
        let is_awaited = id == last && at.since(sent_at) < waits;
        if is_awaited && self.terms.no_clock_too_fast {
            let tenure = self.tenures.of((who, token));
            let over = at + self.terms.tick;
            if tenure.claim_ends.is_some_and(|claim_ends| at < claim_ends) {
                tenure.drain_ends = tenure.drain_ends.map(|ends| ends.min(over));
            }
        }
    }

    fn drains(
        &mut self,
        at: SimTime,
        (who, token): (Who, u64),
        until: SimTime,
        tally: &mut Tally,
    ) -> Found {
        let tenure = self.tenures.of((who, token));
        tenure.drain_ends = Some(until);
        tally.count(tenure.at_most.is_some() && until > at);
        match tenure.at_most {
            Some(most) if until > most && until > at => {
                Err(Finding::DrainsTooLong { who, token, until, most })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Property for DrainsWithinBounds {
    fn about(&self) -> About {
        About::of(PropertyName::DRAINS_WITHIN_BOUNDS).resting_on(PROMPT)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Elected { who, token, claim_ends }
            | Event::Renewed { who, token, claim_ends } => {
                self.tenures.of((who, token)).claim_ends = (claim_ends > at).then_some(claim_ends);
            }
            Event::SteppedDown { who, token, reason, drain_ends } => {
                self.stepped_down(at, (who, token), reason);
                return self.drains(at, (who, token), drain_ends, tally);
            }
            Event::DrainMoved { who, token, drain_ends } => {
                return self.drains(at, (who, token), drain_ends, tally);
            }
            Event::Sent { who, id, request } => {
                let renews = match request {
                    Asked::Renew { token } => Some(token),
                    Asked::Acquire { .. } | Asked::Look { .. } | Asked::Release { .. } => None,
                };
                let place = self.paused.iter().position(|node| *node == who.node);
                let was_paused = place.map(|place| self.paused.swap_remove(place)).is_some();
                let renews = renews.filter(|_| !was_paused);
                self.asked.insert(who, Request { id, renews, sent_at: at });
            }
            Event::Fault { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                self.paused.push(node);
            }
            Event::Answered { who, id, answer: Some(Answer::Superseded) } => {
                self.superseded(at, who, id);
            }
            Event::WorkEnded { who, token, polled: Some(polled) } => {
                let ends = self.tenures.get((who, token)).and_then(|tenure| tenure.drain_ends);
                tally.count(ends.is_some());
                if let Some(ends) = ends.filter(|ends| *ends <= polled) {
                    return Err(Finding::PolledTooLate { who, token, ends });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, answered, at, drain_moved, drains, elected, fails, holds, n, renewed, sent, terms,
        work_dropped,
    };
    use super::*;
    use crate::plan::ns;

    fn judge() -> DrainsWithinBounds {
        DrainsWithinBounds::new(&terms())
    }

    /// A claim until 100, and a step-down at 50; these events follow.
    fn ends(reason: Reason, drain_ends: u64, then: &[Seen]) -> Vec<Seen> {
        let ended = [at(10, elected(n(0), 7, 100)), at(50, drains(n(0), 7, reason, drain_ends))];
        [&ended[..], then].concat()
    }

    /// Work that ended by itself at that time, in a poll that began then.
    fn polled(when: u64, polled: u64) -> Seen {
        at(when, Event::WorkEnded { who: n(0), token: 7, polled: Some(ns(polled)) })
    }

    #[test]
    fn each_reason_has_its_own_bound() {
        // A drain bound of 36 takes up to 40, a stop margin of 11 up to 13; and one more for
        // rounding.
        let bounds = [
            (Reason::Resigned, 91),
            (Reason::Superseded, 50),
            (Reason::Expired, 114),
            (Reason::RenewFailed, 114),
        ];
        for (reason, most) in bounds {
            holds(judge(), &ends(reason, most, &[]));
            fails(judge(), &ends(reason, most + 1, &[]));
            holds(judge(), &ends(reason, 40, &[at(50, drain_moved(n(0), 7, most))]));
            let what = fails(judge(), &ends(reason, 40, &[at(50, drain_moved(n(0), 7, most + 1))]));
            let (until, most) = (ns(most + 1), ns(most));
            assert_eq!(what, Finding::DrainsTooLong { who: n(0), token: 7, until, most });
        }
    }

    #[test]
    fn a_renewed_claim_reaches_further() {
        let history = |last| {
            [
                at(10, elected(n(0), 7, 100)),
                at(20, renewed(n(0), 7, 120)),
                at(120, drains(n(0), 7, Reason::Expired, last)),
            ]
        };
        holds(judge(), &history(134));
        fails(judge(), &history(135));
    }

    #[test]
    fn a_claim_reported_late_sets_no_bound() {
        let expires = |when, claim_ends| {
            [at(when, elected(n(0), 7, claim_ends)), at(110, drains(n(0), 7, Reason::Expired, 900))]
        };
        holds(judge(), &expires(105, 105));
        fails(judge(), &expires(105, 106));
    }

    #[test]
    fn a_drain_end_in_the_past_permits_nothing() {
        let expires = |at_ns, drain_ends| {
            let ended = at(at_ns, drains(n(0), 7, Reason::Expired, drain_ends));
            [at(10, elected(n(0), 7, 100)), ended]
        };
        holds(judge(), &expires(200, 200));
        fails(judge(), &expires(200, 201));
    }

    #[test]
    fn work_that_is_polled_after_its_drain_end() {
        let done = |when| [polled(when, when)];
        holds(judge(), &ends(Reason::Resigned, 80, &done(79)));
        let what = fails(judge(), &ends(Reason::Resigned, 80, &done(80)));
        assert_eq!(what.to_string(), "work of n0 under token 7 was still polled after 80ns");
        holds(judge(), &ends(Reason::Resigned, 80, &[at(500, work_dropped(n(0), 7))]));
        holds(judge(), &ends(Reason::Resigned, 80, &[polled(500, 79)]));
        fails(judge(), &ends(Reason::Resigned, 80, &[polled(500, 80)]));
        let moved = [at(60, drain_moved(n(0), 7, 85)), polled(84, 84)];
        holds(judge(), &ends(Reason::Resigned, 80, &moved));
        let cut = [at(60, drain_moved(n(0), 7, 60)), polled(61, 61)];
        fails(judge(), &ends(Reason::Resigned, 80, &cut));
    }

    #[test]
    fn superseded_work_is_not_polled() {
        holds(judge(), &ends(Reason::Superseded, 50, &[at(50, work_dropped(n(0), 7))]));
        fails(judge(), &ends(Reason::Superseded, 50, &[polled(50, 50)]));
    }

    #[test]
    fn work_superseded_while_draining_is_not_polled() {
        let renewal = |id| at(55, sent(n(0), id, Asked::Renew { token: 7 }));
        let refused = at(60, answered(n(0), 2, Answer::Superseded));
        let done = |when| polled(when, when);
        let drains = |then: &[Seen]| ends(Reason::Resigned, 88, then);
        holds(judge(), &drains(&[renewal(2), done(60), refused.clone()]));
        holds(judge(), &drains(&[renewal(2), refused.clone(), at(70, work_dropped(n(0), 7))]));
        let what = fails(judge(), &drains(&[renewal(2), refused.clone(), done(61)]));
        assert_eq!(what.to_string(), "work of n0 under token 7 was still polled after 61ns");
        // An answer to another request, or to one that the candidate may have given up.
        holds(judge(), &drains(&[renewal(3), refused.clone(), done(70)]));
        // (Model seed 7433561: it had been given up when it left, at the end of a pause.)
        let paused = at(51, Event::Fault { kind: FaultKind::PauseAtSend, node: Some(0) });
        holds(judge(), &drains(&[paused.clone(), renewal(2), refused.clone(), done(70)]));
        let next = [paused, renewal(1), renewal(2), refused, done(70)];
        fails(judge(), &drains(&next));
        let early = at(40, sent(n(0), 2, Asked::Renew { token: 7 }));
        let late = at(86, answered(n(0), 2, Answer::Superseded));
        holds(judge(), &[&[early], &drains(&[late, done(87)])[..]].concat());
    }

    #[test]
    fn work_that_ends_under_its_tenure() {
        holds(judge(), &[at(10, elected(n(0), 7, 100)), polled(50, 50)]);
    }
}
