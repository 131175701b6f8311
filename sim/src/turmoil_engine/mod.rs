//! The engine that runs what is shipped: the driver, the Redis adapter and the Lua scripts, over
//! turmoil's simulated TCP.
//!
//! One run is one thread and one world. True time is the engine's; it moves in ticks of a millisecond,
//! and everything that happens within a tick happens at its end. Nothing in it reads a real clock, a
//! real random number or the order of a hash map, so a plan has one trace.
//!
//! What escapes determinism elsewhere, and how it is kept out: selects are biased; maps are ordered;
//! holder ids and jitter come from the plan's seed; the wall clock that tokens are floored by is the
//! simulated server's; client-side timeouts, which would use tokio's clock, are switched off.

mod faults;
mod node;
mod process;
mod runtime;
mod store;
mod stream;
mod world;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tenure_core::ConfigError;
use turmoil::{Builder, Sim};

use crate::clock::Clock;
use crate::plan::Plan;
use crate::properties::{Judge, PropertyName};
use crate::sometimes::Sometimes;
use crate::trace::Trace;
use faults::{Faults, name};
use node::Node;
use store::Store;
use world::World;

/// The length of a tick.
pub const TICK: Duration = Duration::from_millis(1);
const TICK_NANOS: u64 = 1_000_000;
/// How long a run goes on once somebody leads in the calm.
const AFTERWARDS_MS: u64 = 300;

/// What came of one run.
#[derive(Debug)]
pub struct Outcome {
    /// All that happened.
    pub trace: Trace,
    /// What the properties say.
    pub judge: Judge,
    /// Where the run went.
    pub sometimes: Sometimes,
    /// How much time was simulated.
    pub simulated: Duration,
}

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Its settings can't hold.
    #[error("the plan's settings can't hold")]
    Settings(#[from] ConfigError),
    /// A task of the driver or the adapter panicked; its message is on standard error.
    #[error("a task of node {node} panicked at {at_ms} ms")]
    Panicked {
        /// The node.
        node: usize,
        /// When, in milliseconds of true time.
        at_ms: u64,
    },
    /// The simulated network failed in a way that no fault explains.
    #[error("the simulation broke down: {0}")]
    Simulation(String),
}

/// Carries out a plan, and judges it by all properties or only by those named.
///
/// # Errors
/// If the plan's settings can't hold, or the simulation itself breaks down.
pub fn run(plan: &Plan, only: Option<&[PropertyName]>) -> Result<Outcome, EngineError> {
    let config = plan.settings.config()?;
    let now = Arc::new(AtomicU64::new(0));
    let world = Rc::new(World::new(plan, config, only, Arc::clone(&now)));
    let store = Store::new(plan, &world);
    let nodes: Vec<Arc<Node>> = plan
        .nodes
        .iter()
        .enumerate()
        .map(|(index, of)| {
            let clock = Clock::new(of.clock_offset_ms * TICK_NANOS, of.clock_rate_ppm);
            Arc::new(Node::new(index, plan.seed, clock, Arc::clone(&now)))
        })
        .collect();
    let mut sim = network(plan);
    sim.host("store", {
        let redis = store.redis.clone();
        move || store::program(redis.clone())
    });
    for node in &nodes {
        let (world, node) = (Rc::clone(&world), Arc::clone(node));
        sim.host(name(node.index), move || process::program(Rc::clone(&world), Arc::clone(&node)));
    }
    let mut faults = Faults::new(plan, &world, &nodes, store);
    let bound = plan.progress_bound(&config).as_millis();
    let last_ms = plan.calm_from_ms + u64::try_from(bound).unwrap_or(u64::MAX) + 1;
    let mut leaders = Vec::with_capacity(nodes.len());
    let (mut at_ms, mut ends_ms) = (0, last_ms);
    while at_ms < ends_ms && !world.is_violated() {
        at_ms += 1;
        now.store(at_ms * TICK_NANOS, Ordering::Relaxed);
        faults.advance(&mut sim, at_ms);
        step(&mut sim)?;
        faults.observe();
        if let Some(node) = nodes.iter().find(|node| node.has_panicked()) {
            return Err(EngineError::Panicked { node: node.index, at_ms });
        }
        if world.has_missed_events() {
            return Err(EngineError::Simulation("a reporter lagged behind its candidate".into()));
        }
        world.probe(&mut leaders);
        if at_ms > plan.calm_from_ms && !leaders.is_empty() {
            ends_ms = ends_ms.min(at_ms + AFTERWARDS_MS);
        }
    }
    let (trace, judge, sometimes) = world.finish();
    Ok(Outcome { trace, judge, sometimes, simulated: Duration::from_millis(at_ms) })
}

fn step(sim: &mut Sim<'_>) -> Result<(), EngineError> {
    sim.step().map(drop).map_err(|error| EngineError::Simulation(error.to_string()))
}

/// A network without faults.
fn network<'a>(plan: &Plan) -> Sim<'a> {
    let (least, most) = plan.latency_ms;
    Builder::new()
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(24 * 3_600))
        .rng_seed(plan.seed)
        .epoch(SystemTime::UNIX_EPOCH)
        .min_message_latency(Duration::from_millis(least))
        .max_message_latency(Duration::from_millis(most))
        .tcp_capacity(4_096)
        .build()
}

/// Runs nothing, on as many machines, for as many ticks: what turmoil itself costs.
///
/// # Errors
/// If the simulation breaks down.
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
