//! Leaves out the effect of each kind of fault, to check that a campaign notices.

use std::io::{self, Write};

use clap::Args;
use tenure_sim::evidence::effects::{LeftOut, leave_out};
use tenure_sim::search::pool;

use crate::args::{DrawnArguments, Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::run::EnginesArguments;
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct EffectsArguments {
    #[command(flatten)]
    engines: EnginesArguments,
    #[command(flatten)]
    left_out: DrawnArguments,
    /// The number of seeds of a campaign, for each kind [default: as many as are needed to notice]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn effects(arguments: &EffectsArguments) -> Result<u8, CliError> {
    let mut wanted = Vec::new();
    for engine in arguments.engines.each()? {
        engine.prepare();
        let kinds = arguments.left_out.faults(engine)?;
        wanted.extend(kinds.into_iter().map(|kind| (engine, kind)));
    }
    let results = pool::map(arguments.jobs.threads(), &wanted, |(engine, kind)| {
        leave_out(*engine, *kind, arguments.runs)
    });
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &results),
        Format::Json => serde_json::to_writer(&mut out, &results)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    })?;
    Ok(u8::from(!results.iter().all(LeftOut::is_noticed)))
}

fn human(out: &mut impl Write, results: &[LeftOut]) -> io::Result<()> {
    let heads = ["fault", "engine", "runs", "ordered", "took effect", "left out: ordered"];
    let mut table = table(heads.into_iter().chain(["took effect", "noticed by"]));
    for one in results {
        let by = if one.noticed_by.is_empty() { "-".to_owned() } else { one.noticed_by.join(", ") };
        let (with, without) = (one.with, one.without);
        let numbers = [one.runs, with.ordered, with.effects, without.ordered, without.effects];
        let words = [one.kind.to_string(), one.engine.to_string()].into_iter();
        let row = words.chain(numbers.map(|number| number.to_string()));
        table.add_row(row.chain([by]));
    }
    writeln!(out, "{table}\n")?;
    let unnoticed: Vec<String> = results
        .iter()
        .filter(|one| !one.is_noticed())
        .map(|one| format!("{} in {}", one.kind, one.engine))
        .collect();
    if unnoticed.is_empty() {
        writeln!(out, "NOTICED: every kind of fault that was left out")
    } else {
        writeln!(out, "UNNOTICED: {}", unnoticed.join(", "))
    }
}
