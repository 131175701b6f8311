//! The cost of the turmoil engine, compared with that of turmoil itself.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tenure_sim::engines::turmoil;
use tenure_sim::engines::{Engine, EngineError};
use tenure_sim::judge::Judging;
use tenure_sim::plan::Plan;

use super::{NODES, healthy};

const ROUNDS: usize = 7;

/// Measures five candidates at default settings without faults, and an empty simulation with the
/// same number of machines, in turn.
pub(super) fn compare(out: &mut impl Write) -> io::Result<()> {
    let plan = Plan { calm_from_ms: 30_000, ..healthy(1) };
    let mut pairs = Vec::new();
    for _ in 0..ROUNDS {
        let engine = timed(|| {
            Engine::Turmoil.run(&plan, Judging::default()).map(|outcome| outcome.simulated)
        })?;
        let ticks = u64::try_from(engine.0.as_millis()).unwrap_or(u64::MAX);
        let empty = timed(|| turmoil::run_empty(NODES + 1, ticks).map(|()| engine.0))?;
        pairs.push((pace(engine), pace(empty)));
    }
    let ratio = |(engine, empty): &(f64, f64)| 100.0 * engine / empty;
    pairs.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let (engine, empty) = pairs[ROUNDS / 2];
    let tick = turmoil::TICK;
    writeln!(out, "\n{NODES} candidates and a store, tick {tick:?}, {ROUNDS} rounds")?;
    writeln!(out, "turmoil engine     {engine:>8.0} simulated seconds a second (median round)")?;
    writeln!(out, "empty turmoil      {empty:>8.0} simulated seconds a second (same round)")?;
    let (least, median, most) =
        (ratio(&pairs[0]), ratio(&pairs[ROUNDS / 2]), ratio(&pairs[ROUNDS - 1]));
    writeln!(out, "ratio              {median:>7.1}% ({least:.1}% to {most:.1}%)")
}

fn timed(run: impl FnOnce() -> Result<Duration, EngineError>) -> io::Result<(Duration, Duration)> {
    let began = Instant::now();
    let simulated = run().map_err(io::Error::other)?;
    Ok((simulated, began.elapsed()))
}

fn pace((simulated, took): (Duration, Duration)) -> f64 {
    simulated.as_secs_f64() / took.as_secs_f64()
}
