//! The sweep: every point of a run is come to again, every stop is tried, and what they break is
//! found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use tenure_sim::engines::Engine;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{FaultKind, Plan, Point, RequestKind, Scope, Trigger, When, swarm};
use tenure_sim::search::campaign::{Failure, Verdict};
use tenure_sim::search::sweep::{Report, Sweep, SweepError, default_plan, points};

fn sweep(plan: Plan) -> Sweep {
    Sweep { plan, seeds: 1, pairs: false, everything: false, jobs: 2, runs: 1_000_000 }
}

fn run(sweep: &Sweep) -> Report {
    sweep.run(|_, _| {}).unwrap()
}

#[test]
fn the_usual_run_comes_to_points_of_every_kind() {
    let plan = default_plan().unwrap();
    let outcome = Engine::Model.run(&plan, Judging::default()).unwrap();
    let spots = points(&plan, outcome.trace.entries());
    assert!(spots.is_sorted_by_key(|spot| spot.at));
    let on = |when| match when {
        When::On(Trigger { point, of, .. }) => Some((point as u8, of.map(|of| of as u8))),
        When::AtMs(_) => None,
    };
    let found: BTreeSet<_> = spots.iter().map(|spot| on(spot.when)).collect();
    for point in [Point::Guard, Point::Grant, Point::Leads] {
        assert!(found.contains(&Some((point as u8, None))), "{point:?}");
    }
    for point in [Point::Send, Point::Sent, Point::Reply] {
        for of in [RequestKind::Acquire, RequestKind::Renew, RequestKind::Release] {
            assert!(found.contains(&Some((point as u8, Some(of as u8)))), "{point:?} of {of:?}");
        }
    }
    assert!(found.contains(&None), "no lead ends");
}

#[test]
fn stops_at_every_point_break_nothing_and_each_comes_about() {
    let report = run(&Sweep { seeds: 3, ..sweep(default_plan().unwrap()) });
    assert_eq!(report.verdict(), Verdict::Held, "{:#?}", report.found);
    assert_eq!((report.missed, report.left_out), (0, 0));
    // Five pauses and two crashes at each, and three runs without any.
    assert_eq!(report.runs, report.points as u64 * 7 + 3);
    assert!(report.points > 200 && report.margin_ms > Some(0.0), "{report:#?}");
    assert_eq!(report.margin_at.len(), 1, "a stop makes the margin smaller: {report:#?}");
}

#[test]
fn the_page_has_the_numbers_of_the_default_sweep() {
    let plans = (1..=8).map(|seed| Plan { seed, ..default_plan().unwrap() });
    let points_of = |plan: Plan| {
        let outcome = Engine::Model.run(&plan, Judging::default()).unwrap();
        points(&plan, outcome.trace.entries()).len()
    };
    let points: usize = plans.map(points_of).sum();
    let [points, runs] =
        [points, points * 7 + 8].map(|number| format!("{},{:03}", number / 1_000, number % 1_000));
    let page = include_str!("../../docs/simulation/searches.md");
    let figures = format!("The default plan has {points} points and {runs} runs");
    assert!(page.contains(&figures), "the page has to say: {figures}");
}

#[test]
fn a_plan_with_faults_is_swept_as_well() {
    let faults = [FaultKind::Partition, FaultKind::Crash, FaultKind::StoreLoss];
    let mut plans = (1..).map(|seed| swarm(seed, &faults, Scope::Model));
    let plan = plans.find(|plan| !plan.faults.is_empty()).unwrap();
    let report = run(&Sweep { runs: 500, ..sweep(plan) });
    assert_eq!((report.violations, report.runs > 400), (0, true), "{report:#?}");
}

#[test]
fn a_report_does_not_depend_on_threads() {
    let mut plan = default_plan().unwrap();
    plan.nodes.truncate(2);
    let with = |jobs| run(&Sweep { pairs: true, jobs, runs: 3_000, ..sweep(plan.clone()) });
    let (alone, three) = (with(1), with(3));
    assert_eq!(alone.hash, three.hash);
    assert_eq!(format!("{alone:?}"), format!("{three:?}"));
    assert!(alone.runs > 2_000 && alone.runs <= 3_000 && alone.left_out > 0, "{alone:#?}");
    assert_eq!(alone.verdict(), Verdict::Inconclusive);
}

#[test]
fn pairs_are_stopped_twice() {
    let mut plan = default_plan().unwrap();
    plan.nodes.truncate(1);
    plan.faults.clear();
    plan.calm_from_ms = 12_000;
    let report = run(&Sweep { pairs: true, ..sweep(plan.clone()) });
    let singles = run(&sweep(plan));
    assert_eq!((report.violations, report.left_out), (0, 0));
    assert!(report.runs > 10 * singles.runs, "{} and {}", report.runs, singles.runs);
    assert_ne!(report.hash, singles.hash);
}

#[test]
fn a_pause_between_a_check_and_its_write_is_found_where_nothing_else_goes_wrong() {
    // Without fencing, a pause there makes a stale write; which is why nobody promises anything
    // else.
    let report = run(&Sweep { everything: true, ..sweep(default_plan().unwrap()) });
    assert_eq!(report.verdict(), Verdict::Violated);
    let found = report.found.unwrap();
    let Failure::Violated { property, .. } = &found.failure else { panic!("{found:#?}") };
    assert_eq!(property, "unfenced-in-order");
    let [stop] = found.stops[..] else { panic!("{found:#?}") };
    assert_eq!(stop.kind(), FaultKind::PauseAtGuard);
    let again = Engine::Model.run(&found.plan, Judging::KeepJudging(Which::All)).unwrap();
    assert_eq!(again.judge.violation().unwrap().property.as_str(), property);
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused() {
    let mut plan = default_plan().unwrap();
    plan.settings.request_timeout_ms = plan.settings.ttl_ms;
    let error = sweep(plan).run(|_, _| {}).unwrap_err();
    assert!(matches!(error, SweepError::Plan(_)), "{error}");
}
