//! **Theorem (section 5).** A tenure that is over stays over: once a candidate no longer answers "I
//! lead" under a token, or has reported that it stepped down, it never leads or renews under that
//! token or an older one again. A late reply does not resurrect.
//!
//! Rests on clocks that don't go back, since `is_leader()` compares nothing but the clock with the
//! end of the claim; and on a memory that is not restored.
//!
//! Nor is a candidate elected under a claim whose end has passed: a late grant starts no tenure.
//! (In an engine with ticks, the time at which an application learns of its election is not the
//! time of the decision.)
//!
//! A candidate's report is compared with its earlier reports, and an answer of `is_leader()` with
//! both. A node that was paused may report a renewal after its `is_leader()` has ended; only the
//! next answer of `is_leader()` would show a resurrection.

use super::{About, Found, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// An ended tenure stays over.
#[derive(Debug)]
pub(super) struct NoResurrection {
    is_exact: bool,
    candidates: Recent<Who, Candidate>,
}

impl NoResurrection {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { is_exact: terms.is_exact(), candidates: Recent::default() }
    }
}

/// The state of one candidate. Zero stands for no token.
#[derive(Debug, Default)]
struct Candidate {
    /// The highest token under which it no longer answers so.
    over: u64,
    /// The highest token of its reported step-downs.
    stepped_down: u64,
}

impl Candidate {
    /// It answers so under another token than before, or under none.
    fn answers(&mut self, before: Option<u64>, token: Option<u64>) {
        if before != token {
            self.over = self.over.max(before.unwrap_or(0));
        }
    }
}

impl Property for NoResurrection {
    fn about(&self) -> About {
        About::of(PropertyName::NO_RESURRECTION)
            .resting_on(&[Assumption::OneMemory, Assumption::CandidateClocks])
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Leads { who, token } => {
                let candidate = self.candidates.of(who);
                candidate.answers(state.leads(who), Some(token));
                let over = candidate.over.max(candidate.stepped_down);
                Self::later(who, token, over, tally)
            }
            Event::LeadsNoMore { who } | Event::Crashed { who } => {
                self.candidates.of(who).answers(state.leads(who), None);
                Ok(())
            }
            Event::Elected { who, token, claim_ends } if self.is_exact && claim_ends <= at => {
                Err(Finding::ElectedTooLate { who, token })
            }
            Event::Elected { who, token, .. } | Event::Renewed { who, token, .. } => {
                let over = self.candidates.of(who).stepped_down;
                Self::later(who, token, over, tally)
            }
            Event::SteppedDown { who, token, .. } => {
                let candidate = self.candidates.of(who);
                candidate.stepped_down = candidate.stepped_down.max(token);
                Ok(())
            }
            // A process may begin with another candidate, after one has left: that one knows no
            // token.
            Event::Started { who } => {
                self.candidates.remove(who);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl NoResurrection {
    fn later(who: Who, token: u64, over: u64, tally: &mut Tally) -> Found {
        tally.count(over > 0);
        if token > over {
            return Ok(());
        }
        Err(Finding::LeadsAgain { who, token, over })
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, elected, fails, holds, leads, leads_no_more, n, renewed, span, stepped_down,
        terms,
    };
    use super::{NoResurrection, Terms};
    use crate::trace::{Event, Reason, Who};

    fn judge() -> NoResurrection {
        NoResurrection::new(&terms())
    }

    /// In an engine with ticks an application learns of its driver's decision later, and may be
    /// paused in between.
    fn in_ticks() -> NoResurrection {
        NoResurrection::new(&Terms { tick: span(1_000_000), ..terms() })
    }

    #[test]
    fn elected_once_the_claim_is_over() {
        holds(judge(), &[at(89, elected(n(0), 7, 90))]);
        let what = fails(judge(), &[at(90, elected(n(0), 7, 90))]);
        assert_eq!(what.to_string(), "n0 is elected under token 7 after its claim has ended");
        holds(in_ticks(), &[at(90, elected(n(0), 7, 90))]);
    }

    fn expired(token: u64) -> Event {
        stepped_down(n(0), token, Reason::Expired)
    }

    #[test]
    fn each_tenure_has_a_later_token() {
        holds(
            judge(),
            &[
                at(0, elected(n(0), 7, 90)),
                at(0, leads(n(0), 7)),
                at(50, renewed(n(0), 7, 140)),
                at(140, leads_no_more(n(0))),
                at(141, expired(7)),
                at(150, elected(n(0), 8, 240)),
                at(150, leads(n(0), 8)),
            ],
        );
    }

    #[test]
    fn leading_again_after_the_claim_ended() {
        let ended = [at(0, leads(n(0), 7)), at(90, leads_no_more(n(0)))];
        for token in [7, 6] {
            fails(judge(), &[ended.as_slice(), &[at(91, leads(n(0), token))]].concat());
        }
        holds(judge(), &[ended.as_slice(), &[at(91, leads(n(0), 8))]].concat());
        holds(judge(), &[ended.as_slice(), &[at(91, leads(n(1), 7))]].concat());
    }

    #[test]
    fn leading_or_renewing_after_it_stepped_down() {
        for token in [7, 6] {
            for event in [leads(n(0), token), renewed(n(0), token, 140), elected(n(0), token, 140)]
            {
                fails(judge(), &[at(90, expired(7)), at(91, event)]);
            }
        }
        holds(judge(), &[at(90, expired(7)), at(91, renewed(n(0), 8, 140))]);
    }

    #[test]
    fn a_paused_node_reports_its_tenure_late() {
        holds(
            in_ticks(),
            &[
                at(0, leads(n(0), 7)),
                at(90, leads_no_more(n(0))),
                at(95, elected(n(0), 7, 95)),
                at(95, renewed(n(0), 7, 95)),
                at(95, expired(7)),
            ],
        );
    }

    #[test]
    fn the_next_tenure_ends_the_one_before() {
        let next: [Seen; 2] = [at(0, leads(n(0), 7)), at(50, leads(n(0), 8))];
        holds(judge(), &next);
        fails(judge(), &[next.as_slice(), &[at(60, leads(n(0), 7))]].concat());
    }

    #[test]
    fn repeated_answers_are_no_resurrection() {
        holds(judge(), &[at(0, leads(n(0), 7)), at(1, leads(n(0), 7))]);
    }

    /// The store has lost its data, and its clock was put back: a candidate that has led would
    /// refuse the grant.
    #[test]
    fn a_candidate_after_another_begins_anew() {
        let left = [at(0, elected(n(0), 7, 90)), at(0, leads(n(0), 7)), at(9, leads_no_more(n(0)))];
        let next = [at(20, elected(n(0), 6, 110)), at(20, leads(n(0), 6))];
        let started = [at(10, Event::Started { who: n(0) })];
        holds(judge(), &[&left[..], &started[..], &next[..]].concat());
        fails(judge(), &[&left[..], &next[..]].concat());
    }

    #[test]
    fn another_life_is_another_candidate() {
        // This history violates `token-monotonic`, but not this property.
        let second_life = Who { node: 0, life: 1 };
        holds(
            judge(),
            &[at(0, leads(n(0), 7)), at(90, leads_no_more(n(0))), at(91, leads(second_life, 7))],
        );
    }
}
