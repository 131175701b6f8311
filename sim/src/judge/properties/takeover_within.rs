//! **Theorem (G8).** In the calm, and outside a quarantine, a candidate leads soon after a leader
//! has stopped renewing without handing its lease back, as a crashed leader does, if another
//! candidate waits for it: from the first answer that shows the waiting candidate the lease's last
//! mark, within
//!
//! - the TTL, for which it watches the mark, and a jitter by which waiting candidates spread their
//!   requests, both on the slowest clock;
//! - a round trip for the request, and one for a request in flight.
//!
//! Engines with ticks round up at every step of the way, so two dozen of their ticks are allowed.
//!
//! The time counts from the first answer in the calm that shows the record that the store still
//! has. A renewal or a release makes it void, and so does a past that is not watched yet, a
//! candidate that knows of a lost tenure, or a grant to a process that is not known to wait; and
//! nothing is due if some candidate's request timeout is shorter than a healthy network needs for
//! an answer, or if settings contradict each other: then a lease is watched for longer.
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
    /// True if every candidate gets its answers in time, if there are no faults, and watches no
    /// lease for longer than a TTL.
    is_promised: bool,
    /// The mark that each candidate has seen, while something is due.
    seen: Recent<Who, Option<Mark>>,
    /// The latest time for the next lead after the first answer that showed a candidate the lease's
    /// mark.
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
        NOT, Seen, answered, asks, at, compares, crashed, end, fails, grant, holds, kept, leads,
        millis, n, refuse, release, renew, resign_asked, sent, terms,
    };
    use super::super::{Limits, Terms};
    use super::*;
    use crate::trace::{Asked, Kept};

    const ACQUIRE: Asked = asks(7);

    /// A TTL of 90 ms and a jitter of 5 ms, clocks that may be off by a tenth, and a latency of 1
    /// ms.
    fn with(changes: impl FnOnce(&mut Terms)) -> TakeoverWithin {
        let limits = Limits {
            drift_ppm: 100_000,
            request_timeout: Duration::from_millis(10),
            ..Limits::default()
        };
        let mut terms = Terms {
            candidates: vec![limits; 4],
            quarantine: Duration::from_millis(90),
            longest_ttl: Duration::from_millis(90),
            longest_jitter: Duration::from_millis(5),
            latency_most: Duration::from_millis(1),
            ..terms()
        };
        changes(&mut terms);
        TakeoverWithin::new(&terms)
    }

    fn property() -> TakeoverWithin {
        with(|_| {})
    }

    fn lease() -> Kept {
        kept(1, 7, millis(200))
    }

    /// Node 0 holds a lease and has crashed. Node 1 asks at 110 ms, and gets its answer at 112 ms:
    /// it watches the mark for 95 ms, for which a slow clock takes 105,555,556 ns, and two requests
    /// take 4 ms.
    fn waits() -> Vec<Seen> {
        vec![
            at(0, grant(None, lease())),
            at(millis(100), Event::Calm),
            at(millis(110), sent(n(1), 1, ACQUIRE)),
            at(millis(112), answered(n(1), 1, NOT)),
        ]
    }

    const DUE: u64 = millis(112) + 105_555_556 + millis(4) + 24;

    fn then(what: &[Seen]) -> Vec<Seen> {
        [waits(), what.to_vec()].concat()
    }

    /// It asks again, and is granted the lease.
    fn tries_again() -> [Seen; 2] {
        let granted = grant(Some(lease()), kept(2, 8, millis(500)));
        let takes = Asked::Acquire { seen: 7, watched: Some(lease().mark) };
        [at(millis(215), sent(n(1), 2, takes)), at(millis(216), granted)]
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
            "no candidate led by 221.55558ms, though the lease that n1 waits for has ended"
        );
        fails(property(), &then(&[&tries_again()[..], &[end(DUE + 1)]].concat()));
        assert_eq!(compares(property(), &then(&[end(DUE)])), 0);
    }

    #[test]
    fn the_first_answer_about_the_mark_counts() {
        let look = Asked::Look { seen: 7 };
        let told = Answer::At { past_is_watched: true };
        let again =
            [at(millis(150), sent(n(1), 2, look)), at(millis(152), answered(n(1), 2, told))];
        fails(property(), &then(&[&again[..], &[end(DUE + 1)]].concat()));
        // A renewal moves it.
        let renewed = [at(millis(140), renew(lease(), millis(250)))];
        let due = millis(152) + (DUE - millis(112));
        holds(property(), &then(&[&renewed[..], &again[..], &[end(due)]].concat()));
        fails(property(), &then(&[&renewed[..], &again[..], &[end(due + 1)]].concat()));
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
        let told = Answer::Not { past_is_watched: false };
        for (index, instead) in [
            // No calm; no request in the calm; one of a candidate that knows of a loss; no answer;
            // a failed request; a past to watch.
            (1, crashed(n(3))),
            (2, crashed(n(3))),
            (2, sent(n(1), 1, asks(8))),
            (3, crashed(n(3))),
            (3, Event::Answered { who: n(1), id: 1, answer: None }),
            (3, answered(n(1), 1, told)),
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
        holds(property(), &then(&[granted, end(millis(900))]));
        let refused = at(millis(216), refuse(2, ACQUIRE, NOT, Some(lease())));
        fails(property(), &then(&[again, refused, end(millis(900))]));
    }

    #[test]
    fn nothing_is_promised_for_short_timeouts_and_settings_that_contradict() {
        let far = with(|terms| terms.latency_most = Duration::from_millis(6));
        let short = with(|terms| terms.quarantine = Duration::from_millis(89));
        for property in [far, short] {
            holds(property, &then(&[end(millis(900))]));
        }
    }
}
