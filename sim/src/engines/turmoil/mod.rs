//! The engine that runs the real driver, Redis adapter and Lua scripts, over turmoil's simulated
//! TCP.
//!
//! One run is one thread and one simulated network. True time belongs to the engine. It moves in
//! ticks of a millisecond; all events of a tick happen at its end. No part of it reads a real
//! clock, a real random number or the order of a hash map, so a plan has one trace.
//!
//! The usual sources of nondeterminism, and how they are removed: selects are biased; maps are
//! ordered; holder ids and jitter are drawn from the plan's seed; the wall clock below tokens is
//! the simulated server's; client-side timeouts, which would use tokio's clock, are disabled.

mod cancels;
mod contender;
mod contest;
mod faults;
mod journal;
mod landings;
mod late;
mod links;
mod log;
mod node;
mod process;
mod refused;
mod runtime;
mod schedule;
mod scripts;
mod seat;
mod service;
mod sinks;
mod store;
mod stream;
mod taking_part;
#[cfg(test)]
mod tests;
mod wires;
mod work;
mod world;

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tenure_core::Config;
use turmoil::{Builder, Sim};

use crate::engines::{EngineError, panics};
use crate::judge::{Judging, Outcome};
use crate::plan::clock::Clock;
use crate::plan::{Ending, FaultKind, NodePlan, Plan, PlanError};
use faults::Faults;
use journal::Journal;
use node::Node;
use process::Program;
pub use process::spawn;
use schedule::SharedSchedule;
use service::Hosting;
pub(crate) use service::{Hosted, judges_services, run_service};
pub use service::{Outside, Process, Service};
use store::Store;
use wires::Wires;
use world::World;

/// The length of a tick.
pub const TICK: Duration = Duration::from_millis(1);
/// The granularity that the Redis store declares.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Carries out a plan, and judges the run.
///
/// # Errors
/// If the plan can't be carried out, or the simulation itself fails.
pub fn run(plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
    run_plan(plan, judging, &own_program(), None, None)
}

/// Carries out a plan, but orders faults of that kind without carrying them out: their effects must
/// be missing.
///
/// # Errors
/// As those of [`run`].
pub fn run_without(
    plan: &Plan,
    judging: Judging<'_>,
    kind: FaultKind,
) -> Result<Outcome, EngineError> {
    run_plan(plan, judging, &own_program(), Some(kind), None)
}

/// The real driver and Redis adapter, with a candidate in each election.
fn own_program() -> Program {
    Rc::new(contender::take_part)
}

fn run_plan(
    plan: &Plan,
    judging: Judging<'_>,
    program: &Program,
    without: Option<FaultKind>,
    hosting: Option<Hosting>,
) -> Result<Outcome, EngineError> {
    plan.check()?;
    refused::check(plan, hosting.is_some())?;
    let configs = configs(plan)?;
    let not_judged: &[_] = if hosting.is_some() { &service::OF_OWN_WORK } else { &[] };
    let outcome = |_| Outcome::of(judging.judge(plan, &configs, TICK).without(not_judged));
    let outcomes = (0..plan.program.elections).map(outcome).collect();
    let journal = Arc::new(Journal::default());
    let schedule = Arc::new(SharedSchedule::of(plan, without));
    let shared = (Arc::clone(&journal), Arc::clone(&schedule));
    let world = Rc::new(World::new(plan, configs, shared, outcomes, hosting));
    let wires = Wires::new(plan, &journal, &schedule);
    let rate = |rate_ppm| if without == Some(FaultKind::Drift) { 0 } else { rate_ppm };
    let node = |(index, of): (usize, &NodePlan)| {
        let clock = Clock::new(Duration::from_millis(of.clock_offset_ms), rate(of.clock_rate_ppm));
        let (journal, schedule) = (Arc::clone(&journal), Arc::clone(&schedule));
        Arc::new(Node::new(index, plan.seed, clock, journal, schedule, Arc::clone(&wires)))
    };
    let nodes: Vec<Arc<Node>> = plan.nodes.iter().enumerate().map(node).collect();
    let store = Store::new(plan, rate(plan.store.clock_rate_ppm), &world, &nodes, &schedule);
    // A panic before this run is not one of its processes.
    let _ = panics::take();
    let mut sim = network(plan);
    sim.host("store", store.program(&wires));
    for node in &nodes {
        let (program, world, node) = (Rc::clone(program), Rc::clone(&world), Arc::clone(node));
        sim.host(name(node.index), move || {
            process::live(Rc::clone(&program), Rc::clone(&world), Arc::clone(&node))
        });
    }
    let mut faults = Faults::new(plan, &world, &nodes, store, &schedule, without);
    let mut ending = Ending::of(plan, &world.configs, world.elections());
    let mut leaders = vec![Vec::with_capacity(nodes.len()); world.elections()];
    let stops = judging.stops_at_first();
    while journal.now() < ending.at() && !(stops && world.is_violated()) {
        journal.begin_tick(journal.now() + TICK);
        world.landings.land();
        faults.advance(&mut sim);
        step(&mut sim)?;
        world.serve();
        faults.supervise(&mut sim);
        wires.report_effects(|node| nodes[node].is_paused());
        world.probe(&mut leaders);
        faults.catch_up(&mut sim);
        world.check_end(&mut ending, &leaders);
        world.write_up();
        journal.check()?;
    }
    world.end_services();
    for node in &nodes {
        node.forget_unsent();
    }
    faults.check_drift();
    world.write_up();
    let (outcome, run) = (world.finish(), Rc::downgrade(&world));
    drop((sim, faults, world));
    assert_eq!(run.strong_count(), 0, "a run that holds itself is never freed");
    Ok(outcome)
}

/// The configuration of each candidate, with the granularity of the store.
fn configs(plan: &Plan) -> Result<Vec<Config>, PlanError> {
    let with_store = |(node, config): (usize, Config)| {
        let granularity = config.granularity().max(GRANULARITY);
        config
            .with_granularity(granularity)
            .map_err(|why| PlanError::Settings { node, why: why.into() })
    };
    plan.configs()?.into_iter().enumerate().map(with_store).collect()
}

/// The name of a node's machine.
fn name(node: usize) -> String {
    format!("node-{node}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn step(sim: &mut Sim<'_>) -> Result<(), EngineError> {
    sim.step().map(drop).map_err(|error| EngineError::Simulation(error.to_string()))
}

/// A network without faults.
fn network<'a>(plan: &Plan) -> Sim<'a> {
    let (least, most) = plan.latency_us;
    Builder::new()
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(24 * 3_600))
        .rng_seed(plan.seed)
        .epoch(SystemTime::UNIX_EPOCH)
        .min_message_latency(Duration::from_micros(least))
        .max_message_latency(Duration::from_micros(most))
        .tcp_capacity(4_096)
        .build()
}

/// Runs empty machines for that many ticks, to measure the cost of turmoil itself.
///
/// # Errors
/// If the simulation fails.
pub fn run_empty(machines: usize, ticks: u64) -> Result<(), EngineError> {
    let mut sim = Builder::new()
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(24 * 3_600))
        .build();
    for machine in 0..machines {
        sim.host(name(machine), || async {
            std::future::pending::<()>().await;
            Ok(())
        });
    }
    for _ in 0..ticks {
        step(&mut sim)?;
    }
    Ok(())
}
