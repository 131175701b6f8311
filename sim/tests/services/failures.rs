//! Runs of services that fail, or prove nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_sim::plan::{FaultKind, Manner, Program};
use tenure_sim::search::campaign::Failure;
use tenure_sim::simulation::{Process, SimulationError};
use tokio::time::sleep;

use super::{failed, plan, scripted, what};

#[test]
fn a_panic_is_reported_with_its_message() {
    let (simulation, _) = scripted(|_, _| {
        Box::pin(async {
            sleep(Duration::from_millis(20)).await;
            panic!("no such table");
        })
    });
    let failed = failed(simulation.runs(3).run());
    assert!(what(&failed).contains("panicked at 2"), "{failed}");
    assert!(what(&failed).ends_with("ms: no such table"), "{failed}");
    assert!(failed.plan.nodes.len() == 1 && failed.plan.faults.is_empty(), "{failed}");
    assert!(failed.to_string().contains("The run broke down"), "{failed}");
}

#[test]
fn a_panic_of_any_task_is_reported() {
    let (simulation, _) = scripted(|_, _| {
        Box::pin(async {
            drop(tokio::spawn(async { panic!("in a task") }));
            std::future::pending::<()>().await;
        })
    });
    assert!(what(&failed(simulation.replay(&plan(vec![])))).ends_with(": in a task"));
    let (simulation, _) = scripted(|process, _| {
        Box::pin(async move {
            process.outside.call(|| panic!("in the database")).await;
            unreachable!("there is no reply");
        })
    });
    assert!(what(&failed(simulation.replay(&plan(vec![])))).ends_with(": in the database"));
    let (simulation, _) = scripted(|process, _| {
        Box::pin(async move {
            process.candidate.on_elected(async |_| panic!("in a callback"));
            std::future::pending::<()>().await;
        })
    });
    assert!(what(&failed(simulation.replay(&plan(vec![])))).ends_with(": in a callback"));
}

#[test]
fn a_service_without_calls_proves_nothing() {
    let (simulation, _) = scripted(|process, _| {
        Box::pin(async move {
            let _ = process
                .candidate
                .run_while_leader(async |_| std::future::pending::<()>().await)
                .await;
        })
    });
    let error = simulation.runs(3).run().unwrap_err();
    assert!(matches!(error, SimulationError::Empty { runs: 3, .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("no call of Process::outside was judged by the property \"service\""),
        "{error}"
    );
}

static SO_FAR: AtomicU64 = AtomicU64::new(0);

#[test]
fn a_service_that_differs_from_run_to_run_is_an_error() {
    let (simulation, _) = scripted(|process: Process, _| {
        Box::pin(async move {
            let waits = SO_FAR.fetch_add(1, Ordering::Relaxed) % 7;
            sleep(Duration::from_millis(100 * waits)).await;
            process.outside.call(|| ()).await;
            std::future::pending::<()>().await;
        })
    });
    let failed = failed(simulation.replay(&plan(vec![])));
    assert!(matches!(failed.failure, Failure::Nondeterministic { .. }), "{failed}");
    assert!(failed.to_string().contains("biased"), "{failed}");
}

#[test]
fn a_program_of_the_engines_own_is_refused() {
    let (simulation, _) = scripted(|_, _| Box::pin(std::future::pending()));
    let mut of_callbacks = plan(vec![]);
    of_callbacks.program = Program { manner: Manner::Callbacks, ..Program::default() };
    let failed = failed(simulation.replay(&of_callbacks));
    assert!(what(&failed).contains("Callbacks") && what(&failed).contains("a service"), "{failed}");
}

#[test]
fn a_service_without_a_leader_violates_progress() {
    let (simulation, _) = scripted(|process, _| {
        Box::pin(async move {
            let _ = process.candidate.stop().await;
            std::future::pending::<()>().await;
        })
    });
    let failed = failed(simulation.faults([FaultKind::Pause]).runs(1).run());
    let Failure::Violated { property, .. } = &failed.failure else { panic!("{failed}") };
    assert_eq!(property, "leader-within", "{failed}");
}
