//! **Theorem (G3, from tenure to tenure).** A lead begins under a token that is above those of all
//! leads before it.
//!
//! `token-monotonic` judges the order of the grants. A grant that is repeated late, by a store that
//! was restored, is no new one, and may begin a lead all the same: under a token below that of a
//! lead that came between.
//!
//! Rests on what G1 rests on, since a lead that lasts too long may begin late as well; and on what
//! the order of the grants rests on.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// No candidate leads under a token below that of an earlier lead of another candidate.
#[derive(Debug, Default)]
pub(super) struct LeadsInOrder {
    /// The lead with the highest token.
    newest: Option<(Who, u64)>,
}

impl Property for LeadsInOrder {
    fn about(&self) -> About {
        About::of(PropertyName::LEADS_IN_ORDER).resting_on(&[
            Assumption::CandidateClocks,
            Assumption::Waits,
            Assumption::LossIsFinal,
            Assumption::WallClock,
            Assumption::OneMemory,
        ])
    }

    fn observe(&mut self, _: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        let Event::Leads { who, token } = *event else { return Ok(()) };
        if let Some((other, last)) = self.newest.filter(|(other, _)| *other != who) {
            tally.count(true);
            if token <= last {
                return Err(Finding::LeadNotAbove { who, token, other, last });
            }
        }
        // A candidate's own tokens are compared by `no-resurrection`.
        if self.newest.is_none_or(|(_, last)| token > last) {
            self.newest = Some((who, token));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{at, compares, fails, holds, leads, leads_no_more, n};
    use super::LeadsInOrder;

    #[test]
    fn a_lead_follows_one_below_it() {
        let history = [
            at(10, leads(n(0), 7)),
            at(20, leads_no_more(n(0))),
            at(30, leads(n(1), 8)),
            at(40, leads_no_more(n(1))),
            at(50, leads(n(0), 9)),
        ];
        assert_eq!(compares(LeadsInOrder::default(), &history), 2);
    }

    #[test]
    fn a_lead_follows_one_above_it() {
        let first = [at(10, leads(n(0), 8)), at(20, leads_no_more(n(0)))];
        for token in [7, 8] {
            let last = [at(30, leads(n(1), token))];
            fails(LeadsInOrder::default(), &[first.as_slice(), &last].concat());
        }
    }

    #[test]
    fn one_candidate_answers_again() {
        let again = [at(10, leads(n(0), 7)), at(20, leads_no_more(n(0))), at(30, leads(n(0), 7))];
        holds(LeadsInOrder::default(), &again);
    }
}
