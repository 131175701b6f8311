//! **Theorem (sections 5 and 6).** Work that drains after its tenure has ended is over, or will not
//! be polled any more, before another candidate can lead: its time to drain ends no later than the
//! lease that covers it, and no other lead begins before that time ends.
//!
//! Judged by the time that a candidate gives its work, in true time, and not by when that work
//! ends: a paused process does not drop its work, but does not poll it either. A drain end that is
//! already over when it is reported permits nothing. The lease of a store that lost its data is
//! covered by a quarantine, as claims are: so the next lead counts, and not the next grant.
//!
//! Rests on all that `single-leader` rests on, and on the store's wall clock, since leases are
//! distinguished by their tokens.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// Old work ends before a new leader begins. Counted are leads that began while older work was
/// draining; the comparison of drain ends with their leases happens at every step-down.
#[derive(Debug, Default)]
pub(super) struct DrainedBeforeTheNext {
    /// The end of the time that the work of an ended tenure has to drain.
    drain_ends: Recent<(Who, u64), SimTime>,
}

impl DrainedBeforeTheNext {
    fn drains(&mut self, at: SimTime, of: (Who, u64), until: SimTime, state: &State) -> Found {
        self.drain_ends.insert(of, until);
        let (who, token) = of;
        let lease_ends = state.tenure(token).lease_ends.unwrap_or_default();
        if until <= at || until <= lease_ends {
            return Ok(());
        }
        Err(Finding::DrainsBeyondLease { who, token, until, lease_ends })
    }

    fn leads(&self, at: SimTime, leader: (Who, u64), state: &State, tally: &mut Tally) -> Found {
        let others = state.work().iter().filter(|work| **work != leader);
        for &(who, token) in others {
            let Some(&until) = self.drain_ends.get((who, token)) else { continue };
            tally.count(true);
            if at < until {
                return Err(Finding::LeadsWhileDraining { leader: leader.0, who, token, until });
            }
        }
        Ok(())
    }
}

impl Property for DrainedBeforeTheNext {
    fn about(&self) -> About {
        About::of(PropertyName::DRAINED_BEFORE_THE_NEXT).resting_on(&[
            Assumption::CandidateClocks,
            Assumption::Waits,
            Assumption::LossIsFinal,
            Assumption::WallClock,
        ])
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::SteppedDown { who, token, drain_ends, .. }
            | Event::DrainMoved { who, token, drain_ends } => {
                self.drains(at, (who, token), drain_ends, state)
            }
            Event::Leads { who, token } => self.leads(at, (who, token), state, tally),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, compares, crashed, drain_moved, drains, fails, grant, holds, kept, leads, n,
        renew, work_began, work_dropped, work_ended,
    };
    use super::*;
    use crate::trace::Reason;

    fn judge() -> DrainedBeforeTheNext {
        DrainedBeforeTheNext::default()
    }

    /// Node 0 works under token 7, whose lease ends at 100; these events follow.
    fn works(then: &[Seen]) -> Vec<Seen> {
        let began = [at(0, grant(None, kept(1, 7, 100))), at(5, work_began(n(0), 7))];
        [&began[..], then].concat()
    }

    fn resigned(ends: u64) -> Seen {
        at(50, drains(n(0), 7, Reason::Resigned, ends))
    }

    #[test]
    fn work_may_drain_until_its_lease_ends() {
        holds(judge(), &works(&[resigned(100), at(100, leads(n(1), 8))]));
        let what = fails(judge(), &works(&[resigned(101)]));
        assert_eq!(
            what.to_string(),
            "n0 lets work drain under token 7 until 101ns, and its lease ends at 100ns"
        );
    }

    #[test]
    fn a_renewal_covers_longer_draining() {
        let renewed = at(60, renew(kept(1, 7, 100), 150));
        let moved = at(61, drain_moved(n(0), 7, 140));
        holds(judge(), &works(&[resigned(100), renewed, moved.clone()]));
        fails(judge(), &works(&[resigned(100), moved]));
    }

    #[test]
    fn a_drain_end_in_the_past_permits_nothing() {
        holds(judge(), &works(&[at(120, drains(n(0), 7, Reason::Superseded, 120))]));
        fails(judge(), &works(&[at(120, drains(n(0), 7, Reason::Superseded, 121))]));
    }

    #[test]
    fn a_lead_while_work_of_another_drains() {
        let lead = |when| at(when, leads(n(1), 8));
        let what = fails(judge(), &works(&[resigned(90), lead(89)]));
        assert_eq!(what.to_string(), "n1 leads, and work of n0 under token 7 drains until 90ns");
        for over in [work_ended(n(0), 7), work_dropped(n(0), 7), crashed(n(0))] {
            holds(judge(), &works(&[resigned(90), at(70, over), lead(71)]));
        }
        for other in [work_ended(n(0), 6), work_ended(n(1), 7), crashed(n(1))] {
            fails(judge(), &works(&[resigned(90), at(70, other), lead(71)]));
        }
    }

    #[test]
    fn work_that_does_not_drain_is_not_judged() {
        holds(judge(), &works(&[at(10, leads(n(0), 7)), at(20, leads(n(1), 8))]));
    }

    #[test]
    fn only_a_lead_during_old_work_is_compared() {
        let lead = at(90, leads(n(1), 8));
        let compared = |then: &[Seen]| compares(judge(), &works(then));
        assert_eq!(compared(&[resigned(90), lead.clone()]), 1);
        assert_eq!(compared(&[resigned(90), at(80, work_ended(n(0), 7)), lead.clone()]), 0);
        assert_eq!(compared(&[lead]), 0);
    }

    #[test]
    fn a_drain_that_was_cut_short() {
        let moved = at(60, drain_moved(n(0), 7, 60));
        holds(judge(), &works(&[resigned(90), moved, at(61, leads(n(1), 8))]));
    }
}
