//! **Theorem (G1).** At no instant of true time do two candidates both answer "I lead".
//!
//! Rests on A2, the rates of the clocks.
//!
//! It is judged by the answers of `is_leader()`, never by the reports of candidates: an
//! `Elected` or `SteppedDown` is read by a task of the node, so late if the node is paused, and a
//! claim may end before its `claim_ends`, if its leader resigns or its clock is put forward. An
//! interval between such reports would be too long, and cause false alarms.
//!
//! `Leads` and `LeadsNoMore` bound the interval in which a node answered so, and each probe shows
//! whose intervals are open; two intervals overlap if time passes while neither has ended. At one
//! instant one may end and the other begin, in either order: the judge probes an instant when it is
//! over.
//!
//! An overlap that fits between two probes is not seen here. `margin-kept` and `own-lease-only`
//! rule it out to the nanosecond: a claim ends before its lease, and no other lease begins before
//! that.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// The assumptions of the theorem.
pub(in crate::judge) const RESTS_ON: &[Assumption] =
    &[Assumption::CandidateClocks, Assumption::Waits, Assumption::LossIsFinal];

/// There are never two leaders at once.
#[derive(Debug, Default)]
pub(super) struct SingleLeader {
    /// The candidate whose lead began last.
    last: Option<Who>,
}

impl Property for SingleLeader {
    fn about(&self) -> About {
        About::of(PropertyName::SINGLE_LEADER).resting_on(RESTS_ON).probed()
    }

    fn observe(&mut self, _: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        if let Event::Leads { who, .. } = *event {
            // The first leader of all can't overlap with another one.
            let last = self.last.replace(who);
            tally.count(last.is_some_and(|last| last != who));
        }
        Ok(())
    }

    fn probe(&mut self, at: SimTime, state: &State, _: &mut Tally) -> Found {
        match state.leaders() {
            [] | [_] => Ok(()),
            [one, other, ..] => Err(Finding::TwoLeaders { one: *one, other: *other, at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{at, crashed, end, fails, holds, leader, leads, leads_no_more, n};
    use super::super::history::{elected, probe};
    use super::SingleLeader;
    use crate::trace::Who;

    #[test]
    fn one_after_the_other() {
        let history = [
            at(10, leads(n(0), 7)),
            probe(10, &[leader(n(0), 7)]),
            at(20, leads_no_more(n(0))),
            probe(20, &[]),
            at(30, leads(n(1), 8)),
            probe(30, &[leader(n(1), 8)]),
            end(40),
        ];
        holds(SingleLeader::default(), &history);
    }

    #[test]
    fn two_in_one_probe() {
        let what = fails(
            SingleLeader::default(),
            &[probe(10, &[leader(n(0), 7)]), probe(11, &[leader(n(0), 7), leader(n(1), 8)])],
        );
        assert_eq!(what.to_string(), "n0 leads under token 7 and n1 under token 8, both at 11ns");
    }

    #[test]
    fn adjacent_leads_in_either_order() {
        let (ends, begins) = (at(20, leads_no_more(n(0))), at(20, leads(n(1), 8)));
        let first = at(10, leads(n(0), 7));
        holds(SingleLeader::default(), &[first.clone(), ends.clone(), begins.clone(), end(30)]);
        holds(SingleLeader::default(), &[first, begins, ends, end(30)]);
    }

    #[test]
    fn an_overlap_of_a_nanosecond_by_events_alone() {
        let both = [at(10, leads(n(0), 7)), at(20, leads(n(1), 8))];
        for next in [at(21, leads_no_more(n(0))), end(21)] {
            fails(SingleLeader::default(), &[both.as_slice(), &[next]].concat());
        }
    }

    #[test]
    fn a_crashed_life_leads_no_more() {
        let second_life = Who { node: 0, life: 1 };
        holds(
            SingleLeader::default(),
            &[
                at(10, leads(n(0), 7)),
                at(15, crashed(n(0))),
                at(20, leads(second_life, 8)),
                end(30),
            ],
        );
    }

    #[test]
    fn a_new_tenure_of_one_leader() {
        holds(SingleLeader::default(), &[at(10, leads(n(0), 7)), at(20, leads(n(0), 8)), end(30)]);
    }

    #[test]
    fn reports_of_candidates_are_not_judged() {
        holds(
            SingleLeader::default(),
            &[at(10, elected(n(0), 7, 100)), at(20, elected(n(1), 8, 100)), end(30)],
        );
    }
}
