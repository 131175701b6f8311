//! The model engine carries out every kind of fault, and the same plan gives the same trace.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clocks;
mod determinism;
mod messages;
mod processes;
mod stores;
mod triggers;

use std::time::Duration;

use tenure_sim::engines::Engine;
use tenure_sim::judge::{Judging, Outcome};
use tenure_sim::plan::{Fault, NodePlan, Plan, Settings, What, When, Work};
use tenure_sim::search::sweep::default_plan;
use tenure_sim::trace::{Entry, Event};

/// A TTL of three seconds, in milliseconds.
const TTL_MS: u64 = 3_000;

/// A plan for that many candidates without faults, for eight TTLs.
fn healthy(nodes: u64) -> Plan {
    let node =
        |node| NodePlan { clock_offset_ms: 1_000 * (node + 1), clock_rate_ppm: 0, settings: None };
    Plan {
        seed: 1,
        settings: Settings::of_ttl(Duration::from_millis(TTL_MS)).unwrap(),
        nodes: (0..nodes).map(node).collect(),
        latency_us: (500, 1_000),
        work: Work { every_ms: 100, takes_us: 0, reads_first: false },
        faults: Vec::new(),
        calm_from_ms: 8 * TTL_MS,
        handover: false,
        ..default_plan().unwrap()
    }
}

/// A fault at that time, with that duration; zero for faults of one moment.
fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

/// Three candidates with those faults.
fn with(faults: &[Fault]) -> Plan {
    Plan { faults: faults.to_vec(), ..healthy(3) }
}

/// Carries out a plan, and asserts that no property is violated.
fn held(plan: &Plan) -> Vec<Entry> {
    let outcome = run(plan);
    assert_eq!(outcome.judge.violation(), None, "{:#?}", outcome.trace);
    outcome.trace.entries().to_vec()
}

fn run(plan: &Plan) -> Outcome {
    plan.check().unwrap();
    Engine::Model.run(plan, Judging::default()).unwrap()
}

/// The wanted events, with their times in milliseconds, rounded down.
fn seen<T>(entries: &[Entry], wanted: impl Fn(&Event) -> Option<T>) -> Vec<(u64, T)> {
    entries
        .iter()
        .filter_map(|entry| wanted(&entry.event).map(|seen| (entry.at.as_millis(), seen)))
        .collect()
}

/// The times and nodes at which leads begin.
fn leads(entries: &[Entry]) -> Vec<(u64, usize)> {
    seen(entries, |event| match event {
        Event::Leads { who, .. } => Some(who.node),
        _ => None,
    })
}

/// The times and nodes at which leads end, also by a crash.
fn ends(entries: &[Entry]) -> Vec<(u64, usize)> {
    seen(entries, |event| match event {
        Event::LeadsNoMore { who } | Event::Crashed { who } => Some(who.node),
        _ => None,
    })
}

#[test]
fn without_faults_exactly_one_candidate_leads() {
    let entries = held(&healthy(5));
    let leads = leads(&entries);
    assert_eq!(leads.len(), 1, "{leads:?}");
    assert!((TTL_MS..TTL_MS + 10).contains(&leads[0].0), "{leads:?}");
    assert!(ends(&entries).is_empty());
}

#[test]
fn the_leader_of_the_recovery_phase_resigns() {
    let entries = held(&Plan { handover: true, ..healthy(3) });
    let asked = seen(&entries, |event| match event {
        Event::ResignAsked { who, .. } => Some(who.node),
        _ => None,
    });
    let leads = leads(&entries);
    assert_eq!((asked.len(), leads.len()), (1, 2));
    assert_ne!(leads[0].1, leads[1].1);
}

#[test]
fn a_plan_whose_settings_cannot_hold_is_refused() {
    let mut plan = healthy(2);
    plan.settings.request_timeout_ms = TTL_MS;
    let error = Engine::Model.run(&plan, Judging::default()).unwrap_err().to_string();
    assert!(error.contains("settings of node 0"), "{error}");
}
