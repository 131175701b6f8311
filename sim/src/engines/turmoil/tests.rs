//! Tests that need a program of their own on the nodes.

use std::cell::Cell;
use std::future::pending;

use super::*;
use crate::judge::Which;
use crate::judge::properties::PropertyName;
use crate::plan::{Fault, NodePlan, ProcessFault, Settings, When};

fn plan(faults: Vec<Fault>) -> Plan {
    let settings = Settings::of_ttl(Duration::from_secs(1)).unwrap();
    let nodes = vec![NodePlan::of_offset(0); 2];
    let plan = Plan::quiet(1, settings, nodes);
    Plan { latency_us: (0, 1_000), faults, calm_from_ms: 100, ..plan }
}

fn run_on_node_1(faults: Vec<Fault>, program: impl Fn() + 'static) -> Result<Outcome, EngineError> {
    let program = move |_: &Rc<World>, node: &Arc<Node>| {
        if node.index == 1 {
            program();
        }
        Ok(())
    };
    let judging = Judging::StopAtFirst(Which::Named(&[]));
    run_plan(&plan(faults), judging, &(Rc::new(program) as Program), None, None)
}

fn escapes(outcome: Result<Outcome, EngineError>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(EngineError::Escaped { node: 1 }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_task_spawned_outside_the_process_escapes() {
    let at_once = || drop(tokio::spawn(pending::<()>()));
    assert!(escapes(run_on_node_1(vec![], at_once)));
    let later = || {
        spawn(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            spawn(async { drop(tokio::spawn(async {})) });
        });
    };
    assert!(escapes(run_on_node_1(vec![], later)), "even if it ends at once");
}

#[test]
fn a_task_in_the_process_does_not_escape() {
    let outcome = run_on_node_1(vec![], || {
        spawn(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert_eq!(spawn(async { 7 }).await.unwrap(), 7);
            // The process polls a local task set, so the set is paused with it.
            let own = tokio::task::LocalSet::new();
            own.run_until(async { tokio::task::spawn_local(async {}).await.unwrap() }).await;
        });
    });
    assert!(!escapes(outcome));
}

#[test]
fn a_panicking_task_fails_the_run() {
    let outcome = run_on_node_1(vec![], || {
        spawn(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let joined = spawn(async { panic!("meant") }).await;
            joined.expect_err("panicked");
        });
    });
    let Err(EngineError::Panicked { node: 1, at_ms: 20..=22, what }) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(what, "meant");
}

#[test]
fn a_driver_that_panics_is_a_violation() {
    let program = |world: &Rc<World>, node: &Arc<Node>| {
        let panics = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            panic!("meant");
        };
        if node.index == 1 {
            spawn(contender::driven(Rc::clone(world), Arc::clone(node), panics));
        }
        Ok(())
    };
    let judging = Judging::StopAtFirst(Which::Named(&[PropertyName::DRIVER_RUNS_ON]));
    let outcome = run_plan(&plan(vec![]), judging, &(Rc::new(program) as Program), None, None);
    let outcome = outcome.unwrap();
    let violation = outcome.judge.violation().unwrap();
    assert_eq!(violation.finding.to_string(), "the driver of n1 panicked: meant");
}

#[test]
fn a_spawned_task_is_paused_with_its_process() {
    let ticks = |what, at_ms, for_ms| {
        let fault = Fault { when: When::AtMs(at_ms), for_ms, what };
        let (ticks, count) = (Rc::new(Cell::new(0_u32)), Cell::new(0_u32));
        let ticked = Rc::clone(&ticks);
        let outcome = run_on_node_1(vec![fault], move || {
            // Only the first life counts.
            if count.replace(count.get() + 1) > 0 {
                return;
            }
            let ticked = Rc::clone(&ticked);
            spawn(async move {
                for _ in 0..90 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    ticked.set(ticked.get() + 1);
                }
                pending::<()>().await;
            });
        });
        outcome.unwrap();
        ticks.get()
    };
    let node = Some(1);
    assert_eq!(ticks(ProcessFault::Pause.at(Some(0)), 10, 50), 90);
    assert_eq!(ticks(ProcessFault::Pause.at(node), 10, 50), 90, "it resumes");
    assert!(ticks(ProcessFault::Crash { power: false }.at(node), 10, 50) <= 10);
}
