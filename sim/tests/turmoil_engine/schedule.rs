//! A plan means the same in both engines.

use std::collections::{BTreeMap, BTreeSet};

use tenure_sim::engines::Engine;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{
    Fault, FaultKind, LinkFault, LinksFault, Plan, ProcessFault, Program, Scope, StoreFault, What,
    When, swarm,
};
use tenure_sim::trace::{Entry, Event};

use super::{CALM_MS, at, plan};

/// The tick, whether the fault begins, its kind, and its node.
type Edge = (u64, bool, FaultKind, Option<usize>);

fn edges(engine: Engine, plan: &Plan) -> Vec<Edge> {
    let outcome = engine.run(plan, Judging::StopAtFirst(Which::Named(&[]))).unwrap();
    let edge = |entry: &Entry| {
        let tick = entry.at.as_nanos().div_ceil(1_000_000).max(1);
        match entry.event {
            Event::Fault { kind, node } => Some((tick, true, kind, node)),
            Event::Healed { kind, node } => Some((tick, false, kind, node)),
            _ => None,
        }
    };
    outcome.trace.entries().iter().filter_map(edge).collect()
}

fn in_both(plan: &Plan) -> Vec<Edge> {
    let edges = [Engine::Model, Engine::Turmoil].map(|engine| edges(engine, plan));
    assert_eq!(edges[0], edges[1], "{}", plan.to_text());
    let [edges, _] = edges;
    edges
}

#[test]
fn both_engines_keep_every_rule_of_the_schedule() {
    let pause = |node| ProcessFault::Pause.at(Some(node));
    let crash = |node| ProcessFault::Crash { power: true }.at(Some(node));
    let edges = in_both(&plan(vec![
        at(1, 1, pause(0)),
        at(3_000, 1_500, What::Links(LinksFault::Swizzle { step_ms: 50, shift: 1 })),
        at(4_000, 3_000, pause(1)),
        at(4_500, 100, crash(1)),
        at(4_550, 300, crash(1)),
        at(4_700, 10, pause(1)),
        at(4_700, 0, LinkFault::Cut.at(Some(1))),
        at(4_700, 100, LinkFault::Partition.at(Some(1))),
        at(CALM_MS - 1_000, 60_000, What::Store(StoreFault::StoreStall)),
        at(CALM_MS - 30, 60_000, What::Links(LinksFault::Swizzle { step_ms: 20, shift: 0 })),
        at(CALM_MS - 1, 60_000, pause(2)),
    ]));
    let (node, calm) = (Some(1), CALM_MS);
    let tail = [
        (4_000, true, FaultKind::Pause, node),
        (4_500, true, FaultKind::Crash, node),
        (4_500, false, FaultKind::Pause, node),
    ];
    assert!(edges.windows(3).any(|three| three == tail), "{edges:#?}");
    let of = |wanted: FaultKind| edges.iter().filter(move |(_, _, kind, _)| *kind == wanted);
    assert_eq!(of(FaultKind::Pause).count(), 6);
    assert_eq!(of(FaultKind::Cut).count(), 0, "the process is down");
    assert_eq!(of(FaultKind::Swizzle).count(), 2 * (3 + 2), "one of the last begins too late");
    assert!(edges.iter().all(|(tick, ..)| *tick <= calm));
}

#[test]
fn drawn_faults_of_named_nodes_are_ordered_alike() {
    let (mut compared, mut kinds) = (0, BTreeSet::new());
    for seed in 0..25 {
        let drawn = swarm(seed, &FaultKind::ALL, Scope::Turmoil);
        let is_named = |fault: &Fault| {
            matches!(fault.when, When::AtMs(_))
                && (fault.node().is_some() || !fault.what.is_of_a_node())
                && !matches!(fault.what, What::Process { fault: ProcessFault::Starve, .. })
        };
        let faults = drawn.faults.iter().copied().filter(is_named).collect();
        let edges = in_both(&Plan { faults, program: Program::default(), ..drawn });
        compared += edges.len();
        kinds.extend(edges.iter().map(|(_, _, kind, _)| *kind));
    }
    assert!(compared > 150 && kinds.len() >= 12, "{compared} of {kinds:?}");
}

/// The number of renewals, in the recovery phase, of a tenure that leads at the end of the run.
///
/// It need not be the one that began to lead last: a machine that is restored from a snapshot leads
/// again in an old one.
fn renewals(engine: Engine, plan: &Plan) -> Option<usize> {
    let outcome = engine.run(plan, Judging::StopAtFirst(Which::Named(&[]))).unwrap();
    let entries = outcome.trace.entries();
    let mut leads = BTreeMap::new();
    for entry in entries {
        match entry.event {
            Event::Leads { who, token } => drop(leads.insert(who, token)),
            Event::LeadsNoMore { who } | Event::Crashed { who } => drop(leads.remove(&who)),
            _ => (),
        }
    }
    let renewed = |of: u64| {
        let in_recovery = entries.iter().filter(|entry| entry.at > plan.calm_from());
        let is_of =
            |entry: &&Entry| matches!(entry.event, Event::Renewed { token, .. } if token == of);
        in_recovery.filter(is_of).count()
    };
    leads.into_values().map(renewed).max()
}

#[test]
fn the_tenure_at_the_end_is_renewed_twice() {
    for (engine, seeds) in [(Engine::Model, 300), (Engine::Turmoil, 20)] {
        for seed in 0..seeds {
            let plan = swarm(seed, &FaultKind::ALL, engine.scope());
            let renewals = renewals(engine, &plan);
            assert!(renewals.is_some_and(|count| count >= 2), "{engine} {seed}: {renewals:?}");
        }
    }
}
