//! The plan of a seed.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use tenure_sim::engines::Engine;
use tenure_sim::plan::{Plan, swarm};

use crate::args::{DrawnArguments, WhichArguments, engine};
use crate::output::text_of;
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

/// The plan that is named on the command line: by its seed, or by its file.
pub(crate) fn of(
    which: &WhichArguments,
    engine: Engine,
    arguments: &DrawnArguments,
) -> Result<Plan, Trouble> {
    match (&which.plan, which.seed) {
        (Some(path), _) => read(path),
        // The command line has either.
        (None, seed) => drawn(seed.unwrap_or(1), engine, arguments),
    }
}

/// The plan that a file holds.
pub(crate) fn read(path: &Path) -> Result<Plan, Trouble> {
    Plan::parse(&text_of(path)?).map_err(|why| Trouble::of_file(path, why))
}
