//! The node that a fault strikes, and the end of the fault.

use tenure_sim::engines::turmoil::run;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{
    FaultKind, LinkFault, LinksFault, Point, ProcessFault, SimTime, StoreFault, What,
};
use tenure_sim::trace::{Answer, Entry, Event, StoreStep};

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
fn a_store_clock_step_changes_no_record() {
    for by_ms in [-700, 700] {
        let mut plan = plan(vec![at(4_000, 0, What::Store(StoreFault::StoreClockStep { by_ms }))]);
        plan.work.takes_us = 1_500;
        let outcome = run(&plan, Judging::default()).unwrap();
        assert_eq!(outcome.judge.violation(), None);
        let steps: Vec<(SimTime, &StoreStep)> = outcome
            .trace
            .entries()
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::Store(step) => Some((entry.at, step)),
                _ => None,
            })
            .collect();
        assert!(steps.windows(2).all(|pair| pair[1].1.before == pair[0].1.after));
        let offset = |(at, step): &(SimTime, &StoreStep)| {
            step.now.cast_signed() - at.as_nanos().cast_signed()
        };
        let first = offset(&steps[0]);
        for step in &steps {
            let stepped = if step.0 >= ms(4_000) { by_ms * 1_000_000 } else { 0 };
            assert!((offset(step) - first - stepped).abs() < 1_000, "{step:?}");
        }
        let refused = |step: &&(SimTime, &StoreStep)| step.1.answer == Answer::Held;
        assert!(steps.iter().filter(refused).all(|(_, step)| step.before == step.after));
    }
}
