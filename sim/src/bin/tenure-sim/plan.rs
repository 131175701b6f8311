//! Printing the plan of a seed.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use tenure_sim::engines::Engine;
use tenure_sim::plan::{Plan, swarm};

use crate::args::{DrawnArguments, EngineArguments, WhichArguments};
use crate::error::{CliError, written};
use crate::output::text_of;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
    #[command(flatten)]
    pub(crate) drawn: DrawnArguments,
}

pub(crate) fn plan(arguments: &PlanArguments) -> Result<u8, CliError> {
    let plan = drawn(arguments.seed, arguments.engine.engine()?, &arguments.drawn)?;
    written(writeln!(io::stdout().lock(), "{}", plan.to_text()))?;
    Ok(0)
}

/// The plan of a seed.
pub(crate) fn drawn(
    seed: u64,
    engine: Engine,
    arguments: &DrawnArguments,
) -> Result<Plan, CliError> {
    Ok(swarm(seed, &arguments.faults(engine)?, engine.scope()))
}

/// The plan that is named on the command line: by its seed, or by its file.
pub(crate) fn of(
    which: &WhichArguments,
    engine: Engine,
    arguments: &DrawnArguments,
) -> Result<Plan, CliError> {
    match (&which.plan, which.seed) {
        (Some(path), _) => read(path),
        // The command line has one of the two.
        (None, seed) => drawn(seed.unwrap_or(1), engine, arguments),
    }
}

/// The plan in a file.
pub(crate) fn read(path: &Path) -> Result<Plan, CliError> {
    Plan::parse(&text_of(path)?).map_err(|why| CliError::of_file(path, why))
}
