//! No election waits much longer than others that want the same.
//!
//! **Theorem.** The candidates of a process send their first acquires in the order in which they
//! joined. And while the store is too slow for its leaders, no renewal is later than [`TIMES`] the
//! mean, or than a request timeout if that is more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::super::journal::{election, process};
use super::super::plan::{Kind, Plan};
use super::renewals::Renewals;
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::{Asked, Event, Who};

/// The most that an election may wait, in mean waits.
const TIMES: u32 = 3;

pub(super) struct FairWithinAClass {
    plan: Plan,
    /// The candidates that have joined and have not asked yet, by process.
    joined: BTreeMap<usize, VecDeque<Who>>,
    asked: BTreeSet<Who>,
    renewals: Renewals,
    /// The delays of renewals in the phase at hand.
    late: Vec<(Duration, SimTime, Who)>,
    phase: usize,
}

impl Property for FairWithinAClass {
    fn about(&self) -> About {
        About::of(PropertyName::FAIR_WITHIN_A_CLASS)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        while self.plan.phases.get(self.phase).is_some_and(|phase| phase.until <= at) {
            self.end_phase(at, tally)?;
        }
        match *event {
            // The others may stop before they have asked.
            Event::CampaignAsked { who } if !self.plan.is_commanded(election(who)) => {
                self.joined.entry(process(who)).or_default().push_back(who);
            }
            Event::Sent { who, request: Asked::Acquire { .. }, .. }
                if !self.plan.is_commanded(election(who)) =>
            {
                self.acquires(who, at, tally)?;
            }
            _ => {}
        }
        let due = self.renewals.observe(at, event);
        if let (Some(due), Event::Sent { who, .. }) = (due, event) {
            self.late.push((at.since(due), at, *who));
        }
        Ok(())
    }
}

impl FairWithinAClass {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            joined: BTreeMap::new(),
            asked: BTreeSet::new(),
            renewals: Renewals::new(plan),
            late: Vec::new(),
            phase: 0,
        }
    }

    fn acquires(&mut self, who: Who, at: SimTime, tally: &mut Tally) -> Found {
        if !self.asked.insert(who) {
            return Ok(());
        }
        tally.count(true);
        match self.joined.entry(process(who)).or_default().pop_front() {
            Some(first) if first != who => Err(Finding::AskedOutOfTurn { who, first, at }),
            Some(_) | None => Ok(()),
        }
    }

    /// Judges the renewals of a phase whose rate is too low from its beginning to its end.
    fn end_phase(&mut self, at: SimTime, tally: &mut Tally) -> Found {
        let kind = self.plan.phases.get(self.phase).map(|phase| phase.kind);
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
        let most = (mean * TIMES).max(self.plan.config().request_timeout());
        match late.into_iter().max() {
            Some((late, at, who)) if late > most => {
                Err(Finding::RenewalLate { who, at, late, mean })
            }
            Some(_) | None => Ok(()),
        }
    }
}
