//! Running one seed or plan again.

use std::io;
use std::path::PathBuf;

use clap::Args;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::search::campaign::{Failure, Run, attempt, attempt_twice};
use tenure_sim::trace::file;

use crate::args::{
    DrawnArguments, EngineArguments, JudgedArguments, ShownArguments, WhichArguments,
};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::plan;
use crate::report;
use crate::show::one::One;

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    pub(crate) which: WhichArguments,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
    #[command(flatten)]
    pub(crate) drawn: DrawnArguments,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    /// Judge by all properties, also by those whose assumptions the plan breaks
    #[arg(long, conflicts_with = "properties")]
    beyond: bool,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

pub(crate) fn replay(arguments: &ReplayArguments) -> Result<u8, CliError> {
    let engine = arguments.engine.engine()?;
    engine.prepare();
    let plan = plan::of(&arguments.which, engine, &arguments.drawn)?;
    let mut files = Files::read(&arguments.which.plan);
    let trace = files.create_if(arguments.trace.as_deref())?;
    let judging = if arguments.beyond {
        Judging::KeepJudging(Which::All)
    } else {
        arguments.judged.judging()
    };
    let report = arguments.shown.report.open(&mut files)?;
    // Only a simulation repeats itself.
    let attempt = if engine.simulates() { attempt_twice } else { attempt };
    let outcome = attempt(engine, &plan, judging);
    let (run, entries) = match &outcome {
        Ok(outcome) => (Run::of(&plan, outcome), outcome.trace.entries()),
        Err(Failure::Refused { what }) => return Err(CliError::Input(what.clone().into())),
        Err(failure) => (Run::failed(plan.seed, failure.clone()), &[][..]),
    };
    if let (Some(mut out), Ok(outcome)) = (trace, &outcome) {
        let (trace, end) = (&outcome.trace, outcome.simulated);
        written(
            file::write(&mut out, (engine.name(), engine.tick()), &plan, trace, end)
                .and_then(|()| out.finish()),
        )?;
    }
    report.write(&report::page(engine.name(), &plan, &outcome))?;
    let one = One { engine: engine.name(), plan: &plan, run: &run, entries, is_intact: true };
    written(one.write(&mut io::stdout().lock(), &arguments.shown))?;
    Ok(one.verdict().exit_code())
}
