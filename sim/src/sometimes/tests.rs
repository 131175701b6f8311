//! A history that meets each condition, and one that nearly does.

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
