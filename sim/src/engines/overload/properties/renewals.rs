//! When the renewals of all leaders are due, as the store's answers say.

use std::collections::{BTreeMap, BTreeSet};

use super::super::journal::{Answer, Asks, Event, Who};
use super::super::plan::Plan;
use crate::plan::SimTime;

/// The leases that candidates hold, and when each asks for its renewal at the latest.
///
/// The driver may ask up to an interval earlier, to spread the renewals. A renewal that was given up is due again after
/// the longest delay between attempts. A lease whose claim has ended is not renewed.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    leases: BTreeMap<Who, Lease>,
    /// The leases without a request in flight.
    due: BTreeSet<(u32, SimTime, Who)>,
    sent: BTreeMap<Who, SimTime>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    due: SimTime,
    valid_until: SimTime,
}

impl Renewals {
    /// Follows an event. Returns when the renewal was due that has just been sent.
    pub(super) fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event) -> Option<SimTime> {
        let config = plan.config();
        match *event {
            Event::Sent(who, asks) => {
                let was_due = self.leases.get(&who).map(|lease| lease.due);
                self.waits_no_more(who);
                match asks {
                    Asks::Renew => {
                        self.sent.insert(who, at);
                        return was_due;
                    }
                    Asks::Acquire => {
                        self.sent.insert(who, at);
                    }
                    Asks::Release => {
                        self.leases.remove(&who);
                    }
                }
            }
            // A renewal that is answered after the end of its claim revives nothing.
            Event::Ended(who, Asks::Renew, Answer::Renewed) if !self.leases.contains_key(&who) => {}
            Event::Ended(who, Asks::Acquire, Answer::Granted(_))
            | Event::Ended(who, Asks::Renew, Answer::Renewed) => {
                let sent = self.sent.get(&who).copied().unwrap_or(at);
                let due = sent + config.renew_interval();
                self.waits(who, Lease { due, valid_until: sent + config.validity() });
            }
            Event::Ended(who, Asks::Renew, Answer::GivenUp) => {
                if let Some(lease) = self.leases.get(&who).copied() {
                    self.waits(who, Lease { due: at + config.retry().1, ..lease });
                }
            }
            Event::Ended(who, Asks::Renew, _) | Event::SteppedDown { who, .. } => {
                self.waits_no_more(who);
                self.leases.remove(&who);
            }
            Event::Ended(..)
            | Event::Joined(_)
            | Event::CallBegan { .. }
            | Event::CallEnded { .. }
            | Event::Elected { .. }
            | Event::AskedToResign(_)
            | Event::Lagged(_) => {}
        }
        None
    }

    /// The renewals of a process that were due before that time, and are still to be sent; and when.
    pub(super) fn late(
        &self,
        process: u32,
        before: SimTime,
        now: SimTime,
    ) -> impl Iterator<Item = (SimTime, Who)> {
        let least = Who { process: 0, election: 0 };
        let late = self.due.range((process, SimTime::START, least)..(process, before, least));
        late.filter(move |(.., who)| now < self.leases[who].valid_until)
            .map(|(_, due, who)| (*due, *who))
    }

    /// Whether a candidate of that process holds a lease.
    pub(super) fn any_held(&self, process: u32) -> bool {
        self.leases.keys().any(|who| who.process == process)
    }

    fn waits(&mut self, who: Who, lease: Lease) {
        self.waits_no_more(who);
        self.due.insert((who.process, lease.due, who));
        self.leases.insert(who, lease);
    }

    fn waits_no_more(&mut self, who: Who) {
        if let Some(lease) = self.leases.get(&who) {
            self.due.remove(&(who.process, lease.due, who));
        }
    }
}
