//! The situations in which libraries in use were seen to fail.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure_sim::evidence::situations::{ALL, Figures, Situation, run};
use tenure_sim::report::text::milliseconds;
use tenure_sim::search::campaign::Durations;

use crate::args::{EngineArguments, Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::{numbers, table};

#[derive(Debug, Args)]
pub(crate) struct SituationsArguments {
    #[command(flatten)]
    engine: EngineArguments,
    /// The situations, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_parser = situation())]
    only: Option<Vec<Situation>>,
    /// The number of runs of each [default: from 1 to 20, as each needs]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

fn situation() -> impl TypedValueParser<Value = Situation> {
    let names = ALL.iter().map(|situation| situation.name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Situation>())
}

pub(crate) fn situations(arguments: &SituationsArguments) -> Result<u8, CliError> {
    let engine = arguments.engine.engine()?;
    let wanted = arguments.only.clone().unwrap_or_else(|| ALL.to_vec());
    let figures = run(engine, &wanted, arguments.runs, arguments.jobs.threads());
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &wanted, &figures),
        Format::Json => serde_json::to_writer(&mut out, &figures)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    })?;
    Ok(exit_code(&figures))
}

/// 2 if the engine can carry out none of them.
fn exit_code(figures: &[Figures]) -> u8 {
    match (figures.iter().all(Figures::is_ok), are_refused(figures)) {
        (false, _) => 1,
        (true, true) => 2,
        (true, false) => 0,
    }
}

fn are_refused(figures: &[Figures]) -> bool {
    figures.iter().all(|one| one.refused.is_some())
}

fn human(out: &mut impl Write, wanted: &[Situation], figures: &[Figures]) -> io::Result<()> {
    let mut meanings = table(["situation", "what happens"]);
    for situation in wanted {
        meanings.add_row([situation.name, situation.about]);
    }
    writeln!(out, "{meanings}\n")?;
    let heads = ["situation", "runs", "overlaps", "longest", "paused", "led after", "measured"];
    let mut table = numbers(heads.into_iter().chain(["median", "longest"]));
    for one in figures.iter().filter(|one| one.refused.is_none()) {
        let pauses = one.paused.map_or(["-".to_owned(), "-".to_owned()], |(paused, led)| {
            [paused.to_string(), led.to_string()]
        });
        let none = || "-".to_owned();
        let measured = one.measured.as_ref();
        let times = measured.map(|of| &of.times).filter(|times| times.count() > 0);
        let figure = |of: Option<Duration>| of.map_or_else(none, milliseconds);
        let row = [
            one.situation.to_owned(),
            one.runs.to_string(),
            one.overlaps.count().to_string(),
            figure((one.overlaps.count() > 0).then(|| one.overlaps.longest())),
        ];
        let about = measured.map_or_else(none, |of| of.interval.about().to_owned());
        let last = [
            about,
            figure(times.and_then(|times| times.quantile(500))),
            figure(times.map(Durations::longest)),
        ];
        table.add_row(row.into_iter().chain(pauses).chain(last));
    }
    writeln!(out, "{table}\n")?;
    for one in figures {
        let Figures { situation, engine, runs, effects, .. } = one;
        if let Some(why) = &one.refused {
            writeln!(out, "{situation}: not in {engine}: {why}")?;
        } else if effects < runs {
            writeln!(
                out,
                "{situation}: in {} of {runs} runs the fault had no effect",
                runs - effects
            )?;
        }
        for failure in &one.failures {
            writeln!(out, "{situation}: {failure}")?;
        }
    }
    let failed: Vec<&str> =
        figures.iter().filter(|one| !one.is_ok()).map(|one| one.situation).collect();
    if are_refused(figures) {
        writeln!(out, "NOTHING: the engine can carry out none of the situations")
    } else if failed.is_empty() {
        writeln!(out, "HELD: no two candidates led in any situation, and nothing was violated")
    } else {
        writeln!(out, "FAILED: {}", failed.join(", "))
    }
}
