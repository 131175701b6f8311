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
mod tests {
    use super::*;
    use crate::properties::history::{
        back, crashed, grant, kept, leads, leads_no_more, n, refuse, release, renew, step,
        stepped_down, work_began, work_ended, wrote,
    };

    const SECOND: u64 = 1_000_000_000;

    /// The conditions met, each as often as it was.
    fn met(history: &[(True, Event)]) -> Vec<&'static str> {
        let mut sometimes = Sometimes::default();
        for (at, event) in history {
            sometimes.observe(*at, event);
        }
        let counts = sometimes.counts();
        counts.into_iter().flat_map(|(name, times)| (0..times).map(move |_| name)).collect()
    }

    fn fault(kind: FaultKind, node: usize) -> Event {
        Event::Fault { kind, node: Some(node) }
    }

    fn healed(kind: FaultKind, node: usize) -> Event {
        Event::Healed { kind, node: Some(node) }
    }

    #[test]
    fn all_are_counted_from_the_beginning() {
        let counts = Sometimes::default().counts();
        assert_eq!(counts.len(), NAMES.len());
        assert!(counts.values().all(|times| *times == 0));
    }

    #[test]
    fn takeover_after_expiry() {
        let (lease, next) = (kept(1, 7, 100), kept(2, 8, 200));
        let taken = |at, before, after| met(&[(0, grant(None, lease)), (at, grant(before, after))]);
        assert_eq!(taken(100, Some(lease), next), [TAKEOVER_AFTER_EXPIRY]);
        assert!(taken(99, Some(lease), next).is_empty(), "that one is stolen");
        assert!(taken(100, Some(back(lease)), next).is_empty());
        assert!(taken(100, Some(lease), kept(1, 8, 200)).is_empty(), "its own lease");
        assert!(taken(100, None, next).is_empty(), "lost with the store's data");
    }

    #[test]
    fn graceful_handover() {
        let lease = kept(1, 7, 9 * SECOND);
        let handed = |at, by| {
            let next = grant(Some(back(lease)), kept(by, 8, 99 * SECOND));
            met(&[(0, grant(None, lease)), (SECOND, release(lease)), (at, next)])
        };
        assert_eq!(handed(3 * SECOND, 2), [GRACEFUL_HANDOVER]);
        assert!(handed(3 * SECOND + 1, 2).is_empty());
        assert!(handed(SECOND, 1).is_empty(), "its own lease");
    }

    #[test]
    fn lost_grant_retried() {
        let lease = kept(1, 7, 100);
        let retried = |at| met(&[(0, grant(None, lease)), (at, grant(Some(lease), lease))]);
        assert_eq!(retried(99), [LOST_GRANT_RETRIED]);
        assert!(retried(100).is_empty());
    }

    #[test]
    fn refusals_by_the_store() {
        let record = Some(back(kept(1, 7, 100)));
        let stale = refuse(2, Asked::Acquire { seen: 0 }, Answer::Stale, record);
        assert_eq!(met(&[(1, stale.clone()), (2, stale)]), [STALE_ACQUIRE_REFUSED; 2]);
        let superseded = refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, record);
        assert_eq!(met(&[(1, superseded)]), [RENEWAL_SUPERSEDED]);
        let held = Some(kept(1, 7, 100));
        assert!(
            met(&[
                (1, refuse(2, Asked::Acquire { seen: 0 }, Answer::Held, held)),
                (2, refuse(2, Asked::Release { token: 6 }, Answer::NotHeld, held)),
                (3, renew(kept(1, 7, 100), 103)),
            ])
            .is_empty()
        );
    }

    #[test]
    fn leader_expired_by_clock() {
        assert_eq!(met(&[(1, stepped_down(n(0), 7, Reason::Expired))]), [LEADER_EXPIRED_BY_CLOCK]);
        for reason in [Reason::Superseded, Reason::Resigned, Reason::RenewFailed, Reason::Other] {
            assert!(met(&[(1, stepped_down(n(0), 7, reason))]).is_empty());
        }
    }

    #[test]
    fn stale_write_fenced() {
        assert_eq!(met(&[(1, wrote(n(0), 7, false))]), [STALE_WRITE_FENCED]);
        assert!(met(&[(1, wrote(n(0), 7, true))]).is_empty());
    }

    #[test]
    fn quarantine_waited() {
        let granted = |waits| {
            let answer = Answer::Granted { token: 7, waits };
            step(1, Asked::Acquire { seen: 0 }, answer, None, Some(kept(1, 7, 100)))
        };
        let crashed = |keeps_data| (0, Event::StoreCrashed { keeps_data });
        assert_eq!(met(&[crashed(false), (1, granted(true))]), [QUARANTINE_WAITED]);
        assert!(met(&[crashed(false), (1, granted(false))]).is_empty());
        assert!(met(&[crashed(true), (1, granted(true))]).is_empty());
    }

    #[test]
    fn store_lost_data_under_a_leader() {
        let lost = |keeps_data| (5, Event::StoreCrashed { keeps_data });
        let leading = (1, leads(n(0), 7));
        assert_eq!(met(&[leading.clone(), lost(false)]), [STORE_LOST_DATA_UNDER_A_LEADER]);
        assert!(met(&[leading.clone(), lost(true)]).is_empty());
        assert!(met(&[leading, (2, leads_no_more(n(0))), lost(false)]).is_empty());
        assert!(met(&[lost(false)]).is_empty());
    }

    #[test]
    fn leader_crashed() {
        let leading = (1, leads(n(0), 7));
        assert_eq!(met(&[leading.clone(), (5, crashed(n(0)))]), [LEADER_CRASHED]);
        assert!(met(&[leading.clone(), (5, crashed(n(1)))]).is_empty());
        assert!(met(&[leading.clone(), (2, leads_no_more(n(0))), (5, crashed(n(0)))]).is_empty());
        let after_its_end =
            [leading, (5, crashed(n(0))), (6, Event::StoreCrashed { keeps_data: false })];
        assert_eq!(met(&after_its_end), [LEADER_CRASHED]);
    }

    #[test]
    fn ended_by_its_clock_during_a_fault() {
        for (kinds, condition) in
            [(&CUTS_OFF[..], LED_WHILE_PARTITIONED), (&STANDS_STILL, LEADER_PAUSED_PAST_ITS_LEASE)]
        {
            for &kind in kinds {
                let (leading, ends) = ((1, leads(n(0), 7)), (90, leads_no_more(n(0))));
                let down = |reason| (89, stepped_down(n(0), 7, reason));
                let suffering = |history: &[(True, Event)]| {
                    met(&[&[leading.clone(), (2, fault(kind, 0))], history].concat())
                };
                assert_eq!(suffering(std::slice::from_ref(&ends)), [condition]);
                let told = suffering(&[down(Reason::Expired), ends.clone()]);
                assert_eq!(told.len(), 2, "whichever is written down first: {told:?}");
                assert!(suffering(&[down(Reason::Resigned), ends.clone()]).is_empty());
                assert!(suffering(&[down(Reason::Superseded), ends.clone()]).is_empty());
                assert!(suffering(&[(80, healed(kind, 0)), ends.clone()]).is_empty());
                assert_eq!(suffering(&[(80, healed(kind, 1)), ends.clone()]), [condition]);
                assert_eq!(suffering(&[(85, crashed(n(0))), ends.clone()]), [LEADER_CRASHED]);
                let elsewhere = [leading.clone(), (2, fault(kind, 1)), ends.clone()];
                assert!(met(&elsewhere).is_empty());
            }
        }
        let other = [(1, leads(n(0), 7)), (2, fault(FaultKind::Latency, 0))];
        assert!(met(&[&other[..], &[(90, leads_no_more(n(0)))]].concat()).is_empty());
    }

    #[test]
    fn a_process_that_goes_on_stands_still_for_no_reason_any_more() {
        let stood_still = |next| {
            met(&[
                (1, fault(FaultKind::PauseAtGuard, 0)),
                (2, fault(FaultKind::Pause, 0)),
                (3, next),
                (4, leads(n(0), 7)),
                (90, leads_no_more(n(0))),
            ])
        };
        assert!(stood_still(healed(FaultKind::Pause, 0)).is_empty());
        assert!(stood_still(Event::Started { who: n(0) }).is_empty());
        let still = [LEADER_PAUSED_PAST_ITS_LEASE];
        assert_eq!(stood_still(healed(FaultKind::Pause, 1)), still);
        assert_eq!(stood_still(healed(FaultKind::Partition, 0)), still);
        assert_eq!(stood_still(Event::Started { who: n(1) }), still);
    }

    #[test]
    fn a_process_that_begins_is_still_cut_off() {
        let cut_off = [
            (1, fault(FaultKind::Hold, 0)),
            (2, Event::Started { who: n(0) }),
            (3, leads(n(0), 7)),
            (90, leads_no_more(n(0))),
        ];
        assert_eq!(met(&cut_off), [LED_WHILE_PARTITIONED]);
        let healed = healed(FaultKind::Pause, 0);
        let [first, _, rest @ ..] = cut_off;
        assert_eq!(met(&[&[first, (2, healed)], &rest[..]].concat()), [LED_WHILE_PARTITIONED]);
    }

    #[test]
    fn of_two_faults_at_once_one_may_heal() {
        let cut_twice = [
            (1, leads(n(0), 7)),
            (2, fault(FaultKind::Partition, 0)),
            (3, fault(FaultKind::Partition, 0)),
            (4, healed(FaultKind::Partition, 0)),
            (90, leads_no_more(n(0))),
        ];
        assert_eq!(met(&cut_twice), [LED_WHILE_PARTITIONED]);
    }

    #[test]
    fn resigned_under_work() {
        let down = |token| (5, stepped_down(n(0), token, Reason::Resigned));
        let working = (1, work_began(n(0), 7));
        assert_eq!(met(&[working.clone(), down(7)]), [RESIGNED_UNDER_WORK]);
        assert!(met(&[working.clone(), down(8)]).is_empty());
        assert!(met(&[working.clone(), (2, work_ended(n(0), 7)), down(7)]).is_empty());
        let superseded = (5, stepped_down(n(0), 7, Reason::Superseded));
        assert!(met(&[working, superseded]).is_empty());
        assert!(met(&[(1, work_began(n(1), 7)), down(7)]).is_empty());
    }

    #[test]
    fn release_after_drain() {
        let (began, ended) = ((1, work_began(n(0), 7)), (2, work_ended(n(0), 7)));
        let released = |token| (3, release(kept(1, token, 100)));
        assert_eq!(met(&[began.clone(), ended.clone(), released(7)]), [RELEASE_AFTER_DRAIN]);
        assert!(met(&[began.clone(), ended, released(8)]).is_empty());
        assert!(met(&[began, released(7)]).is_empty());
    }
}
