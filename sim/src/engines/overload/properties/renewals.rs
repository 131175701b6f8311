//! The due times of all leaders' renewals, by the store's answers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::journal::process;
use super::super::plan::Plan;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Event, Who};

/// The leases that candidates hold, and when each asks for its renewal at the latest.
///
/// The driver may ask up to an interval earlier, to spread the renewals. A renewal that was given
/// up is due again after the longest delay between attempts. A lease whose claim has ended is not
/// renewed.
#[derive(Debug)]
pub(super) struct Renewals {
    renew_interval: Duration,
    validity: Duration,
    retry_most: Duration,
    leases: BTreeMap<Who, Lease>,
    /// The leases without a request in flight.
    due: BTreeSet<(usize, SimTime, Who)>,
    sent: BTreeMap<Who, SimTime>,
    /// The renewals in flight, and their numbers.
    asked: BTreeSet<(Who, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    due: SimTime,
    valid_until: SimTime,
}

impl Renewals {
    pub(super) fn new(plan: &Plan) -> Self {
        let config = plan.config();
        Self {
            renew_interval: config.renew_interval(),
            validity: config.validity(),
            retry_most: config.retry().1,
            leases: BTreeMap::new(),
            due: BTreeSet::new(),
            sent: BTreeMap::new(),
            asked: BTreeSet::new(),
        }
    }

    /// Follows an event. Returns when the renewal was due that has just been sent.
    pub(super) fn observe(&mut self, at: SimTime, event: &Event) -> Option<SimTime> {
        match *event {
            Event::Sent { who, id, request } => return self.sent(at, (who, id), request),
            Event::Answered { who, id, answer } => self.answered(at, (who, id), answer),
            Event::SteppedDown { who, .. } => self.is_over(who),
            _ => {}
        }
        None
    }

    fn sent(&mut self, at: SimTime, (who, id): (Who, u64), request: Asked) -> Option<SimTime> {
        let was_due = self.leases.get(&who).map(|lease| lease.due);
        self.waits_no_more(who);
        match request {
            Asked::Renew { .. } => {
                self.sent.insert(who, at);
                self.asked.insert((who, id));
                return was_due;
            }
            Asked::Acquire { .. } => {
                self.sent.insert(who, at);
            }
            Asked::Release { .. } => {
                self.leases.remove(&who);
            }
            Asked::Look { .. } => {}
        }
        None
    }

    fn answered(&mut self, at: SimTime, request: (Who, u64), answer: Option<Answer>) {
        let (who, renews) = (request.0, self.asked.remove(&request));
        match answer {
            // A renewal that is answered after the end of its claim revives nothing.
            Some(Answer::Renewed { .. }) if !self.leases.contains_key(&who) => {}
            Some(Answer::Granted { .. } | Answer::Renewed { .. }) => {
                let sent = self.sent.get(&who).copied().unwrap_or(at);
                let due = sent + self.renew_interval;
                self.waits(who, Lease { due, valid_until: sent + self.validity });
            }
            None if renews => {
                if let Some(lease) = self.leases.get(&who).copied() {
                    self.waits(who, Lease { due: at + self.retry_most, ..lease });
                }
            }
            Some(_) if renews => self.is_over(who),
            Some(_) | None => {}
        }
    }

    fn is_over(&mut self, who: Who) {
        self.waits_no_more(who);
        self.leases.remove(&who);
    }

    /// The renewals of a process that were due before that time, and are still to be sent; and
    /// when.
    pub(super) fn late(
        &self,
        of: usize,
        before: SimTime,
        now: SimTime,
    ) -> impl Iterator<Item = (SimTime, Who)> {
        let least = Who { node: 0, life: 0 };
        let late = self.due.range((of, SimTime::START, least)..(of, before, least));
        late.filter(move |(.., who)| now < self.leases[who].valid_until)
            .map(|(_, due, who)| (*due, *who))
    }

    /// True if a candidate of that process holds a lease.
    pub(super) fn any_held(&self, of: usize) -> bool {
        self.leases.keys().any(|who| process(*who) == of)
    }

    fn waits(&mut self, who: Who, lease: Lease) {
        self.waits_no_more(who);
        self.due.insert((process(who), lease.due, who));
        self.leases.insert(who, lease);
    }

    fn waits_no_more(&mut self, who: Who) {
        if let Some(lease) = self.leases.get(&who) {
            self.due.remove(&(process(who), lease.due, who));
        }
    }
}
