//! The plan of a seed.

use std::io::{self, Write};

use clap::Args;
use tenure_sim::engine::Engine;
use tenure_sim::plan::{Plan, swarm};

use crate::args::{DrawnArguments, engine};
use crate::trouble::{Trouble, written};

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: u64,
    /// For which engine
    #[arg(long, value_parser = engine(), default_value = "model")]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) drawn: DrawnArguments,
}

pub(crate) fn plan(arguments: &PlanArguments) -> Result<u8, Trouble> {
    let plan = drawn(arguments.seed, arguments.engine, &arguments.drawn)?;
    written(writeln!(io::stdout().lock(), "{}", plan.to_text()))?;
    Ok(0)
}

/// The plan of a seed.
pub(crate) fn drawn(
    seed: u64,
    engine: Engine,
    arguments: &DrawnArguments,
) -> Result<Plan, Trouble> {
    Ok(swarm(seed, &arguments.faults(engine)?, engine.scope()))
}
