//! The search for the least safety margin.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use tenure_sim::search::campaign::milliseconds;
use tenure_sim::search::tolerance::search::{Found, Search, search};

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::show::numbers;
use crate::tolerance::{SettingsArguments, input};

#[derive(Debug, Args)]
pub(crate) struct MarginArguments {
    #[command(flatten)]
    settings: SettingsArguments,
    /// The number of plans to try
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// The number of restarts, each with an equal share of the plans
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    restarts: u64,
    /// The seed of all random draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Write the plan with the least margin after a lease that lapsed to this file
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn margin(arguments: &MarginArguments) -> Result<u8, CliError> {
    let settings = arguments.settings.settings()?;
    let mut files = Files::read(arguments.settings.plan());
    let file = files.create_if(arguments.plan_out.as_deref())?;
    let MarginArguments { runs, restarts, seed, jobs, .. } = *arguments;
    let wanted = Search { settings, runs, restarts, seed, jobs: jobs.threads() };
    let found = search(&wanted).map_err(input)?;
    if let Some(out) = file {
        written(out.holding_plan(found.plan()))?;
    }
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => show(&mut out, &found),
        Format::Json => serde_json::to_writer_pretty(&mut out, &found)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    })?;
    Ok(found.exit_code())
}

fn show(out: &mut impl Write, found: &Found) -> io::Result<()> {
    let mut table = numbers(["after a lease that", "least margin", "bound", "above it", "runs"]);
    for least in &found.least {
        let ms = |of| format!("{:.6} ms", milliseconds(of));
        let above = least.margin.map(|margin| margin.saturating_sub(least.bound));
        let or_none = |of: Option<_>| of.map_or_else(|| "none".to_owned(), ms);
        table.add_row([
            least.after_words().to_owned(),
            or_none(least.margin),
            ms(least.bound),
            or_none(above),
            least.runs.to_string(),
        ]);
    }
    writeln!(out, "{table}\n")?;
    writeln!(
        out,
        "bound after a lapse: ttl/(1 + rho) - v/(1 - rho), which is stop margin/(1 - rho) plus the \
         store's granularity;\nmargin-kept promises stop margin/(1 + rho) = {:.6} ms; after a \
         handover only the latency of messages separates the tenures",
        milliseconds(found.promised)
    )?;
    writeln!(
        out,
        "\n{} of {} plans stayed within all assumptions and were run",
        found.within, found.tried
    )?;
    match &found.violation {
        Some(violation) => writeln!(out, "VIOLATED: {violation}"),
        None if found.exit_code() == 0 => writeln!(out, "HELD: no margin is below its bound"),
        None if found.exit_code() == 1 => writeln!(out, "BELOW: a margin is below its bound"),
        None => writeln!(
            out,
            "INCONCLUSIVE: for one way in which a lease ends, no plan had a next tenure"
        ),
    }
}
