//! What must hold of the tenures of each election, under whatever load.

use std::collections::BTreeMap;

use super::super::journal::{Event, Who};
use super::super::plan::Plan;
use super::{Finding, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;

/// **Theorem.** When a candidate reports that it leads, no other candidate of its election answers "I lead".
pub(super) struct SingleLeader;

impl Property for SingleLeader {
    fn name(&self) -> PropertyName {
        PropertyName::SINGLE_LEADER
    }

    fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        let Event::Elected { who, beside, .. } = event else { return Ok(()) };
        tally.count(plan.contested().any(|election| election == who.election));
        match beside {
            Some(other) => Err(Finding::from(format!("{who:?} leads at {at} beside {other:?}"))),
            None => Ok(()),
        }
    }
}

/// **Theorem.** Each tenure of an election has a higher token than the one before.
#[derive(Default)]
pub(super) struct TokensIncrease(BTreeMap<u32, u64>);

impl Property for TokensIncrease {
    fn name(&self) -> PropertyName {
        PropertyName::TOKEN_MONOTONIC
    }

    fn observe(&mut self, _: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        let Event::Elected { who, token, .. } = *event else { return Ok(()) };
        let last = self.0.insert(who.election, token);
        tally.count(last.is_some());
        match last.filter(|last| token <= *last) {
            Some(last) => Err(Finding::from(format!(
                "{who:?} leads at {at} under token {token}, after a tenure with token {last}"
            ))),
            None => Ok(()),
        }
    }
}

/// **Theorem.** A candidate reports the end of each of its tenures once, before the next one.
#[derive(Default)]
pub(super) struct OneStepDown(BTreeMap<Who, u64>);

impl Property for OneStepDown {
    fn name(&self) -> PropertyName {
        PropertyName::ONE_STEP_DOWN_PER_ELECTION
    }

    fn observe(&mut self, _: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        let found = match *event {
            Event::Elected { who, token, .. } => self.0.insert(who, token).map(|open| {
                format!("{who:?} leads at {at} under token {token}, and never left token {open}")
            }),
            Event::SteppedDown { who, token, .. } => {
                tally.count(true);
                let open = self.0.remove(&who);
                (open != Some(token)).then(|| {
                    format!("{who:?} left token {token} at {at}, but its open tenure is {open:?}")
                })
            }
            _ => None,
        };
        found.map_or(Ok(()), |what| Err(Finding::from(what)))
    }
}
