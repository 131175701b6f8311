//! The turmoil engine carries out what a plan says, at the very point where it says so, and refuses by
//! name what it can't.
#![cfg(feature = "turmoil")]
// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tenure_sim::engine::{EngineError, Judging, Outcome};
use tenure_sim::plan::{
    Asking, Fault, FaultKind, NodePlan, Plan, PlanError, Point, SCHEMA, Scope, Settings, StorePlan,
    Trigger, What, When, Work, swarm,
};
use tenure_sim::trace::{Answer, Asked, Entry, Event, StoreStep};
use tenure_sim::turmoil_engine::{TICK, run};

const MS: u64 = 1_000_000;
const CALM_MS: u64 = 8_000;

fn plan(faults: Vec<Fault>) -> Plan {
    let node = |index: u64| NodePlan {
        clock_offset_ms: 1_000 * (index + 1),
        clock_rate_ppm: 0,
        settings: None,
    };
    Plan {
        schema: SCHEMA,
        seed: 7,
        settings: Settings::of_ttl(Duration::from_secs(1)).unwrap(),
        nodes: (0..3).map(node).collect(),
        store: StorePlan::default(),
        latency_us: (0, 2_000),
        work: Work { every_ms: 20, takes_us: 0 },
        faults,
        calm_from_ms: CALM_MS,
        handover: false,
    }
}

fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

fn on(point: Point, node: Option<usize>, nth: u32, for_ms: u64, what: What) -> Fault {
    let trigger = Trigger { point, node, of: None, nth, after_ms: 3_000 };
    Fault { when: When::On(trigger), for_ms, what }
}

fn carry_out(plan: &Plan) -> Outcome {
    let outcome = run(plan, Judging::All).unwrap();
    assert_eq!(outcome.judge.violation(), None);
    outcome
}

/// The places of the events that are meant.
fn places(outcome: &Outcome, is_meant: impl Fn(&Event) -> bool) -> Vec<usize> {
    let entries = outcome.trace.entries().iter().enumerate();
    entries.filter(|(_, entry)| is_meant(&entry.event)).map(|(place, _)| place).collect()
}

fn the_one(outcome: &Outcome, is_meant: impl Fn(&Event) -> bool) -> usize {
    let places = places(outcome, is_meant);
    assert_eq!(places.len(), 1, "{:#?}", outcome.trace);
    places[0]
}

fn time(outcome: &Outcome, place: usize) -> u64 {
    outcome.trace.entries()[place].at
}

fn began(of: FaultKind) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Fault { kind, .. } if *kind == of)
}

fn healed(of: FaultKind) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Healed { kind, .. } if *kind == of)
}

/// The node that led at that place of the trace.
fn leader_at(outcome: &Outcome, place: usize) -> Option<usize> {
    let mut leader = None;
    for Entry { event, .. } in &outcome.trace.entries()[..place] {
        match event {
            Event::Leads { who, .. } => leader = Some(who.node),
            Event::LeadsNoMore { who } | Event::Crashed { who } if leader == Some(who.node) => {
                leader = None;
            }
            _ => {}
        }
    }
    leader
}

#[test]
fn what_the_engine_cant_do_is_refused_by_name() {
    let node = Some(0);
    let whats = [
        What::Loss { node, permille: 1 },
        What::Duplicate { node, permille: 1, most_ms: 1 },
        What::Reorder { node, permille: 1, most_ms: 1 },
        What::Suspend { node },
        What::VmStop { node },
        What::VmRestore { node },
        What::Leave { node },
        What::StoreRollback { back_ms: 1 },
        What::Failover { lag_ms: 1, clock_ahead_ms: 0 },
        What::OldPrimary { node },
    ];
    for what in whats {
        let (good, bad) = (at(1, 1, What::StoreStall), at(2, 1, what));
        let error = run(&plan(vec![good, bad]), Judging::All).unwrap_err();
        let EngineError::Plan(PlanError::Unsupported { index, kind, engine, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((index, kind, engine), (1, bad.kind(), "turmoil"));
    }
    let kinds = Scope::Turmoil.kinds();
    assert!(whats.iter().all(|what| !kinds.contains(&at(1, 1, *what).kind())));
}

#[test]
fn triggers_that_the_engine_cant_see_are_refused() {
    let pause = What::Pause { node: None };
    let of_renewals =
        Trigger { point: Point::Sent, node: None, of: Some(Asking::Renew), nth: 1, after_ms: 0 };
    let cases = [
        (on(Point::Reply, None, 1, 1, pause), "pause-at-reply", "a reply has come"),
        (
            Fault { when: When::On(of_renewals), for_ms: 1, what: pause },
            "pause-after-send",
            "kind of request",
        ),
    ];
    for (fault, kind, why) in cases {
        let error = run(&plan(vec![fault]), Judging::All).unwrap_err().to_string();
        assert!(error.contains(kind) && error.contains(why), "{error}");
    }
    let mut trusting = plan(vec![]);
    trusting.store.trust_empty_store = true;
    let error = run(&trusting, Judging::All).unwrap_err().to_string();
    assert!(error.contains("store.trust_empty_store"), "{error}");
}

#[test]
fn a_pause_after_the_second_sending_holds_the_reply_back() {
    let outcome =
        carry_out(&plan(vec![on(Point::Sent, Some(1), 2, 200, What::Pause { node: None })]));
    let begins = the_one(&outcome, began(FaultKind::PauseAfterSend));
    let ends = the_one(&outcome, healed(FaultKind::PauseAfterSend));
    assert_eq!(time(&outcome, ends) - time(&outcome, begins), 200 * MS);
    let entries = outcome.trace.entries();
    let sent: Vec<_> = entries[..begins]
        .iter()
        .filter(|entry| entry.at > 3_000 * MS)
        .filter_map(|entry| match entry.event {
            Event::Sent { who, id, .. } if who.node == 1 => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(sent.len(), 2);
    let is_answer = |event: &Event| matches!(event, Event::Answered { who, id, .. } if who.node == 1 && *id == sent[1]);
    // It is asked again when it goes on, and has been given up by then or reads the old answer.
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
fn a_pause_before_sending_keeps_the_request_from_the_store() {
    let mut alone = plan(vec![on(Point::Send, None, 1, 150, What::Pause { node: None })]);
    alone.nodes.truncate(1);
    let outcome = carry_out(&alone);
    let begins = the_one(&outcome, began(FaultKind::PauseAtSend));
    let (before, after) = outcome.trace.entries().split_at(begins);
    let sent = before.iter().rev().find(|entry| matches!(entry.event, Event::Sent { .. })).unwrap();
    assert_eq!(sent.at, time(&outcome, begins), "decided, and not yet on its way");
    let stepped = after.iter().find(|entry| matches!(entry.event, Event::Store(_))).unwrap();
    assert!(stepped.at >= sent.at + 150 * MS);
}

#[test]
fn a_pause_at_the_guard_lies_between_check_and_write() {
    let outcome =
        carry_out(&plan(vec![on(Point::Guard, None, 3, 100, What::Pause { node: None })]));
    let begins = time(&outcome, the_one(&outcome, began(FaultKind::PauseAtGuard)));
    let late = the_one(
        &outcome,
        |event| matches!(event, Event::Wrote { checked, .. } if *checked == begins),
    );
    assert!(time(&outcome, late) >= begins + 100 * MS);
    // Nothing else comes late.
    let prompt = outcome.trace.entries().iter().all(|entry| match entry.event {
        Event::Wrote { checked, .. } => checked == entry.at || checked == begins,
        _ => true,
    });
    assert!(prompt);
}

#[test]
fn what_else_begins_at_the_guard_does_not_make_a_write_late() {
    let outcome =
        carry_out(&plan(vec![on(Point::Guard, None, 3, 100, What::Partition { node: None })]));
    the_one(&outcome, began(FaultKind::Partition));
    let on_time =
        |entry: &Entry| !matches!(entry.event, Event::Wrote { checked, .. } if checked != entry.at);
    assert!(outcome.trace.entries().iter().all(on_time));
}

#[test]
fn a_leader_crashes_as_it_begins_to_lead() {
    let crash = What::Crash { node: None, power: true };
    let trigger = Trigger { point: Point::Leads, node: None, of: None, nth: 1, after_ms: 0 };
    let outcome =
        carry_out(&plan(vec![Fault { when: When::On(trigger), for_ms: 500, what: crash }]));
    let leads = places(&outcome, |event| matches!(event, Event::Leads { .. }));
    let crashed = the_one(&outcome, |event| matches!(event, Event::Crashed { .. }));
    assert_eq!(time(&outcome, leads[0]), time(&outcome, crashed));
    let ends = the_one(&outcome, healed(FaultKind::Crash));
    assert_eq!(time(&outcome, ends) - time(&outcome, crashed), 500 * MS);
    assert!(leads.len() > 1, "somebody follows");
}

#[test]
fn a_store_that_crashes_at_a_grant_has_granted_and_not_said_so() {
    let outcome = {
        let trigger = Trigger { point: Point::Grant, node: None, of: None, nth: 1, after_ms: 0 };
        let fault = Fault { when: When::On(trigger), for_ms: 100, what: What::StoreCrash };
        carry_out(&plan(vec![fault]))
    };
    let crashed = the_one(&outcome, |event| matches!(event, Event::StoreCrashed { .. }));
    let granted = places(&outcome, |event| {
        matches!(event, Event::Store(StoreStep { answer: Answer::Granted { .. }, .. }))
    });
    assert_eq!(time(&outcome, granted[0]), time(&outcome, crashed));
    let told = places(&outcome, |event| {
        matches!(event, Event::Answered { answer: Some(Answer::Granted { .. }), .. })
    });
    assert!(told[0] > granted[1], "the first grant is never told");
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
fn a_pause_at_a_grant_strikes_who_was_granted_the_lease() {
    let trigger = Trigger { point: Point::Grant, node: None, of: None, nth: 1, after_ms: 0 };
    let fault = Fault { when: When::On(trigger), for_ms: 300, what: What::Pause { node: None } };
    let outcome = carry_out(&plan(vec![fault]));
    let begins = the_one(&outcome, began(FaultKind::Pause));
    let Event::Fault { node: Some(node), .. } = outcome.trace.entries()[begins].event else {
        panic!("at no node");
    };
    let acquired = outcome.trace.entries()[..begins].iter().rev().any(|entry| {
        matches!(entry.event, Event::Sent { who, request: Asked::Acquire { .. }, .. } if who.node == node)
    });
    assert!(acquired);
    let told = places(
        &outcome,
        |event| matches!(event, Event::Answered { who, answer: Some(Answer::Granted { .. }), .. } if who.node == node),
    );
    assert!(told.iter().all(|told| time(&outcome, *told) >= time(&outcome, begins) + 300 * MS));
}

#[test]
fn a_fault_of_no_node_strikes_the_leader_and_nobody_if_nobody_leads() {
    let at_once = at(1, 100, What::Partition { node: None });
    let outcome = carry_out(&plan(vec![
        at_once,
        at(4_000, 100, What::Pause { node: None }),
        at(5_000, 0, What::Resign { node: None }),
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
fn faults_end_by_the_calm_and_unused_triggers_with_it() {
    let outcome = carry_out(&plan(vec![
        at(CALM_MS - 10, 60_000, What::Partition { node: Some(0) }),
        at(CALM_MS - 10, 60_000, What::Crash { node: Some(1), power: false }),
        on(Point::Leads, None, 99, 60_000, What::StoreStall),
    ]));
    let calm = the_one(&outcome, |event| matches!(event, Event::Calm));
    for kind in [FaultKind::Partition, FaultKind::Crash] {
        assert_eq!(time(&outcome, the_one(&outcome, healed(kind))), time(&outcome, calm));
    }
    assert!(places(&outcome, began(FaultKind::StoreStall)).is_empty());
}

#[test]
fn a_pause_is_over_with_its_process() {
    let outcome = carry_out(&plan(vec![
        at(3_000, 4_000, What::Pause { node: Some(1) }),
        at(3_500, 100, What::Crash { node: Some(1), power: false }),
    ]));
    let ends = the_one(&outcome, healed(FaultKind::Pause));
    assert_eq!(time(&outcome, ends), 3_500 * MS);
    let says = |entry: &&Entry| matches!(entry.event, Event::Sent { who, .. } if who.node == 1 && who.life == 1);
    let first = outcome.trace.entries().iter().find(says).unwrap();
    assert!(first.at < 5_000 * MS);
}

#[test]
fn a_swizzle_is_one_fault() {
    let swizzle = What::Swizzle { step_ms: 50, shift: 1 };
    let outcome = carry_out(&plan(vec![at(3_000, 1_500, swizzle)]));
    the_one(&outcome, began(FaultKind::Swizzle));
    let ends = the_one(&outcome, healed(FaultKind::Swizzle));
    assert_eq!(time(&outcome, ends), (3_000 + 1_500 + 3 * 50) * MS);
    let answered = |entry: &&Entry| matches!(entry.event, Event::Answered { answer: Some(_), .. });
    let during = outcome.trace.entries().iter().filter(answered);
    let cut_off = |entry: &&Entry| (3_200 * MS..4_500 * MS).contains(&entry.at);
    assert_eq!(during.filter(cut_off).count(), 0);
}

#[test]
fn a_stepped_store_clock_leaves_records_as_they_were_written() {
    for by_ms in [-700, 700] {
        let mut plan = plan(vec![at(4_000, 0, What::StoreClockStep { by_ms })]);
        plan.work.takes_us = 1_500;
        let outcome = run(&plan, Judging::All).unwrap();
        assert_eq!(outcome.judge.violation(), None);
        let steps: Vec<(u64, &StoreStep)> = outcome
            .trace
            .entries()
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::Store(step) => Some((entry.at, step)),
                _ => None,
            })
            .collect();
        assert!(steps.windows(2).all(|pair| pair[1].1.before == pair[0].1.after));
        let offset = |(at, step): &(u64, &StoreStep)| step.now.cast_signed() - at.cast_signed();
        let first = offset(&steps[0]);
        for step in &steps {
            let stepped = if step.0 >= 4_000 * MS { by_ms * 1_000_000 } else { 0 };
            assert!((offset(step) - first - stepped).abs() < 1_000, "{step:?}");
        }
        let refused = |step: &&(u64, &StoreStep)| step.1.answer == Answer::Held;
        assert!(steps.iter().filter(refused).all(|(_, step)| step.before == step.after));
    }
}

#[test]
fn a_write_lands_later_than_its_check_even_if_its_process_is_gone() {
    let mut slow = plan(vec![at(4_000, 100, What::Crash { node: None, power: false })]);
    slow.work = Work { every_ms: 30, takes_us: 29_100 };
    let outcome = run(&slow, Judging::All).unwrap();
    assert_eq!(outcome.judge.violation(), None);
    let crashed = the_one(&outcome, |event| matches!(event, Event::Crashed { .. }));
    let lands = |entry: &Entry| match entry.event {
        Event::Wrote { checked, .. } => Some(entry.at - checked),
        _ => None,
    };
    let entries = outcome.trace.entries();
    assert!(entries.iter().filter_map(lands).all(|took| took == 30 * MS));
    let Event::Crashed { who: gone } = entries[crashed].event else { panic!("no crash") };
    let afterwards = |entry: &Entry| matches!(entry.event, Event::Wrote { who, .. } if who == gone);
    assert_eq!(entries[crashed..].iter().filter(|entry| afterwards(entry)).count(), 1);
}

#[test]
fn a_leader_is_asked_to_hand_over_in_the_calm() {
    let handed = Plan { handover: true, ..plan(vec![]) };
    let outcome = carry_out(&handed);
    let asked = the_one(&outcome, |event| matches!(event, Event::ResignAsked { .. }));
    assert!(time(&outcome, asked) > CALM_MS * MS);
    let later = |event: &Event| matches!(event, Event::Leads { .. });
    let leads = places(&outcome, later);
    let successor = *leads.iter().find(|place| **place > asked).unwrap();
    let ends = u64::try_from(outcome.simulated.as_nanos()).unwrap();
    assert_eq!(ends - time(&outcome, successor), 300 * MS);
}

#[test]
fn every_call_is_answered_once_or_given_up() {
    let outcome = carry_out(&plan(vec![at(3_000, 1_000, What::Hold { node: Some(0) })]));
    let mut open = std::collections::BTreeMap::new();
    let mut answered = 0;
    for Entry { event, .. } in outcome.trace.entries() {
        match *event {
            Event::Sent { who, id, request } => {
                let last = open.insert((who, id), request);
                assert!(last.is_none() && id >= 1);
            }
            Event::Answered { who, id, .. } => {
                answered += 1;
                assert!(open.remove(&(who, id)).is_some());
            }
            _ => {}
        }
    }
    assert!(answered > 20 && !open.is_empty(), "{answered} answered, {} not", open.len());
}

#[test]
fn nodes_have_settings_of_their_own() {
    let mut differ = plan(vec![]);
    let longer = Settings::of_ttl(Duration::from_secs(3)).unwrap();
    differ.nodes[1].settings = Some(longer);
    differ.settings.quarantine_ms = longer.quarantine_ms;
    let outcome = carry_out(&differ);
    let ttls: std::collections::BTreeSet<u64> = outcome
        .trace
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Store(StoreStep { answer: Answer::Granted { .. }, after, now, .. }) => {
                after.map(|kept| (kept.lease_end - now) / MS)
            }
            _ => None,
        })
        .collect();
    assert!(ttls.iter().all(|ttl| [1_000, 3_000].contains(ttl)), "{ttls:?}");
    assert_eq!(TICK, Duration::from_millis(1));
}

#[test]
fn a_plan_has_one_trace() {
    for seed in 100..104 {
        let plan = swarm(seed, &FaultKind::ALL, Scope::Turmoil);
        let hash = || run(&plan, Judging::All).unwrap().trace.hash();
        assert_eq!(hash(), hash(), "seed {seed}");
    }
}

#[test]
fn drawn_plans_hold() {
    for seed in 0..20 {
        let plan = swarm(seed, &FaultKind::ALL, Scope::Turmoil);
        let outcome = run(&plan, Judging::All).unwrap();
        assert_eq!(outcome.judge.violation(), None, "seed {seed}");
        let calm = |event: &Event| matches!(event, Event::Calm);
        assert_eq!(places(&outcome, calm).len(), 1, "seed {seed}");
        for kind in FaultKind::ALL {
            let begins = places(&outcome, began(kind)).len();
            let ends = places(&outcome, healed(kind)).len();
            assert!(ends == 0 || ends == begins, "seed {seed}: {begins} {kind}, {ends} healed");
        }
    }
}
