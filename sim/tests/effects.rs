//! Each kind of fault, alone, has an effect in each engine that has it; and none if it is not
//! carried out.

use std::time::Duration;

use tenure_sim::engines::Engine;
use tenure_sim::evidence::effects::leave_out;
use tenure_sim::judge::{Judging, Outcome, Which};
use tenure_sim::plan::{
    Fault, FaultKind, LinkFault, NodePlan, Plan, Point, ProcessFault, Settings, StoreFault,
    Trigger, What, When, Work,
};
use tenure_sim::search::sweep::default_plan;
use tenure_sim::trace::{Entry, Event};

const FROM_MS: u64 = 3_000;

/// Three candidates, and one fault, at the leader.
fn plan(faults: Vec<Fault>, clock_rate_ppm: i64) -> Plan {
    let node = |index: u64| NodePlan {
        clock_offset_ms: 1_000 * (index + 1),
        clock_rate_ppm,
        settings: None,
    };
    Plan {
        seed: 7,
        settings: Settings::of_ttl(Duration::from_secs(1)).expect("a TTL"),
        nodes: (0..3).map(node).collect(),
        latency_us: (0, 2_000),
        work: Work { every_ms: 20, takes_us: 0, reads_first: false },
        faults,
        calm_from_ms: 6_000,
        handover: false,
        ..default_plan().expect("a valid TTL")
    }
}

fn of_kind(kind: FaultKind) -> Plan {
    let at = |what: What| {
        let for_ms = if what.lasts() { 1_500 } else { 0 };
        vec![Fault { when: When::AtMs(FROM_MS), for_ms, what }]
    };
    let pause_at = |point| {
        let when = Trigger { point, node: None, of: None, nth: 1, after_ms: FROM_MS };
        vec![Fault { when: When::On(when), for_ms: 1_500, what: ProcessFault::Pause.at(None) }]
    };
    let faults = match kind {
        FaultKind::PauseAtGuard => pause_at(Point::Guard),
        FaultKind::PauseAtSend => pause_at(Point::Send),
        FaultKind::PauseAfterSend => pause_at(Point::Sent),
        FaultKind::PauseAtReply => pause_at(Point::Reply),
        FaultKind::Drift => return plan(Vec::new(), 1_000),
        _ => at(kind.example().expect("a fault")),
    };
    plan(faults, 0)
}

fn count(outcome: &Outcome, is_meant: impl Fn(&Event) -> bool) -> usize {
    outcome.trace.entries().iter().filter(|entry| is_meant(&entry.event)).count()
}

fn effects(outcome: &Outcome, of: FaultKind) -> usize {
    count(outcome, |event| matches!(event, Event::Effect { kind, .. } if *kind == of))
}

/// All that happened, but what is said of faults.
fn told(outcome: &Outcome) -> Vec<&Entry> {
    let is_of_a_fault = |event: &Event| {
        matches!(event, Event::Fault { .. } | Event::Effect { .. } | Event::Healed { .. })
    };
    outcome.trace.entries().iter().filter(|entry| !is_of_a_fault(&entry.event)).collect()
}

#[test]
fn every_kind_has_an_effect_unless_left_out() {
    for engine in Engine::ALL {
        for kind in engine.scope().kinds() {
            let plan = of_kind(kind);
            let with = engine.run(&plan, Judging::KeepJudging(Which::Applicable)).unwrap();
            let without =
                engine.run_without(&plan, Judging::KeepJudging(Which::Applicable), kind).unwrap();
            let ordered = |outcome| count(outcome, |event| matches!(event, Event::Fault { .. }));
            let expected = match kind {
                FaultKind::Drift => 0,
                FaultKind::Swizzle => 3,
                _ => 1,
            };
            assert_eq!(
                (ordered(&with), ordered(&without)),
                (expected, expected),
                "{engine} {kind}"
            );
            assert_eq!(effects(&with, kind), expected.max(1), "{engine} {kind}");
            assert_eq!(effects(&without, kind), 0, "{engine} {kind}");
            let others = count(
                &with,
                |event| matches!(event, Event::Effect { kind: of, .. } if *of != kind),
            );
            assert_eq!(others, 0, "{engine} {kind}");
            // No decision rests on the store's clock: a step of it may change nothing that
            // candidates do.
            if !matches!(kind, FaultKind::StoreClockStep | FaultKind::StoreClockBack) {
                assert_ne!(told(&with), told(&without), "{engine} {kind}");
            }
        }
    }
}

#[test]
fn one_way_has_an_effect_in_both_directions() {
    for engine in Engine::ALL {
        for to_store in [true, false] {
            let what = LinkFault::OneWay { to_store }.at(None);
            let fault = Fault { when: When::AtMs(FROM_MS), for_ms: 1_500, what };
            let outcome =
                engine.run(&plan(vec![fault], 0), Judging::KeepJudging(Which::Applicable)).unwrap();
            assert_eq!(effects(&outcome, FaultKind::OneWay), 1, "{engine} {to_store}");
        }
    }
}

#[test]
fn a_fault_that_changes_nothing_has_no_effect() {
    for (kind, fault) in [
        // Nobody sends anything in so short a time.
        (FaultKind::Partition, (FROM_MS, 1, LinkFault::Partition.at(Some(0)))),
        // Nothing is recorded yet.
        (FaultKind::StoreLoss, (1, 10, What::Store(StoreFault::StoreLoss))),
    ] {
        let (at_ms, for_ms, what) = fault;
        let fault = Fault { when: When::AtMs(at_ms), for_ms, what };
        for engine in Engine::ALL {
            let outcome =
                engine.run(&plan(vec![fault], 0), Judging::KeepJudging(Which::Applicable)).unwrap();
            let ordered = count(&outcome, |event| matches!(event, Event::Fault { .. }));
            assert_eq!((ordered, effects(&outcome, kind)), (1, 0), "{engine} {kind}");
        }
    }
}

/// `tenure-sim effects` does the same in every engine.
#[test]
fn a_campaign_notices_whichever_kind_is_left_out() {
    for kind in Engine::Model.scope().kinds() {
        let told = leave_out(Engine::Model, kind, None);
        assert!(told.is_noticed(), "{told:?}");
        assert_eq!(told.without.effects, 0, "{told:?}");
        assert!(told.noticed_by.contains(&"no effect".to_owned()), "{told:?}");
    }
}
