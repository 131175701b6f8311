//! No election waits much longer than others that want the same.
//!
//! **Theorem.** The candidates of a process send their first acquires in the order in which they joined. And while the
//! store is too slow for its leaders, no renewal is later than [`TIMES`] the mean, or than a request timeout if that
//! is more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::super::journal::{Asks, Event, Who};
use super::super::plan::{Kind, Plan};
use super::renewals::Renewals;
use super::{Finding, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;

/// How many times the mean wait an election may wait.
const TIMES: u32 = 3;

#[derive(Default)]
pub(super) struct FairWithinAClass {
    /// The candidates that have joined and have not asked yet, by process.
    joined: BTreeMap<u32, VecDeque<Who>>,
    asked: BTreeSet<Who>,
    renewals: Renewals,
    /// How late renewals were in the phase at hand.
    late: Vec<(Duration, SimTime, Who)>,
    phase: usize,
}

impl Property for FairWithinAClass {
    fn name(&self) -> PropertyName {
        PropertyName::FAIR_WITHIN_A_CLASS
    }

    fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found {
        while plan.phases.get(self.phase).is_some_and(|phase| phase.until <= at) {
            self.end_phase(plan, at, tally)?;
        }
        match *event {
            Event::Joined(who) => self.joined.entry(who.process).or_default().push_back(who),
            Event::Sent(who, Asks::Acquire) => self.acquires(who, at, tally)?,
            _ => {}
        }
        let due = self.renewals.observe(plan, at, event);
        if let (Some(due), Event::Sent(who, Asks::Renew)) = (due, event) {
            self.late.push((at.since(due), at, *who));
        }
        Ok(())
    }
}

impl FairWithinAClass {
    fn acquires(&mut self, who: Who, at: SimTime, tally: &mut Tally) -> Found {
        if !self.asked.insert(who) {
            return Ok(());
        }
        tally.count(true);
        match self.joined.entry(who.process).or_default().pop_front() {
            Some(first) if first != who => Err(Finding::from(format!(
                "the first acquire of {who:?} was sent at {at}, before that of {first:?}, which joined earlier"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Judges the renewals of a phase whose rate is too low from its beginning to its end.
    fn end_phase(&mut self, plan: &Plan, at: SimTime, tally: &mut Tally) -> Found {
        let kind = plan.phases.get(self.phase).map(|phase| phase.kind);
        self.phase += 1;
        let mut late = std::mem::take(&mut self.late);
        if kind != Some(Kind::Half) {
            return Ok(());
        }
        let waiting = [0, 1].into_iter().flat_map(|process| self.renewals.late(process, at, at));
        late.extend(waiting.map(|(due, who)| (at.since(due), at, who)));
        for _ in &late {
            tally.count(true);
        }
        let all: Duration = late.iter().map(|(late, ..)| *late).sum();
        let mean = all / u32::try_from(late.len()).unwrap_or(u32::MAX).max(1);
        let most = (mean * TIMES).max(plan.config().request_timeout());
        match late.into_iter().max() {
            Some((late, at, who)) if late > most => Err(Finding::from(format!(
                "the renewal of {who:?} was {late:?} late at {at}, and {mean:?} is the mean"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}
