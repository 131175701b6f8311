//! Faults that wait for a point of the run.

use std::time::Duration;

use tenure_sim::plan::{
    Fault, FaultKind, LinkFault, Point, ProcessFault, StoreFault, Trigger, What, When,
};
use tenure_sim::trace::{Answer, Asked, Entry, Event, StoreStep};

use super::{began, carry_out, healed, ms, on, places, plan, the_one, time};

#[test]
fn a_pause_after_sending_delays_the_reply() {
    let outcome =
        carry_out(&plan(vec![on(Point::Sent, Some(1), 2, 200, ProcessFault::Pause.at(None))]));
    let begins = the_one(&outcome, began(FaultKind::PauseAfterSend));
    let ends = the_one(&outcome, healed(FaultKind::PauseAfterSend));
    assert_eq!(time(&outcome, ends).since(time(&outcome, begins)), Duration::from_millis(200));
    let entries = outcome.trace.entries();
    let sent: Vec<_> = entries[..begins]
        .iter()
        .filter(|entry| entry.at > ms(3_000))
        .filter_map(|entry| match entry.event {
            Event::Sent { who, id, .. } if who.node == 1 => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(sent.len(), 2);
    let is_answer = |event: &Event| matches!(event, Event::Answered { who, id, .. } if who.node == 1 && *id == sent[1]);
    // The old answer is read when the process resumes, or the request has been given up by then.
    for answer in places(&outcome, is_answer) {
        assert!(time(&outcome, answer) >= time(&outcome, ends));
    }
    assert!(entries[begins..ends].iter().all(|entry| match &entry.event {
        Event::Sent { who, .. } | Event::Answered { who, .. } | Event::Wrote { who, .. } =>
            who.node != 1,
        _ => true,
    }));
}

#[test]
fn a_pause_before_sending_delays_the_request() {
    let mut alone = plan(vec![on(Point::Send, None, 1, 150, ProcessFault::Pause.at(None))]);
    alone.nodes.truncate(1);
    let outcome = carry_out(&alone);
    let begins = the_one(&outcome, began(FaultKind::PauseAtSend));
    let (before, after) = outcome.trace.entries().split_at(begins);
    let sent = before.iter().rev().find(|entry| matches!(entry.event, Event::Sent { .. })).unwrap();
    assert_eq!(sent.at, time(&outcome, begins), "decided, and not yet on its way");
    let stepped = after.iter().find(|entry| matches!(entry.event, Event::Store(_))).unwrap();
    assert!(stepped.at >= sent.at + Duration::from_millis(150));
}

#[test]
fn a_guard_pause_separates_check_and_write() {
    let outcome =
        carry_out(&plan(vec![on(Point::Guard, None, 3, 100, ProcessFault::Pause.at(None))]));
    let begins = time(&outcome, the_one(&outcome, began(FaultKind::PauseAtGuard)));
    let late = the_one(
        &outcome,
        |event| matches!(event, Event::Wrote { checked, .. } if *checked == begins),
    );
    assert!(time(&outcome, late) >= begins + Duration::from_millis(100));
    // No other write is late.
    let prompt = outcome.trace.entries().iter().all(|entry| match entry.event {
        Event::Wrote { checked, .. } => checked == entry.at || checked == begins,
        _ => true,
    });
    assert!(prompt);
}

#[test]
fn other_faults_at_the_guard_delay_no_write() {
    let outcome =
        carry_out(&plan(vec![on(Point::Guard, None, 3, 100, LinkFault::Partition.at(None))]));
    the_one(&outcome, began(FaultKind::Partition));
    let on_time =
        |entry: &Entry| !matches!(entry.event, Event::Wrote { checked, .. } if checked != entry.at);
    assert!(outcome.trace.entries().iter().all(on_time));
}

#[test]
fn a_leader_crashes_as_it_begins_to_lead() {
    let crash = ProcessFault::Crash { power: true }.at(None);
    let trigger = Trigger { point: Point::Leads, node: None, of: None, nth: 1, after_ms: 0 };
    let outcome =
        carry_out(&plan(vec![Fault { when: When::On(trigger), for_ms: 500, what: crash }]));
    let leads = places(&outcome, |event| matches!(event, Event::Leads { .. }));
    let crashed = the_one(&outcome, |event| matches!(event, Event::Crashed { .. }));
    assert_eq!(time(&outcome, leads[0]), time(&outcome, crashed));
    let ends = the_one(&outcome, healed(FaultKind::Crash));
    assert_eq!(time(&outcome, ends).since(time(&outcome, crashed)), Duration::from_millis(500));
    assert!(leads.len() > 1, "another candidate leads afterwards");
}

#[test]
fn a_crash_at_a_grant_loses_the_reply() {
    let outcome = {
        let trigger = Trigger { point: Point::Grant, node: None, of: None, nth: 1, after_ms: 0 };
        let fault = Fault {
            when: When::On(trigger),
            for_ms: 100,
            what: What::Store(StoreFault::StoreCrash),
        };
        carry_out(&plan(vec![fault]))
    };
    let crashed = the_one(&outcome, |event| matches!(event, Event::StoreCrashed { .. }));
    let granted = places(&outcome, |event| {
        matches!(event, Event::Store(StoreStep { answer: Answer::Granted { .. }, .. }))
    });
    assert_eq!(time(&outcome, granted[0]), time(&outcome, crashed));
    let grants = places(&outcome, |event| {
        matches!(event, Event::Answered { answer: Some(Answer::Granted { .. }), .. })
    });
    assert!(grants[0] > granted[1], "the reply to the first grant is lost");
    let servers: Vec<u32> = outcome
        .trace
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Store(step) => Some(step.server),
            _ => None,
        })
        .collect();
    assert_eq!((servers.first(), servers.last()), (Some(&0), Some(&1)));
}

#[test]
fn a_pause_at_a_grant_strikes_the_grantee() {
    let trigger = Trigger { point: Point::Grant, node: None, of: None, nth: 1, after_ms: 0 };
    let fault = Fault { when: When::On(trigger), for_ms: 300, what: ProcessFault::Pause.at(None) };
    let outcome = carry_out(&plan(vec![fault]));
    let begins = the_one(&outcome, began(FaultKind::Pause));
    let Event::Fault { node: Some(node), .. } = outcome.trace.entries()[begins].event else {
        panic!("at no node");
    };
    let acquired = outcome.trace.entries()[..begins].iter().rev().any(|entry| {
        matches!(entry.event, Event::Sent { who, request: Asked::Acquire { .. }, .. } if who.node == node)
    });
    assert!(acquired);
    let grants = places(
        &outcome,
        |event| matches!(event, Event::Answered { who, answer: Some(Answer::Granted { .. }), .. } if who.node == node),
    );
    assert!(grants.iter().all(
        |grants| time(&outcome, *grants) >= time(&outcome, begins) + Duration::from_millis(300)
    ));
}
