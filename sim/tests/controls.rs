//! The controls: what goes beyond an assumption breaks what rests on it, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread::available_parallelism;

use tenure_sim::evidence::Stage;
use tenure_sim::evidence::controls::{
    self, ALL, Control, ControlError, Report, Unexpected, Verdict,
};
use tenure_sim::judge::properties::{self, Property, PropertyName, Terms};
use tenure_sim::plan::{Assumption, FaultKind};

const RUNS: u64 = 200;

fn control(name: &str) -> Control {
    name.parse().unwrap()
}

fn run(control: &Control) -> Report {
    let jobs = available_parallelism().map_or(1, Into::into);
    controls::run(control, 1, RUNS, jobs).unwrap()
}

#[test]
fn each_control_breaks_what_it_should_and_nothing_else() {
    for control in &ALL {
        let report = run(control);
        assert_eq!(report.verdict, Verdict::Ok, "{control}: {:#?}", report.broken);
        // In one run would do; but a control that bites seldom is about to stop biting.
        for property in control.must_break {
            let runs = report.broken[property].runs;
            assert!(runs * 2 > RUNS, "{control}: {property} in {runs} of {RUNS} runs");
        }
    }
}

#[test]
fn plans_break_exactly_what_their_control_says() {
    for control in ALL {
        for seed in 0..2_000 {
            let plan = control.plan(seed);
            plan.check().unwrap_or_else(|error| panic!("{control}, seed {seed}: {error}"));
            assert_eq!(plan.broken(), control.beyond, "{control}, seed {seed}");
        }
    }
}

#[test]
fn together_they_go_beyond_every_assumption() {
    // No plan can take a processor away: only a real machine breaks that assumption.
    let of_plans = |assumption: &Assumption| *assumption != Assumption::Processor;
    for assumption in Assumption::ALL.into_iter().filter(of_plans) {
        let beyond = |control: &Control| control.beyond.contains(&assumption);
        assert!(ALL.iter().any(beyond), "no control goes beyond {assumption:?}");
    }
}

#[test]
fn what_breaks_rests_on_what_the_plans_break() {
    let known = properties::all(&Terms::default());
    for control in ALL {
        for name in control.must_break.iter().chain(control.may_break) {
            let property = known.iter().find(|property| property.about().name == *name);
            let property: &dyn Property = &**property.unwrap_or_else(|| panic!("no {name}"));
            let rests = |beyond: &&Assumption| property.about().rests_on.contains(beyond);
            assert!(control.beyond.iter().any(|beyond| rests(&beyond)), "{control}: {name}");
        }
    }
}

/// The plans of `drift`, with rates within the bound.
fn tame(stage: &mut Stage) {
    (control("drift").faults)(stage);
    let plan = &mut stage.plan;
    let bound = i64::from(plan.settings.drift_ppm);
    plan.nodes.iter_mut().for_each(|node| node.clock_rate_ppm = -bound);
    plan.nodes[0].clock_rate_ppm = bound;
}

#[test]
fn rates_within_the_bound_break_nothing() {
    let report = run(&Control { faults: tame, beyond: &[], ..control("drift") });
    assert_eq!(
        report.verdict,
        Verdict::NothingBroke { missing: vec![PropertyName::SINGLE_LEADER] }
    );
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}

/// The plans of `boot-step` without the step.
fn harmless(stage: &mut Stage) {
    (control("boot-step").faults)(stage);
    let plan = &mut stage.plan;
    plan.faults.retain(|fault| fault.kind() != FaultKind::ClockBack);
}

#[test]
fn plans_without_their_fault_break_nothing() {
    let report = run(&Control { faults: harmless, beyond: &[], ..control("boot-step") });
    assert_eq!(
        report.verdict,
        Verdict::NothingBroke { missing: vec![PropertyName::SINGLE_LEADER] }
    );
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}

/// The plans of `undeclared-ttl`, with the leader's TTL as everybody's quarantine.
fn declared(stage: &mut Stage) {
    (control("undeclared-ttl").faults)(stage);
    let plan = &mut stage.plan;
    let longest = plan.settings.ttl_ms;
    for settings in plan.nodes.iter_mut().filter_map(|node| node.settings.as_mut()) {
        settings.quarantine_ms = longest;
    }
}

#[test]
fn declared_ttls_break_nothing() {
    let report = run(&Control { faults: declared, beyond: &[], ..control("undeclared-ttl") });
    assert_eq!(
        report.verdict,
        Verdict::NothingBroke { missing: vec![PropertyName::SINGLE_LEADER] }
    );
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}

#[test]
fn what_is_not_named_breaks_too_much() {
    let report = run(&Control { may_break: &[PropertyName::MARGIN_KEPT], ..control("vm-stop") });
    let Verdict::BrokeTooMuch { unexpected } = &report.verdict else {
        panic!("{:?}", report.verdict)
    };
    let seed = report.broken[&PropertyName::FAIL_CLOSED].first_seed;
    assert!(
        unexpected.contains(&Unexpected { property: PropertyName::FAIL_CLOSED, seed }),
        "{unexpected:?}"
    );
    assert!(
        unexpected.iter().all(|one| one.property != PropertyName::MARGIN_KEPT),
        "{unexpected:?}"
    );
}

#[test]
fn a_plan_that_breaks_something_else_is_an_error() {
    let error = controls::run(&Control { beyond: &[], ..control("drift") }, 7, 1, 1).unwrap_err();
    assert!(matches!(error, ControlError::Beyond { seed: 7, .. }), "{error}");
    assert!(error.to_string().starts_with("control drift, seed 7: the plan breaks [Candidate"));
}

#[test]
fn a_report_depends_on_neither_threads_nor_time() {
    let one = controls::run(&control("boot-step"), 5, 40, 1).unwrap();
    assert_eq!(controls::run(&control("boot-step"), 5, 40, 3).unwrap(), one);
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!(json["verdict"]["outcome"], "ok");
    assert_eq!(json["broken"]["single-leader"]["first_seed"], 5);
    assert_eq!(json["beyond"][0], "candidate-clocks");
}

#[test]
fn names_are_unique_and_unknown_ones_are_refused_with_those_known() {
    for control in ALL {
        assert_eq!(control.name.parse::<Control>().unwrap().name, control.name);
    }
    let error = "luck".parse::<Control>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown control \"luck\"; known are drift, watcher-step"),
        "{error}"
    );
}

/// Prints what each control breaks, for the documentation:
/// `RUNS=20000 cargo test ... -- --ignored`.
#[test]
#[ignore = "a long run that prints a table"]
fn table() {
    let runs = std::env::var("RUNS").map_or(RUNS, |runs| runs.parse().unwrap());
    for control in ALL {
        let began = std::time::Instant::now();
        let report = controls::run(&control, 1, runs, 2).unwrap();
        println!("{control}: {runs} runs, {:?}, {:?}", report.verdict, began.elapsed());
        for (property, broken) in &report.broken {
            println!(
                "    {property}: {} (seed {}: {})",
                broken.runs, broken.first_seed, broken.what
            );
        }
    }
}
