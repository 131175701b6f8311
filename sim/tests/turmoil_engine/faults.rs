//! The node that a fault strikes, and the end of the fault.

use std::time::Duration;

use tenure_sim::plan::{FaultKind, LinkFault, LinksFault, Point, ProcessFault, StoreFault, What};
use tenure_sim::trace::{Entry, Event};

use super::{
    CALM_MS, at, began, carry_out, healed, leader_at, ms, on, places, plan, the_one, time,
};

#[test]
fn a_fault_without_node_strikes_the_leader() {
    let at_once = at(1, 100, LinkFault::Partition.at(None));
    let outcome = carry_out(&plan(vec![
        at_once,
        at(4_000, 100, ProcessFault::Pause.at(None)),
        at(5_000, 0, ProcessFault::Resign.at(None)),
    ]));
    assert!(places(&outcome, began(FaultKind::Partition)).is_empty());
    for kind in [FaultKind::Pause, FaultKind::Resign] {
        let begins = the_one(&outcome, began(kind));
        let Event::Fault { node, .. } = outcome.trace.entries()[begins].event else {
            panic!("no fault");
        };
        assert!(node.is_some() && node == leader_at(&outcome, begins));
    }
    the_one(&outcome, |event| matches!(event, Event::ResignAsked { .. }));
}

#[test]
fn faults_and_triggers_end_before_the_recovery_phase() {
    let outcome = carry_out(&plan(vec![
        at(CALM_MS - 10, 60_000, LinkFault::Partition.at(Some(0))),
        at(CALM_MS - 10, 60_000, ProcessFault::Crash { power: false }.at(Some(1))),
        on(Point::Leads, None, 99, 60_000, What::Store(StoreFault::StoreStall)),
    ]));
    let calm = the_one(&outcome, |event| matches!(event, Event::Calm));
    for kind in [FaultKind::Partition, FaultKind::Crash] {
        assert_eq!(time(&outcome, the_one(&outcome, healed(kind))), time(&outcome, calm));
    }
    assert!(places(&outcome, began(FaultKind::StoreStall)).is_empty());
}

#[test]
fn a_pause_ends_with_its_process() {
    let outcome = carry_out(&plan(vec![
        at(3_000, 4_000, ProcessFault::Pause.at(Some(1))),
        at(3_500, 100, ProcessFault::Crash { power: false }.at(Some(1))),
    ]));
    let ends = the_one(&outcome, healed(FaultKind::Pause));
    assert_eq!(time(&outcome, ends), ms(3_500));
    let is_sent = |entry: &&Entry| matches!(entry.event, Event::Sent { who, .. } if who.node == 1 && who.life == 1);
    let first = outcome.trace.entries().iter().find(is_sent).unwrap();
    assert!(first.at < ms(5_000));
}

#[test]
fn a_swizzle_is_a_fault_of_each_node() {
    let swizzle = What::Links(LinksFault::Swizzle { step_ms: 50, shift: 1 });
    let outcome = carry_out(&plan(vec![at(3_000, 1_500, swizzle)]));
    let times = |places: Vec<usize>| -> Vec<u64> {
        places.into_iter().map(|place| time(&outcome, place).as_millis()).collect()
    };
    assert_eq!(times(places(&outcome, began(FaultKind::Swizzle))), [3_000, 3_050, 3_100]);
    assert_eq!(times(places(&outcome, healed(FaultKind::Swizzle))), [4_550, 4_600, 4_650]);
    let answered = |entry: &&Entry| matches!(entry.event, Event::Answered { answer: Some(_), .. });
    let during = outcome.trace.entries().iter().filter(answered);
    let cut_off = |entry: &&Entry| (ms(3_200)..ms(4_500)).contains(&entry.at);
    assert_eq!(during.filter(cut_off).count(), 0);
}

#[test]
fn a_store_clock_step_ends_no_lease() {
    const HOUR_MS: i64 = 3_600_000;
    for by_ms in [-HOUR_MS, HOUR_MS] {
        let step = What::Store(StoreFault::StoreClockStep { by_ms });
        let outcome = carry_out(&plan(vec![at(4_000, 0, step)]));
        the_one(&outcome, |event| {
            let stepped = [FaultKind::StoreClockBack, FaultKind::StoreClockStep];
            matches!(event, Event::Effect { kind, .. } if stepped.contains(kind))
        });
        the_one(&outcome, |event| matches!(event, Event::Leads { .. }));
        assert!(places(&outcome, |event| matches!(event, Event::LeadsNoMore { .. })).is_empty());

        let crash = ProcessFault::Crash { power: false }.at(None);
        let outcome = carry_out(&plan(vec![at(4_000, 0, step), at(4_100, 60_000, crash)]));
        let crashed = the_one(&outcome, |event| matches!(event, Event::Crashed { .. }));
        let leads = places(&outcome, |event| matches!(event, Event::Leads { .. }));
        let next = leads.into_iter().find(|place| *place > crashed).unwrap();
        let waited = time(&outcome, next).since(time(&outcome, crashed));
        assert!(waited < Duration::from_millis(1_500), "{by_ms}: {waited:?}");
    }
}
