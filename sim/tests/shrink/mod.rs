//! Shrinking: a failing plan becomes small, fails in the same way, and stays within its
//! assumptions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod judges;
/// Tests as `tenure-sim shrink --test-out` writes them: that they compile is half of what is
/// tested.
mod replays {
    mod deadline_from_the_reply;
}

use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls::{ALL, Control};
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{FaultKind, Plan, Scope, swarm};
use tenure_sim::search::shrink::{Budget, ShrinkError, Shrunk, as_test, shrink};

const BUDGET: Budget = Budget { runs: 2_000 };

fn control(name: &str) -> Control {
    name.parse().unwrap()
}

/// A plan of many faults that fails as the control's plan of that seed does.
fn crowded(control: Control, seed: u64) -> Plan {
    let mut plan = control.plan(seed);
    let crowd = [FaultKind::Latency, FaultKind::Cut, FaultKind::Reorder];
    let nodes = plan.nodes.len();
    let fits = |fault: &tenure_sim::plan::Fault| fault.node().is_none_or(|node| node < nodes);
    for seed in 0..60 {
        let drawn = swarm(seed, &crowd, Scope::Model);
        plan.faults.extend(drawn.faults.into_iter().filter(fits));
    }
    plan.faults.retain(|fault| fault.from_ms() < plan.calm_from_ms);
    plan.check().unwrap();
    plan
}

/// The first of them that fails: in a crowd, what the control does may come to nothing.
fn failing(control: Control) -> (Plan, Shrunk) {
    let mut plans = (1..200).map(|seed| crowded(control, seed));
    let shrunk = |plan: Plan| everything(&plan).ok().map(|shrunk| (plan, shrunk));
    plans.find_map(shrunk).unwrap_or_else(|| panic!("{control}: no plan fails"))
}

fn everything(plan: &Plan) -> Result<Shrunk, ShrinkError> {
    shrink(Engine::Model, plan, Judging::KeepJudging(Which::All), BUDGET)
}

#[test]
fn what_a_control_breaks_shrinks_to_a_few_faults() {
    for control in &ALL {
        let (plan, shrunk) = failing(*control);
        assert!(plan.faults.len() > 10, "{control}: {} faults", plan.faults.len());
        let small = &shrunk.plan;
        // One more than a bug takes: no single one of the four that `boot-step` ends with can go.
        assert!(small.faults.len() <= 4 && small.nodes.len() <= 3, "{control}: {small:#?}");
        assert!(small.broken().iter().all(|one| plan.broken().contains(one)), "{control}");
        let read = Plan::parse(&small.to_text()).unwrap();
        let outcome = Engine::Model.run(&read, Judging::KeepJudging(Which::All)).unwrap();
        let found = outcome.judge.violations().iter();
        let same = found.filter(|found| found.property.as_str() == shrunk.symptom.name());
        assert!(
            same.clone().any(|found| found.finding.to_string() == shrunk.what),
            "{control}: {shrunk:#?}"
        );
    }
}

#[test]
fn a_plan_shrinks_to_the_same_plan_again_and_then_no_further() {
    let (plan, once) = failing(control("no-quarantine"));
    assert!(once.done && once.plan.faults.len() < plan.faults.len());
    assert_eq!(everything(&plan).unwrap(), once);
    assert_eq!(everything(&once.plan).unwrap().plan, once.plan);
}

#[test]
fn no_more_plans_are_run_than_the_budget_has() {
    let plan = crowded(control("drift"), 2);
    let shrunk =
        shrink(Engine::Model, &plan, Judging::KeepJudging(Which::All), Budget { runs: 5 }).unwrap();
    // The plan's own run comes on top.
    assert_eq!((shrunk.runs, shrunk.done), (6, false));
}

#[test]
fn only_the_property_asked_for_is_looked_at() {
    let plan = control("no-quarantine").plan(1);
    let property = ["single-leader".parse().unwrap()];
    // The plan is beyond what the property rests on: it is not judged by it.
    let error = shrink(Engine::Model, &plan, Judging::StopAtFirst(Which::Named(&property)), BUDGET)
        .unwrap_err();
    assert_eq!(error, ShrinkError::Holds { engine: Engine::Model });
}

#[test]
fn what_holds_is_not_shrunk() {
    let plan = swarm(7, &[FaultKind::Partition], Scope::Model);
    let error = shrink(Engine::Model, &plan, Judging::default(), BUDGET).unwrap_err();
    assert_eq!(error, ShrinkError::Holds { engine: Engine::Model });
    let mut invalid = plan;
    invalid.nodes[0].settings = None;
    invalid.settings.request_timeout_ms = invalid.settings.ttl_ms;
    let error =
        shrink(Engine::Model, &invalid, Judging::default(), BUDGET).unwrap_err().to_string();
    assert!(error.contains("settings of node 0"), "{error}");
}

#[test]
fn the_test_that_is_written_is_the_one_that_compiles_here() {
    let compiled = include_str!("replays/deadline_from_the_reply.rs");
    let (_, plan) = compiled.split_once("r#\"").unwrap();
    let plan = Plan::parse(plan.split_once("\"#;").unwrap().0).unwrap();
    let why = compiled.lines().filter_map(|line| line.strip_prefix("/// "));
    let why = why.collect::<Vec<_>>().join("\n");
    let written = as_test(Engine::Model, &plan, Judging::default(), "margin-kept", &why);
    assert_eq!(written, compiled);
}

#[test]
fn a_test_judges_as_the_run_was_judged() {
    let plan = swarm(1, &[], Scope::Model);
    let of = |judging| as_test(Engine::Model, &plan, judging, "a-b", "why\n\nso");
    assert!(
        of(Judging::KeepJudging(Which::All))
            .contains("Model.run(&plan, Judging::KeepJudging(Which::All))?")
    );
    let names = ["single-leader".parse().unwrap(), "fail-closed".parse().unwrap()];
    let only = of(Judging::StopAtFirst(Which::Named(&names)));
    assert!(
        only.contains("Judging::StopAtFirst(Which::Named(&[\"single-leader\".parse()?, \"fail-closed\".parse()?])"),
        "{only}"
    );
    assert!(only.contains("/// why\n///\n/// so\n#[test]\nfn a_b_holds()"), "{only}");
}

/// Slow, as every run simulates TCP: a small budget shows that it comes far all the same.
#[cfg(feature = "turmoil")]
#[test]
fn the_turmoil_engine_shrinks_as_well() {
    use tenure_sim::plan::{ClockFault, Fault, LinkFault, When};

    let mut plan = swarm(2, &[FaultKind::Latency, FaultKind::Hold], Scope::Turmoil);
    // A leader that can't ask believes in its lease for longer than others watch it.
    let ttl = plan.settings.ttl_ms;
    let step = ClockFault::ClockStep { by_ms: -2 * ttl.cast_signed() }.at(None);
    for (for_ms, what) in [(2 * ttl, LinkFault::Partition.at(None)), (0, step)] {
        plan.faults.push(Fault { when: When::AtMs(2 * ttl), for_ms, what });
    }
    let shrunk =
        shrink(Engine::Turmoil, &plan, Judging::KeepJudging(Which::All), Budget { runs: 60 })
            .unwrap();
    assert!(shrunk.plan.faults.len() <= 2, "{shrunk:#?}");
}
