//! **Theorem (G7).** Without faults, no leader loses the lead. Once a leader has been granted or
//! renewed its lease on a request that was sent in the calm, it keeps the lead: it reports no
//! step-down but a resignation that was requested, and no other candidate begins to lead before
//! that.
//!
//! A request that was sent before the calm proves nothing: its answer may have been held for so
//! long that the claim is about to end, or come from a server that was replaced. After an answer to
//! a later request the connection, the server, the lease and the claim are all as they should be,
//! and at least three attempts at the next renewal fit into the claim. Not judged: a leader whose
//! process crashes, or whose request timeout is shorter than a healthy network needs for an answer;
//! and candidates without a lead.
//!
//! Rests on clocks that keep their rates from the calm on, and on none of them having been put
//! back: a candidate's clock would still be behind the time that it has already shown. And on one
//! server at a time.

use super::{About, Found, Leader, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, Who};

/// A leader in the calm keeps the lead.
#[derive(Debug)]
pub(super) struct NoChurnWhenHealthy {
    terms: Terms,
    /// The last request that each candidate has sent in the calm.
    sent: Recent<Who, (u64, Option<Asked>)>,
    /// The token that an answer to such a request has confirmed.
    confirmed: Recent<Who, u64>,
    /// The leader that has to keep the lead, and its token.
    leader: Option<(Who, u64)>,
}

impl NoChurnWhenHealthy {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            terms: terms.clone(),
            sent: Recent::default(),
            confirmed: Recent::default(),
            leader: None,
        }
    }

    fn answered(&mut self, who: Who, id: u64, answer: Answer) {
        let Some(&(last, Some(request))) = self.sent.get(who) else { return };
        if last != id {
            return;
        }
        match (request, answer) {
            (Asked::Acquire { .. }, Answer::Granted { token })
            | (Asked::Renew { token }, Answer::Renewed { .. }) => *self.confirmed.of(who) = token,
            _ => {}
        }
    }

    fn keeps_leading(&mut self, who: Who, token: u64, tally: &mut Tally) {
        if self.confirmed.get(who) == Some(&token) && self.terms.is_answered_in_time(who) {
            tally.count(self.leader == Some((who, token)));
            self.leader = Some((who, token));
        }
    }

    fn may_end(&mut self, who: Who) {
        self.leader = self.leader.filter(|(leader, _)| *leader != who);
        // Later answers to requests in flight confirm nothing any more.
        self.sent.remove(who);
        self.confirmed.remove(who);
    }
}

impl Property for NoChurnWhenHealthy {
    fn about(&self) -> About {
        About::of(PropertyName::NO_CHURN_WHEN_HEALTHY).resting_on(&[
            Assumption::CandidateClocks,
            Assumption::Waits,
            Assumption::LossIsFinal,
            Assumption::Processor,
        ])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        if !state.is_calm() {
            return Ok(());
        }
        match *event {
            Event::Sent { who, id, request } => *self.sent.of(who) = (id, Some(request)),
            Event::Answered { who, id, answer: Some(answer) } => self.answered(who, id, answer),
            Event::Elected { who, token, .. } | Event::Renewed { who, token, .. } => {
                self.keeps_leading(who, token, tally);
            }
            Event::ResignAsked { who, .. }
            | Event::Crashed { who }
            | Event::SteppedDown { who, reason: Reason::HandedOver, .. } => self.may_end(who),
            Event::SteppedDown { who, token, reason, .. } if self.leader == Some((who, token)) => {
                return Err(Finding::LeadLost { who, token, reason });
            }
            Event::Leads { who, token } => {
                if let Some((leader, safe)) = self.leader
                    && leader != who
                {
                    return Err(Finding::LeadTaken {
                        by: Leader { who, token },
                        from: Leader { who: leader, token: safe },
                    });
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
        RENEWED, Seen, answered, asks, at, crashed, elected, fails, granted, holds, leads, n,
        renewed, resign_asked, sent, span, stepped_down, terms,
    };
    use super::*;
    use crate::plan::ns;

    const RENEW: Asked = Asked::Renew { token: 7 };

    fn property() -> NoChurnWhenHealthy {
        NoChurnWhenHealthy::new(&terms())
    }

    /// Node 0 leads, and renews its lease in the calm: the request leaves at `sent_at`.
    fn renewed_in_the_calm(sent_at: u64) -> Vec<Seen> {
        let mut history = vec![
            at(5, elected(n(0), 7, 90)),
            at(10, Event::Calm),
            at(sent_at, sent(n(0), 3, RENEW)),
            at(30, answered(n(0), 3, RENEWED)),
            at(30, renewed(n(0), 7, 120)),
        ];
        history.sort_by_key(|seen| if let Seen::Event(at, _) = seen { *at } else { ns(0) });
        history
    }

    fn then(sent_at: u64, event: Event) -> Vec<Seen> {
        [renewed_in_the_calm(sent_at), vec![at(130, event)]].concat()
    }

    #[test]
    fn losing_the_lead_in_the_calm() {
        for reason in [Reason::Expired, Reason::Superseded, Reason::Resigned] {
            let end = stepped_down(n(0), 7, reason);
            fails(property(), &then(11, end.clone()));
            holds(property(), &then(9, end));
        }
    }

    #[test]
    fn another_candidate_takes_the_lead() {
        fails(property(), &then(11, leads(n(1), 8)));
        holds(property(), &then(11, leads(n(0), 8)));
    }

    #[test]
    fn a_leader_elected_in_the_calm_stays() {
        let history = [
            at(10, Event::Calm),
            at(11, sent(n(0), 3, asks(0))),
            at(12, answered(n(0), 3, granted(7))),
            at(12, elected(n(0), 7, 100)),
            at(90, stepped_down(n(0), 7, Reason::Expired)),
        ];
        fails(property(), &history);
    }

    #[test]
    fn requested_resignations_and_crashes_end_the_lead() {
        let end = at(140, stepped_down(n(0), 7, Reason::Resigned));
        for because in [resign_asked(n(0), None), crashed(n(0))] {
            let ends = vec![end.clone(), at(150, leads(n(1), 8))];
            holds(property(), &[then(11, because), ends].concat());
        }
        let another = then(11, resign_asked(n(1), None));
        fails(property(), &[another, vec![end]].concat());
    }

    #[test]
    fn short_request_timeouts_are_not_judged() {
        let far = Terms { latency_most: span(30), ..terms() };
        let history = then(11, stepped_down(n(0), 7, Reason::Expired));
        holds(NoChurnWhenHealthy::new(&far), &history);
    }

    #[test]
    fn a_refusal_confirms_nothing() {
        let mut history = then(11, stepped_down(n(0), 7, Reason::Superseded));
        history[3] = at(30, answered(n(0), 3, Answer::Superseded));
        holds(property(), &history);
    }
}
