//! The command that a mutated simulator is run with: it reports failing properties with their first
//! seeds, and conditions that are never met.

use std::io;

use clap::Args;
use tenure_sim::engines::Engine;
use tenure_sim::evidence::mutants;
use tenure_sim::evidence::mutants::{Arena, Ground, Hunt, guards};

use crate::args::{DrawnArguments, JobsArguments, wrong};
use crate::error::{CliError, written};
use crate::mutants::arena;

#[derive(Debug, Args)]
pub(crate) struct HuntArguments {
    /// The engine
    #[arg(long, value_parser = arena)]
    engine: Arena,
    /// The store of real servers
    #[arg(long)]
    store: Option<String>,
    /// The number of seeds, from 1 on; of steps, in a search through all orders
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    #[command(flatten)]
    jobs: JobsArguments,
    /// End once these properties have failed, or these conditions were never met [default: any]
    #[arg(long, value_delimiter = ',', value_parser = guard)]
    until: Vec<String>,
    #[command(flatten)]
    drawn: DrawnArguments,
}

/// Prints one JSON object for the first failure of each kind. A failure is not an error of this
/// command.
pub(crate) fn hunt(arguments: &HuntArguments) -> Result<u8, CliError> {
    if arguments.engine == Arena::Overload {
        let HuntArguments { runs, until, .. } = arguments;
        written(mutants::overloaded::hunt(io::stdout(), *runs, until))?;
        return Ok(0);
    }
    if arguments.engine == Arena::Orders {
        let steps = u8::try_from(arguments.runs).unwrap_or(u8::MAX);
        written(mutants::ordered::hunt(io::stdout(), steps))?;
        return Ok(0);
    }
    let hunt = Hunt {
        ground: arguments.ground()?,
        runs: arguments.runs,
        jobs: arguments.jobs.threads(),
        until: arguments.until.clone(),
    };
    written(hunt.run(io::stdout()).map(|_runs| ()))?;
    Ok(0)
}

impl HuntArguments {
    fn ground(&self) -> Result<Ground, CliError> {
        if self.engine == Arena::Audit {
            return Ok(Ground::Audits);
        }
        let engine = match &self.store {
            None => self.engine.name().parse::<Engine>(),
            Some(store) => format!("{}-{store}", self.engine).parse(),
        };
        let engine = engine.map_err(|unknown| wrong(unknown.to_string()))?;
        engine.prepare();
        Ok(Ground::Runs { engine, faults: self.drawn.faults(engine)? })
    }
}

fn guard(name: &str) -> Result<String, String> {
    let found = guards().find(|known| *known == name);
    found.map(str::to_owned).ok_or_else(|| "neither a property nor a condition".to_owned())
}
