//! **Theorem (G3).** The tokens of one election strictly increase from tenure to tenure: across
//! crash, release, expiry and restart, and across the loss of the store's data.
//!
//! Rests on a wall clock that is not behind the last grant once its record is lost, because that
//! clock is then the lower bound of new tokens; and, for the reports of candidates, on processes
//! that live once: a process that was put back is elected again under the token that it has
//! forgotten.
//!
//! Grants are judged at the store, in its order. Candidates report their elections later, a paused
//! one much later. So for an `Elected` it is required only that its token was granted, that no
//! other candidate was elected under it, and that it is above all tokens under which the same
//! candidate was elected before.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// Each tenure's token is above all earlier ones.
#[derive(Debug, Default)]
pub(super) struct TokenMonotonic {
    newest: u64,
    /// Each candidate's last token.
    last: Recent<Who, u64>,
}

impl TokenMonotonic {
    fn granted(&mut self, token: u64, tally: &mut Tally) -> Found {
        if token <= self.newest {
            return Err(Finding::GrantNotAbove { token, last: self.newest });
        }
        tally.count(self.newest > 0);
        self.newest = token;
        Ok(())
    }

    fn elected(&mut self, who: Who, token: u64, state: &State) -> Found {
        let tenure = state.tenure(token);
        if tenure.granted.is_none() {
            return Err(Finding::ElectedWithoutGrant { who, token });
        }
        if let Some(other) = tenure.elected.filter(|other| *other != who) {
            return Err(Finding::BothElected { one: other, other: who, token });
        }
        match self.last.insert(who, token) {
            Some(last) if token <= last => Err(Finding::ElectedNotAbove { who, token, last }),
            Some(_) | None => Ok(()),
        }
    }
}

impl Property for TokenMonotonic {
    fn about(&self) -> About {
        About::of(PropertyName::TOKEN_MONOTONIC)
            .resting_on(&[Assumption::WallClock, Assumption::OneMemory])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Store(step) => {
                step.new_tenure().map_or(Ok(()), |token| self.granted(token, tally))
            }
            Event::Elected { who, token, .. } => self.elected(*who, *token, state),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{at, back, elected, fails, grant, holds, kept, n};
    use super::TokenMonotonic;
    use crate::trace::Event;

    #[test]
    fn increasing_tokens_and_late_election_reports() {
        let (first, second) = (kept(1, 7, 100), kept(2, 8, 200));
        holds(
            TokenMonotonic::default(),
            &[
                at(0, grant(None, first)),
                at(100, grant(Some(first), second)),
                at(105, elected(n(1), 8, 190)),
                at(110, elected(n(0), 7, 110)),
            ],
        );
    }

    #[test]
    fn a_repeated_grant_is_no_new_tenure() {
        let first = kept(1, 7, 100);
        let again = kept(1, 7, 150);
        let granted = at(0, grant(None, first));
        holds(TokenMonotonic::default(), &[granted.clone(), at(99, grant(Some(first), again))]);
        // But it is one if the lease was handed back, or belonged to another holder.
        fails(
            TokenMonotonic::default(),
            &[granted.clone(), at(50, grant(Some(back(first)), again))],
        );
        fails(TokenMonotonic::default(), &[granted, at(50, grant(Some(first), kept(2, 7, 150)))]);
    }

    #[test]
    fn a_store_that_lost_its_data() {
        fails(
            TokenMonotonic::default(),
            &[
                at(0, grant(None, kept(1, 7, 100))),
                at(50, Event::StoreCrashed { keeps_data: false }),
                at(60, grant(None, kept(2, 1, 160))),
            ],
        );
        holds(
            TokenMonotonic::default(),
            &[
                at(0, grant(None, kept(1, 7, 100))),
                at(50, Event::StoreCrashed { keeps_data: false }),
                at(60, grant(None, kept(2, 8, 160))),
            ],
        );
    }

    #[test]
    fn an_election_without_a_grant() {
        fails(
            TokenMonotonic::default(),
            &[at(0, grant(None, kept(1, 7, 100))), at(1, elected(n(0), 8, 90))],
        );
    }

    #[test]
    fn two_elected_under_one_token() {
        fails(
            TokenMonotonic::default(),
            &[
                at(0, grant(None, kept(1, 7, 100))),
                at(1, elected(n(0), 7, 90)),
                at(2, elected(n(1), 7, 90)),
            ],
        );
    }

    #[test]
    fn one_candidate_elected_under_a_used_token() {
        let (first, second) = (kept(1, 7, 100), kept(2, 8, 200));
        let granted = [at(0, grant(None, first)), at(100, grant(Some(first), second))];
        for token in [8, 7] {
            let elections = [at(101, elected(n(0), 8, 190)), at(102, elected(n(0), token, 190))];
            fails(TokenMonotonic::default(), &[granted.as_slice(), &elections].concat());
        }
    }
}
