//! **Theorem (section 5).** Each candidate reports exactly one `SteppedDown` for each `Elected`, of
//! the same token, before the next `Elected`; and renewals only in between.
//!
//! Rests on a process that lives once: a process that was put back to before an election is elected
//! again, and one that was put back to before its step-down steps down again. A crashed life
//! reports nothing any more, and at the end of the run the last tenure may still last.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;

/// Elections and step-downs alternate.
#[derive(Debug)]
pub(super) struct OneStepDown;

impl Property for OneStepDown {
    fn about(&self) -> About {
        About::of(PropertyName::ONE_STEP_DOWN_PER_ELECTION).resting_on(&[Assumption::OneMemory])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        let is_an_end = matches!(event, Event::SteppedDown { .. });
        tally.count(is_an_end);
        match *event {
            Event::Elected { who, token, .. } => match state.claims(who) {
                Some(before) => Err(Finding::ElectedTwice { who, token, before }),
                None => Ok(()),
            },
            Event::Renewed { who, token, .. } => match state.claims(who) {
                Some(leads) if leads == token => Ok(()),
                leads => Err(Finding::RenewsAnother { who, token, leads }),
            },
            Event::SteppedDown { who, token, .. } => match state.claims(who) {
                Some(leads) if leads == token => Ok(()),
                leads => Err(Finding::LeavesAnother { who, token, leads }),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, crashed, elected, end, fails, holds, n, renewed, stepped_down,
    };
    use super::OneStepDown;
    use crate::trace::{Reason, Who};

    fn down(when: u64, node: usize, token: u64) -> Seen {
        at(when, stepped_down(n(node), token, Reason::Expired))
    }

    #[test]
    fn elections_and_ends_alternate_for_each_candidate() {
        holds(
            OneStepDown,
            &[
                at(0, elected(n(0), 7, 90)),
                at(1, elected(n(1), 8, 90)),
                at(2, renewed(n(0), 7, 95)),
                down(3, 1, 8),
                down(4, 0, 7),
                at(5, elected(n(0), 9, 190)),
                end(6),
            ],
        );
    }

    #[test]
    fn a_crashed_life_ends_without_a_report() {
        let second_life = Who { node: 0, life: 1 };
        holds(
            OneStepDown,
            &[
                at(0, elected(n(0), 7, 90)),
                at(1, crashed(n(0))),
                at(2, elected(second_life, 8, 190)),
                at(3, stepped_down(second_life, 8, Reason::Resigned)),
            ],
        );
        fails(
            OneStepDown,
            &[
                at(0, elected(n(0), 7, 90)),
                at(1, crashed(n(0))),
                at(2, stepped_down(second_life, 7, Reason::Expired)),
            ],
        );
    }

    #[test]
    fn a_crashed_life_that_still_reports() {
        for event in [renewed(n(0), 7, 95), stepped_down(n(0), 7, Reason::Expired)] {
            let crash = [at(0, elected(n(0), 7, 90)), at(1, crashed(n(0)))];
            fails(OneStepDown, &[crash.as_slice(), &[at(2, event)]].concat());
        }
    }

    #[test]
    fn elected_twice_without_an_end() {
        fails(OneStepDown, &[at(0, elected(n(0), 7, 90)), at(1, elected(n(0), 8, 90))]);
    }

    #[test]
    fn an_end_without_a_beginning() {
        fails(OneStepDown, &[down(1, 0, 7)]);
        fails(OneStepDown, &[at(0, elected(n(1), 7, 90)), down(1, 0, 7)]);
    }

    #[test]
    fn two_ends_of_one_tenure() {
        fails(OneStepDown, &[at(0, elected(n(0), 7, 90)), down(1, 0, 7), down(2, 0, 7)]);
    }

    #[test]
    fn the_end_of_another_tenure() {
        fails(OneStepDown, &[at(0, elected(n(0), 7, 90)), down(1, 0, 8)]);
    }

    #[test]
    fn a_renewal_outside_of_its_tenure() {
        let renewal = at(3, renewed(n(0), 7, 95));
        fails(OneStepDown, std::slice::from_ref(&renewal));
        fails(OneStepDown, &[at(0, elected(n(0), 8, 90)), renewal.clone()]);
        fails(OneStepDown, &[at(0, elected(n(0), 7, 90)), down(1, 0, 7), renewal]);
    }
}
