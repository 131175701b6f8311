//! What the engine costs beside what turmoil costs by itself.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tenure_sim::plan::{NodePlan, Plan, Settings};
use tenure_sim::turmoil_engine;

const NODES: usize = 5;
const SECONDS: u64 = 30;
const ROUNDS: usize = 7;

/// Five candidates at default settings without faults, beside an empty simulation of as many machines,
/// in turn.
pub(crate) fn compare() -> io::Result<u8> {
    let mut pairs = Vec::new();
    for _ in 0..ROUNDS {
        let engine =
            timed(|| turmoil_engine::run(&healthy(), None).map(|outcome| outcome.simulated))?;
        let ticks = u64::try_from(engine.0.as_millis()).unwrap_or(u64::MAX);
        let empty = timed(|| turmoil_engine::run_empty(NODES + 1, ticks).map(|()| engine.0))?;
        pairs.push((pace(engine), pace(empty)));
    }
    pairs.sort_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)));
    let mut out = io::stdout().lock();
    let (engine, empty) = pairs[ROUNDS / 2];
    writeln!(
        out,
        "{NODES} candidates and a store, tick {:?}, {ROUNDS} rounds",
        turmoil_engine::TICK
    )?;
    writeln!(out, "turmoil engine     {engine:>8.0} simulated seconds a second (median round)")?;
    writeln!(out, "empty turmoil      {empty:>8.0} simulated seconds a second (same round)")?;
    let ratio = |(engine, empty): &(f64, f64)| 100.0 * engine / empty;
    let (least, most) = (ratio(&pairs[0]), ratio(&pairs[ROUNDS - 1]));
    writeln!(
        out,
        "ratio              {:>7.1}% ({least:.1}% to {most:.1}%)",
        ratio(&(engine, empty))
    )?;
    Ok(0)
}

fn healthy() -> Plan {
    let settings = Settings {
        ttl_ms: 15_000,
        renew_interval_ms: 5_000,
        request_timeout_ms: 1_500,
        stop_margin_ms: 1_500,
        retry_least_ms: 100,
        retry_most_ms: 1_000,
        drain_bound_ms: 15_000,
        drift_ppm: 10_000,
    };
    Plan {
        seed: 1,
        nodes: vec![NodePlan { clock_offset_ms: 1_000, clock_rate_ppm: 100 }; NODES],
        store_rate_ppm: -100,
        settings,
        latency_ms: (0, 2),
        work_every_ms: 1_000,
        faults: Vec::new(),
        calm_from_ms: SECONDS * 1_000,
    }
}

fn timed(
    run: impl FnOnce() -> Result<Duration, turmoil_engine::EngineError>,
) -> io::Result<(Duration, Duration)> {
    let began = Instant::now();
    let simulated = run().map_err(io::Error::other)?;
    Ok((simulated, began.elapsed()))
}

fn pace((simulated, took): (Duration, Duration)) -> f64 {
    simulated.as_secs_f64() / took.as_secs_f64()
}
