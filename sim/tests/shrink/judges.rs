//! Shrinking of a plan that fails by a judge made by hand: it is known what must be left.

use std::cell::Cell;

use tenure_sim::plan::{
    Assumption, Fault, FaultKind, LinkFault, Plan, ProcessFault, Scope, StoreFault, What, When,
    swarm,
};
use tenure_sim::search::shrink::{Budget, Progress, Smallest, shrink_by};

const PLENTY: Budget = Budget { runs: 100_000 };

/// A plan as crowded as seeds come to.
fn crowded() -> Plan {
    let plans = (1..200).map(|seed| swarm(seed, &FaultKind::ALL, Scope::Model));
    plans.max_by_key(|plan| plan.faults.len() * plan.nodes.len()).unwrap()
}

fn shrunk(plan: &Plan, fails: impl FnMut(&Plan) -> bool) -> Smallest {
    shrink_by(plan, PLENTY, fails, |_| {})
}

fn has(plan: &Plan, kind: FaultKind) -> bool {
    plan.faults.iter().any(|fault| fault.kind() == kind)
}

#[test]
fn of_a_plan_that_always_fails_nothing_is_left() {
    let plan = crowded();
    assert!(plan.faults.len() > 20 && plan.nodes.len() > 3, "{plan:#?}");
    let Smallest { plan: small, done, .. } = shrunk(&plan, |_| true);
    assert!(done && small.faults.is_empty() && small.nodes.len() == 1, "{small:#?}");
    assert!(!small.handover && !small.has(FaultKind::Drift), "{small:#?}");
    let node = small.nodes[0];
    assert_eq!((node.settings, node.clock_offset_ms, small.seed), (None, 0, 0));
    assert_eq!((small.latency_us, small.work.takes_us), ((1_000, 1_000), 0));
    assert_eq!(small.calm_from_ms, 1);
    let ttl = std::time::Duration::from_millis(small.settings.ttl_ms);
    assert_eq!(small.settings, tenure_sim::plan::Settings::of_ttl(ttl).unwrap());
}

#[test]
fn the_faults_that_it_takes_are_left_and_no_other() {
    let mut plan = crowded();
    let last = plan.calm_from_ms - 1;
    let at = |at_ms, for_ms, what| Fault { when: When::AtMs(at_ms), for_ms, what };
    plan.faults.retain(|fault| {
        !matches!(
            fault.what,
            What::Link { fault: LinkFault::Cut, .. } | What::Store(StoreFault::StoreLoss)
        )
    });
    plan.faults.insert(3, at(1_237, 0, LinkFault::Cut.at(Some(2))));
    plan.faults.push(at(last, 4_321, What::Store(StoreFault::StoreLoss)));
    let fails = |plan: &Plan| has(plan, FaultKind::Cut) && has(plan, FaultKind::StoreLoss);
    let small = shrunk(&plan, fails).plan;
    let (cut, loss) = (LinkFault::Cut.at(Some(0)), What::Store(StoreFault::StoreLoss));
    assert_eq!(small.faults, [at(0, 0, cut), at(0, 1, loss)]);
    assert_eq!(small.nodes.len(), 1);
}

#[test]
fn numbers_become_as_small_and_as_round_as_they_may() {
    let mut plan = crowded();
    let what = ProcessFault::Pause.at(Some(1));
    plan.faults = vec![Fault { when: When::AtMs(4_321), for_ms: 7_654, what }];
    let fails = |plan: &Plan| {
        let found = plan.faults.iter().find(|fault| fault.kind() == FaultKind::Pause);
        found.is_some_and(|fault| fault.from_ms() > 1_234 && fault.for_ms > 2_900)
    };
    let small = shrunk(&plan, fails).plan;
    let fault = small.faults[0];
    assert_eq!((fault.from_ms(), fault.for_ms), (1_300, 3_000), "{fault:?}");
}

#[test]
fn nodes_move_up_with_the_faults_that_name_them() {
    let mut plan = crowded();
    let node = plan.nodes.len() - 1;
    plan.nodes[node].clock_rate_ppm = -777;
    let fails = |plan: &Plan| {
        let crashes = |fault: &Fault| match fault.what {
            What::Process { node: Some(node), fault: ProcessFault::Crash { .. } } => {
                plan.nodes[node].clock_rate_ppm == -777
            }
            _ => false,
        };
        plan.faults.iter().any(crashes)
    };
    let what = ProcessFault::Crash { power: true }.at(Some(node));
    plan.faults.push(Fault { when: When::AtMs(9), for_ms: 10, what });
    let small = shrunk(&plan, fails).plan;
    assert_eq!(small.nodes.len(), 1);
    assert_eq!(small.faults.len(), 1);
    assert_eq!(small.faults[0].what, ProcessFault::Crash { power: false }.at(Some(0)));
}

#[test]
fn assumptions_that_were_kept_are_kept_on() {
    // Whatever breaks an assumption "fails": a search that let go of them would find it at once,
    // since shorter quarantines and slower work are among the numbers that it tries.
    for seed in 1..40 {
        let plan = swarm(seed, &FaultKind::ALL, Scope::Model);
        let before: Vec<Assumption> = plan.broken();
        let seen = Cell::new(0);
        shrink_by(
            &plan,
            Budget { runs: 400 },
            |smaller| {
                seen.set(seen.get() + 1);
                smaller.check().unwrap();
                let beyond = smaller.broken().into_iter().find(|one| !before.contains(one));
                assert_eq!(beyond, None, "seed {seed}: {smaller:#?}");
                // In half of the steps, so that both ways are gone.
                seen.get() % 2 == 0
            },
            |_| {},
        );
        assert!(seen.get() > 10, "seed {seed}");
    }
}

#[test]
fn no_plan_is_tried_twice_and_progress_tells_of_each() {
    let plan = crowded();
    let mut tried = std::collections::BTreeSet::from([plan.to_text()]);
    let mut told: Vec<Progress> = Vec::new();
    let fails = |smaller: &Plan| {
        assert!(tried.insert(smaller.to_text()), "twice: {smaller:#?}");
        smaller.faults.len() > 4
    };
    let small = shrink_by(&plan, PLENTY, fails, |progress| told.push(progress));
    assert_eq!(small.plan.faults.len(), 5);
    let last = told.last().unwrap();
    assert_eq!((last.runs, last.faults), (small.runs, 5));
    assert_eq!((told.len() as u64, tried.len() as u64), (last.runs, last.runs + 1));
}
