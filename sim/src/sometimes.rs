//! What a campaign has to have met before "nothing violated" means anything.
//!
//! Each condition is counted by what happened, as the trace tells it, and never by what a plan
//! intended. Not guaranteed: that a run in which a condition was met would have shown a bug there.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::True;
use crate::plan::FaultKind;
use crate::properties::new_tenure;
use crate::trace::{Answer, Asked, Event, Kept, Reason, StoreStep, Who};

/// A grant over an ended lease of another holder that nobody had handed back.
const TAKEOVER_AFTER_EXPIRY: &str = "takeover-after-expiry";
/// A grant over a lease that another holder had just handed back.
const GRACEFUL_HANDOVER: &str = "graceful-handover";
/// A grant told to its live holder again: the first reply was lost, or late.
const LOST_GRANT_RETRIED: &str = "lost-grant-retried";
/// An acquire of somebody who did not know the last tenure.
const STALE_ACQUIRE_REFUSED: &str = "stale-acquire-refused";
/// A renewal of a tenure that was over.
const RENEWAL_SUPERSEDED: &str = "renewal-superseded";
/// A leader that stepped down because its clock said so.
const LEADER_EXPIRED_BY_CLOCK: &str = "leader-expired-by-clock";
/// A write that the fenced sink refused.
const STALE_WRITE_FENCED: &str = "stale-write-fenced";
/// A grant, after the store had lost all data, whose holder had to wait before it could lead.
const QUARANTINE_WAITED: &str = "quarantine-after-store-loss";
/// A loss of all data while somebody led.
const STORE_LOST_DATA_UNDER_A_LEADER: &str = "store-lost-data-under-a-leader";
/// A crash of a node that led.
const LEADER_CRASHED: &str = "leader-crashed";
/// A cut-off leader whose `is_leader()` ended by its clock before the fault did.
const LED_WHILE_PARTITIONED: &str = "led-while-partitioned-and-ended-itself";
/// A leader whose `is_leader()` ended by its clock while it stood still.
const LEADER_PAUSED_PAST_ITS_LEASE: &str = "leader-paused-past-its-lease";
/// A resignation while work of that tenure was under way.
const RESIGNED_UNDER_WORK: &str = "resigned-under-work";
/// A release of a tenure whose work had ended.
const RELEASE_AFTER_DRAIN: &str = "release-after-drain";

/// The names of all conditions.
pub const NAMES: [&str; 14] = [
    TAKEOVER_AFTER_EXPIRY,
    GRACEFUL_HANDOVER,
    LOST_GRANT_RETRIED,
    STALE_ACQUIRE_REFUSED,
    RENEWAL_SUPERSEDED,
    LEADER_EXPIRED_BY_CLOCK,
    STALE_WRITE_FENCED,
    QUARANTINE_WAITED,
    STORE_LOST_DATA_UNDER_A_LEADER,
    LEADER_CRASHED,
    LED_WHILE_PARTITIONED,
    LEADER_PAUSED_PAST_ITS_LEASE,
    RESIGNED_UNDER_WORK,
    RELEASE_AFTER_DRAIN,
];

const CUTS_OFF: [FaultKind; 3] = [FaultKind::Partition, FaultKind::OneWay, FaultKind::Hold];
const STANDS_STILL: [FaultKind; 4] =
    [FaultKind::Pause, FaultKind::PauseAtGuard, FaultKind::PauseAtSend, FaultKind::PauseAfterSend];

/// A grant that comes later than that after a release owes nothing to it.
const HANDOVER_MOST: u64 = 2_000_000_000;

/// Counts how often each condition was met.
#[derive(Clone, Debug, Default)]
pub struct Sometimes {
    met: BTreeMap<&'static str, u64>,
    lives: BTreeMap<Who, Life>,
    /// The faults that last, and the node of each.
    faults: Vec<(FaultKind, usize)>,
    /// Token and time of the last release.
    released: Option<(u64, True)>,
    /// The tokens under which work has ended.
    worked: BTreeSet<u64>,
    /// The store has lost its data at least once.
    lost_data: bool,
}

/// Of one life of a node. No token is zero.
#[derive(Clone, Debug, Default)]
struct Life {
    /// Under which token `is_leader()` is true.
    leads: Option<u64>,
    /// The last token from which it stepped down, for another reason than its clock.
    given_up: Option<u64>,
    /// The tokens of the work under way.
    work: Vec<u64>,
}

impl Sometimes {
    /// Looks at what happened next.
    pub fn observe(&mut self, at: True, event: &Event) {
        match *event {
            Event::Store(ref step) => self.store_stepped(at, step),
            Event::StoreCrashed { keeps_data: false } => {
                self.lost_data = true;
                self.data_lost();
            }
            Event::Fault { kind, node: Some(node) } => self.faults.push((kind, node)),
            Event::Healed { kind, node: Some(node) } if STANDS_STILL.contains(&kind) => {
                self.goes_on(node);
            }
            Event::Healed { kind, node: Some(node) } => take(&mut self.faults, &(kind, node)),
            Event::Started { who } => self.goes_on(who.node),
            Event::Leads { who, token } => self.life(who).leads = Some(token),
            Event::LeadsNoMore { who } => self.leads_no_more(who),
            Event::SteppedDown { who, token, reason } => self.stepped_down(who, token, reason),
            Event::Crashed { who } => self.crashed(who),
            Event::WorkBegan { who, token } => self.life(who).work.push(token),
            Event::WorkEnded { who, token } => {
                take(&mut self.life(who).work, &token);
                self.worked.insert(token);
            }
            Event::Wrote { accepted_by_fenced: false, .. } => self.met(STALE_WRITE_FENCED),
            _ => {}
        }
    }

    /// How often each condition was met; those that never were are there with zero.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        NAMES.into_iter().map(|name| (name, self.met.get(name).copied().unwrap_or(0))).collect()
    }

    fn met(&mut self, name: &'static str) {
        *self.met.entry(name).or_default() += 1;
    }

    fn life(&mut self, who: Who) -> &mut Life {
        self.lives.entry(who).or_default()
    }

    fn store_stepped(&mut self, at: True, step: &StoreStep) {
        match step.answer {
            Answer::Granted { waits, .. } => {
                if waits && self.lost_data {
                    self.met(QUARANTINE_WAITED);
                }
                if new_tenure(at, step).is_none() {
                    self.met(LOST_GRANT_RETRIED);
                } else if let Some(before) = step.before.filter(|kept| kept.holder != step.holder) {
                    self.succeeded(at, before);
                }
            }
            Answer::Stale => self.met(STALE_ACQUIRE_REFUSED),
            Answer::Superseded => self.met(RENEWAL_SUPERSEDED),
            Answer::Released => {
                if let Asked::Release { token } = step.request {
                    self.released = Some((token, at));
                    if self.worked.contains(&token) {
                        self.met(RELEASE_AFTER_DRAIN);
                    }
                }
            }
            Answer::Held | Answer::Renewed | Answer::NotHeld | Answer::Other => {}
        }
    }

    /// Another holder's lease was granted, after that one.
    fn succeeded(&mut self, at: True, before: Kept) {
        if !before.released {
            if at >= before.lease_ends {
                self.met(TAKEOVER_AFTER_EXPIRY);
            }
            return;
        }
        if let Some((token, released_at)) = self.released
            && token == before.token
            && at.saturating_sub(released_at) <= HANDOVER_MOST
        {
            self.met(GRACEFUL_HANDOVER);
        }
    }

    fn data_lost(&mut self) {
        if self.lives.values().any(|life| life.leads.is_some()) {
            self.met(STORE_LOST_DATA_UNDER_A_LEADER);
        }
    }

    fn crashed(&mut self, who: Who) {
        if self.lives.remove(&who).is_some_and(|life| life.leads.is_some()) {
            self.met(LEADER_CRASHED);
        }
    }

    fn stepped_down(&mut self, who: Who, token: u64, reason: Reason) {
        match reason {
            Reason::Expired => self.met(LEADER_EXPIRED_BY_CLOCK),
            Reason::Resigned => {
                self.life(who).given_up = Some(token);
                if self.life(who).work.contains(&token) {
                    self.met(RESIGNED_UNDER_WORK);
                }
            }
            Reason::Superseded | Reason::RenewFailed | Reason::Other => {
                self.life(who).given_up = Some(token);
            }
        }
    }

    fn leads_no_more(&mut self, who: Who) {
        let life = self.life(who);
        let led = life.leads.take();
        if led.is_none() || led == life.given_up {
            return;
        }
        // Nobody but its clock has ended it.
        if self.suffers(who.node, &CUTS_OFF) {
            self.met(LED_WHILE_PARTITIONED);
        }
        if self.suffers(who.node, &STANDS_STILL) {
            self.met(LEADER_PAUSED_PAST_ITS_LEASE);
        }
    }

    /// A process that goes on stands still for no reason any more, nor does one that begins.
    fn goes_on(&mut self, node: usize) {
        self.faults.retain(|(kind, of)| *of != node || !STANDS_STILL.contains(kind));
    }

    fn suffers(&self, node: usize, kinds: &[FaultKind]) -> bool {
        self.faults.iter().any(|(kind, at_node)| *at_node == node && kinds.contains(kind))
    }
}

/// Takes one of those that are equal.
fn take<T: PartialEq>(from: &mut Vec<T>, one: &T) {
    if let Some(index) = from.iter().position(|other| other == one) {
        from.swap_remove(index);
    }
}

#[cfg(test)]
mod tests;
