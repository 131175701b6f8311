//! **Theorem (G1, G2).** Every claim ends at least `stop margin / (1 + rho)` of true time before
//! the lease that backs it can end at the store.
//!
//! Rests on A2, the rates of the clocks. To be judged it needs more: leases are distinguished by
//! their tokens, which rests on the store's wall clock.
//!
//! A claim is compared with the latest end that the store ever recorded for its token. Whether its
//! lease was handed back meanwhile is not judged here: see `fail-closed`. A claim that was already
//! over when it was reported is not compared: it permits nothing any more, and a tenure that has
//! ended no longer knows the end of its claim. But also such a claim must rest on a grant.

use super::{About, Found, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// Claims end before leases.
#[derive(Debug)]
pub(super) struct MarginKept {
    terms: Terms,
}

impl MarginKept {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone() }
    }

    fn claimed(
        &self,
        at: SimTime,
        (who, token): (Who, u64),
        claim_ends: SimTime,
        state: &State,
        tally: &mut Tally,
    ) -> Found {
        let Some(lease_ends) = state.tenure(token).lease_ends else {
            return Err(Finding::ClaimWithoutGrant { who, token });
        };
        let margin = self.terms.margin_of(who);
        tally.count(claim_ends > at);
        if claim_ends <= at || claim_ends + margin <= lease_ends {
            return Ok(());
        }
        Err(Finding::ClaimTooLong { who, token, claim_ends, margin, lease_ends })
    }
}

impl Property for MarginKept {
    fn about(&self) -> About {
        About::of(PropertyName::MARGIN_KEPT)
            .resting_on(&[Assumption::CandidateClocks, Assumption::WallClock])
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Elected { who, token, claim_ends }
            | Event::Renewed { who, token, claim_ends } => {
                self.claimed(at, (*who, *token), *claim_ends, state, tally)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        at, elected, fails, grant, holds, kept, n, release, renew, renewed, terms,
    };
    use super::*;

    fn property() -> MarginKept {
        MarginKept::new(&terms())
    }

    #[test]
    fn claims_that_keep_exactly_the_margin() {
        let lease = kept(1, 7, 100);
        holds(
            property(),
            &[
                at(0, grant(None, lease)),
                at(5, elected(n(0), 7, 90)),
                at(10, renew(lease, 150)),
                at(15, renewed(n(0), 7, 140)),
            ],
        );
    }

    #[test]
    fn a_claim_that_ends_a_nanosecond_later() {
        let lease = kept(1, 7, 100);
        fails(property(), &[at(0, grant(None, lease)), at(5, elected(n(0), 7, 91))]);
        fails(
            property(),
            &[at(0, grant(None, lease)), at(10, renew(lease, 150)), at(15, renewed(n(0), 7, 141))],
        );
    }

    #[test]
    fn a_claim_extended_without_a_renewal() {
        let history = [at(0, grant(None, kept(1, 7, 100))), at(15, renewed(n(0), 7, 140))];
        fails(property(), &history);
    }

    #[test]
    fn a_claim_without_a_grant() {
        let granted = at(0, grant(None, kept(1, 7, 100)));
        fails(property(), &[granted.clone(), at(5, elected(n(0), 8, 50))]);
        fails(property(), &[granted, at(5, elected(n(0), 8, 5))]);
    }

    #[test]
    fn a_claim_reported_after_its_end() {
        let granted = at(0, grant(None, kept(1, 7, 100)));
        holds(property(), &[granted.clone(), at(95, renewed(n(0), 7, 95))]);
        fails(property(), &[granted, at(95, renewed(n(0), 7, 96))]);
    }

    #[test]
    fn the_lease_of_another_token_does_not_count() {
        let first = kept(1, 7, 100);
        fails(
            property(),
            &[
                at(0, grant(None, first)),
                at(100, grant(Some(first), kept(2, 8, 200))),
                at(101, renewed(n(0), 7, 190)),
            ],
        );
    }

    #[test]
    fn a_renewal_reported_after_the_release() {
        let lease = kept(1, 7, 100);
        holds(
            property(),
            &[at(0, grant(None, lease)), at(20, release(lease)), at(21, renewed(n(0), 7, 90))],
        );
    }
}
