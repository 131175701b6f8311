//! **Theorem (G2).** A candidate answers "I lead" only at times more than `stop margin / (1 + rho)`
//! of true time before its lease ends at the store, whatever happens to its connection, its timers
//! and its threads; and never after the lease was handed back.
//!
//! Rests on A2, the rates of the clocks. To be judged it needs more: leases are distinguished by
//! their tokens, which rests on the store's wall clock.
//!
//! The judge is `is_leader()` itself, asked on every node at every step: also on nodes that are cut
//! off, and on paused nodes, which can write no event. A flag that has to be cleared by a reply or
//! a timer fails here. The rule is that of a claim, `now < valid_until`, so the end itself is
//! already too late.

use super::{About, Found, Leader, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};

/// Without a renewal a lead ends in time.
#[derive(Debug)]
pub(super) struct FailClosed {
    terms: Terms,
}

impl FailClosed {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone() }
    }
}

impl Property for FailClosed {
    fn about(&self) -> About {
        About::of(PropertyName::FAIL_CLOSED)
            .resting_on(&[Assumption::CandidateClocks, Assumption::WallClock])
            .probed()
    }

    fn probe(&mut self, at: SimTime, state: &State, tally: &mut Tally) -> Found {
        for &Leader { who, token } in state.leaders() {
            tally.count(true);
            let Some(over_from) = state.tenure(token).over_from else {
                return Err(Finding::LeadWithoutGrant { who, token });
            };
            let over_from = over_from - self.terms.margin_of(who);
            if at >= over_from {
                return Err(Finding::LeadTooLong { who, token, over_from });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        NOT, asks, at, back, elected, fails, grant, holds, kept, leader, n, probe, refuse, release,
        renew, terms,
    };
    use super::*;

    fn property() -> FailClosed {
        FailClosed::new(&terms())
    }

    #[test]
    fn a_lead_that_ends_in_time() {
        let lease = kept(1, 7, 100);
        holds(
            property(),
            &[
                at(0, grant(None, lease)),
                probe(89, &[leader(n(0), 7)]),
                at(89, renew(lease, 150)),
                probe(139, &[leader(n(0), 7)]),
                probe(140, &[]),
            ],
        );
    }

    #[test]
    fn a_lead_at_the_margin() {
        let history = [at(0, grant(None, kept(1, 7, 100))), probe(90, &[leader(n(0), 7)])];
        let what = fails(property(), &history);
        assert_eq!(what.to_string(), "n0 still leads under token 7, over at 90ns");
    }

    #[test]
    fn every_leader_of_a_probe_is_checked() {
        let first = kept(1, 7, 100);
        fails(
            property(),
            &[
                at(0, grant(None, first)),
                at(100, grant(Some(first), kept(2, 8, 200))),
                probe(101, &[leader(n(1), 8), leader(n(0), 7)]),
            ],
        );
    }

    #[test]
    fn a_lead_without_a_grant() {
        fails(property(), &[probe(1, &[leader(n(0), 7)])]);
        fails(property(), &[at(0, elected(n(0), 7, 50)), probe(1, &[leader(n(0), 7)])]);
    }

    #[test]
    fn a_lead_after_the_lease_was_handed_back() {
        let lease = kept(1, 7, 100);
        let handed_back = [at(0, grant(None, lease)), at(20, release(lease))];
        fails(property(), &[handed_back.as_slice(), &[probe(20, &[leader(n(0), 7)])]].concat());
        // Later requests that see the same record do not move its end.
        let refused = refuse(2, asks(3), NOT, Some(back(lease)));
        let later = [at(30, refused), probe(31, &[leader(n(0), 7)])];
        fails(property(), &[handed_back.as_slice(), &later].concat());
    }
}
