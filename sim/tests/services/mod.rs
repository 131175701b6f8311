//! Users' own services on the nodes of the turmoil engine.
// These helpers are not tests in the sense of clippy.toml.
#![allow(clippy::unwrap_used)]

mod failures;
mod lives;
mod properties;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_sim::Simulation;
use tenure_sim::plan::{Fault, NodePlan, Plan, Settings, What, When, Work};
use tenure_sim::search::campaign::Failure;
use tenure_sim::search::sweep::default_plan;
use tenure_sim::simulation::{Failed, Process, Service, SimulationError};

/// A test's service, as run in each life.
type Program = fn(Process, Log) -> std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// The notes of a run's lives: the node, its life, and a number.
type Log = Arc<Mutex<Vec<(usize, u32, u128)>>>;

/// A service without a property of its own.
struct Scripted {
    program: Program,
    log: Log,
}

impl Service for Scripted {
    fn serve(self: Arc<Self>, process: Process) -> impl Future<Output = ()> + 'static {
        (self.program)(process, Arc::clone(&self.log))
    }

    fn verify(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A simulation of that program, and the notes of all its runs.
fn scripted(program: Program) -> (Simulation, Log) {
    let log = Log::default();
    let of_run = Arc::clone(&log);
    let service = move || Scripted { program, log: Arc::clone(&of_run) };
    (Simulation::new().service(service), log)
}

fn plan(faults: Vec<Fault>) -> Plan {
    let node = NodePlan { clock_offset_ms: 1_000, clock_rate_ppm: 0, settings: None };
    Plan {
        seed: 7,
        settings: Settings::of_ttl(Duration::from_secs(1)).unwrap(),
        nodes: vec![node; 2],
        latency_us: (0, 2_000),
        work: Work { every_ms: 20, takes_us: 0, reads_first: false },
        faults,
        calm_from_ms: 6_000,
        handover: false,
        ..default_plan().unwrap()
    }
}

fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

fn failed(result: Result<impl std::fmt::Debug, SimulationError>) -> Failed {
    match result.unwrap_err() {
        SimulationError::Failed(failed) => *failed,
        other => panic!("failed, and not: {other}"),
    }
}

fn what(failed: &Failed) -> &str {
    match &failed.failure {
        Failure::Violated { what, .. } | Failure::Broke { what } | Failure::Refused { what } => {
            what
        }
        other @ Failure::Nondeterministic { .. } => panic!("{other:?}"),
    }
}
