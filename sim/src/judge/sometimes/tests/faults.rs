//! Conditions on faults, and on the leader that they strike.

use super::*;
use crate::judge::properties::history::{crashed, leads, leads_no_more, n, stepped_down};
use crate::plan::Shown;
use crate::trace::Reason;

fn led() -> (u64, Event) {
    (1, leads(n(0), 7))
}

fn ended() -> (u64, Event) {
    (90, leads_no_more(n(0)))
}

#[test]
fn ended_by_its_clock_during_a_fault() {
    for (kinds, condition) in [
        (&FaultKind::CUTS_OFF[..], Condition::LedWhilePartitioned),
        (&FaultKind::PAUSES, Condition::LeaderPausedPastItsLease),
    ] {
        for &kind in kinds {
            let down = |reason| (89, stepped_down(n(0), 7, reason));
            let strikes = (2, fault(kind, 0));
            meets(condition, &[led(), strikes.clone(), ended()]);
            // In either order.
            meets(condition, &[led(), strikes.clone(), down(Reason::Expired), ended()]);
            misses(
                condition,
                &[
                    &[led(), strikes.clone(), down(Reason::Resigned), ended()],
                    &[led(), strikes.clone(), down(Reason::Superseded), ended()],
                    &[led(), strikes.clone(), (85, crashed(n(0))), ended()],
                    &[led(), strikes, (3, healed(kind, 0)), ended()],
                    &[led(), (2, fault(kind, 1)), ended()],
                    &[led(), (2, fault(FaultKind::Latency, 0)), ended()],
                ],
            );
        }
    }
}

#[test]
fn resuming_ends_every_pause_of_the_process() {
    let paused = |next| {
        let pauses = [(1, fault(FaultKind::PauseAtGuard, 0)), (2, fault(FaultKind::Pause, 0))];
        [&pauses[..], &[(3, next), (4, leads(n(0), 7)), ended()]].concat()
    };
    let condition = Condition::LeaderPausedPastItsLease;
    let resumed = paused(healed(FaultKind::Pause, 0));
    misses(condition, &[&resumed, &paused(Event::Started { who: n(0) })]);
    meets(condition, &paused(healed(FaultKind::Pause, 1)));
    meets(condition, &paused(healed(FaultKind::Partition, 0)));
    meets(condition, &paused(Event::Started { who: n(1) }));
}

#[test]
fn a_started_process_is_still_cut_off() {
    let begins = |event| {
        [(1, fault(FaultKind::Hold, 0)), (2, event), (3, leads(n(0), 7)), (90, leads_no_more(n(0)))]
    };
    meets(Condition::LedWhilePartitioned, &begins(Event::Started { who: n(0) }));
    meets(Condition::LedWhilePartitioned, &begins(healed(FaultKind::Pause, 0)));
}

#[test]
fn one_of_two_equal_faults_may_heal() {
    let cut = |at| (at, fault(FaultKind::Partition, 0));
    let heals = (4, healed(FaultKind::Partition, 0));
    let cut_twice = [led(), cut(2), cut(3), heals.clone(), ended()];
    meets(Condition::LedWhilePartitioned, &cut_twice);
    misses(Condition::LedWhilePartitioned, &[&[led(), cut(2), heals, ended()]]);
    misses(Condition::LedWhilePartitioned, &[&[led(), cut(2), (3, Event::Calm), ended()]]);
}

#[test]
fn resigned_while_cut_off() {
    let down = |reason| (5, stepped_down(n(0), 7, reason));
    let cut = |node| (2, fault(FaultKind::OneWay, node));
    meets(Condition::ResignedWhileCutOff, &[led(), cut(0), down(Reason::Resigned)]);
    misses(
        Condition::ResignedWhileCutOff,
        &[
            &[led(), cut(1), down(Reason::Resigned)],
            &[led(), cut(0), down(Reason::Expired)],
            &[led(), cut(0), (3, healed(FaultKind::OneWay, 0)), down(Reason::Resigned)],
        ],
    );
}

/// The count of the condition that shows a kind, in a history.
fn shows(kind: FaultKind, history: &[(u64, Event)]) -> u64 {
    counts(history)[kind.shown_by().expect("a condition").name()]
}

#[test]
fn kinds_are_shown_under_a_leader() {
    let shown = FaultKind::ALL.into_iter().filter_map(|kind| Some((kind, kind.shown_by()?)));
    for (kind, by) in shown.filter(|(kind, _)| *kind != FaultKind::VmRestore) {
        let node = kind.example().and_then(|what| what.is_of_a_node().then_some(0));
        let effect = |node| Event::Effect { kind, node };
        let other = Event::Effect { kind: FaultKind::StoreStall, node: None };
        let needs_a_leader = matches!(by, Shown::UnderALeader(_));
        assert_eq!(shows(kind, &[led(), (2, effect(node))]), 1, "{kind}");
        let late = shows(kind, &[led(), ended(), (91, effect(node))]);
        assert_eq!(late, u64::from(!needs_a_leader), "{kind}");
        assert_eq!(shows(kind, &[led(), (2, other)]), 0, "{kind}");
        if node.is_some() && needs_a_leader {
            assert_eq!(shows(kind, &[led(), (2, effect(Some(1)))]), 0, "{kind}");
        }
    }
    assert!(FaultKind::FillMemory.shown_by().is_some_and(|by| matches!(by, Shown::ByItsEffect(_))));
}

#[test]
fn leader_restored_from_a_snapshot() {
    let kind = FaultKind::VmRestore;
    let taken = (2, Event::Fault { kind, node: Some(0) });
    let back = |node| (99, fault(kind, node));
    assert_eq!(shows(kind, &[led(), taken.clone(), ended(), back(0)]), 1);
    let late = (95, Event::Fault { kind, node: Some(0) });
    for history in [
        &[led(), taken.clone(), back(1)][..],
        &[led(), taken, (99, healed(kind, 0))],
        &[led(), ended(), late, back(0)],
    ] {
        assert_eq!(shows(kind, history), 0, "{history:?}");
    }
}

#[test]
fn a_restored_machine_and_drift_do_not_last() {
    let pause = |node| (1, fault(FaultKind::Pause, node));
    for (kind, node) in [(FaultKind::VmRestore, Some(2)), (FaultKind::Drift, None)] {
        misses(
            Condition::SeveralFaultsAtOnce,
            &[&[pause(0), (2, Event::Effect { kind, node }), pause(1)]],
        );
    }
}

#[test]
fn an_ordered_fault_without_effect_meets_nothing() {
    let all = FaultKind::ALL
        .into_iter()
        .flat_map(|kind| [None, Some(0)].map(|node| (2, Event::Fault { kind, node })));
    let ends = [(89, stepped_down(n(0), 7, Reason::Expired)), ended()];
    let history: Vec<_> = [led()].into_iter().chain(all).chain(ends).collect();
    let met: Vec<_> = counts(&history).into_iter().filter(|(_, times)| *times > 0).collect();
    assert_eq!(met, [(Condition::LeaderExpiredByClock.name(), 1)]);
}

#[test]
fn all_nodes_cut_off() {
    let starts = |node| (0, Event::Started { who: n(node) });
    let cut = |kind, node| (2, fault(kind, node));
    let both = [cut(FaultKind::Partition, 0), cut(FaultKind::Hold, 1)];
    meets(Condition::AllNodesCutOff, &[&[starts(0), starts(1)], &both[..]].concat());
    // Once they are, another fault makes no difference.
    let more = [&[starts(0), starts(1)], &both[..], &[cut(FaultKind::OneWay, 1)]].concat();
    meets(Condition::AllNodesCutOff, &more);
    misses(
        Condition::AllNodesCutOff,
        &[
            &[&[starts(0), starts(1), starts(2)], &both[..]].concat(),
            &[starts(0), cut(FaultKind::Partition, 0)],
            &[starts(0), starts(1), cut(FaultKind::Partition, 0), cut(FaultKind::Pause, 1)],
        ],
    );
}

#[test]
fn several_faults_at_once() {
    let pause = |node| (1, fault(FaultKind::Pause, node));
    let stall = (2, of_the_store(FaultKind::StoreStall));
    meets(Condition::SeveralFaultsAtOnce, &[pause(0), pause(1), stall.clone()]);
    let cut = (1, fault(FaultKind::Cut, 1));
    let heals = (1, healed(FaultKind::Pause, 1));
    misses(
        Condition::SeveralFaultsAtOnce,
        &[&[pause(0), cut, stall.clone()], &[pause(0), pause(1), heals, stall]],
    );
}
