//! The command for the orders of what reaches a store that compares and swaps.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use tenure_sim::search::campaign::Verdict;
use tenure_sim::search::register::{Bounds, Report, Weakness, search};

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct RegisterArguments {
    /// The most steps, with all comparisons
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u8).range(1..=20))]
    steps: u8,
    /// The most losses and failovers together
    #[arg(long, default_value_t = 1)]
    faults: u8,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Without one of its comparisons, a store has two leaders after fewer steps.
const STEPS_WITHOUT: u8 = 9;

pub(crate) fn register(arguments: &RegisterArguments) -> Result<u8, CliError> {
    let RegisterArguments { steps, faults, .. } = *arguments;
    let run = |weakness: Option<Weakness>| {
        let steps = weakness.map_or(steps, |_| STEPS_WITHOUT);
        (weakness, search(&Bounds { steps, faults, weakness }, arguments.jobs.threads()))
    };
    let all = std::iter::once(None).chain(Weakness::ALL.map(Some));
    let reports: Vec<_> = all.map(run).collect();
    let as_meant = |(weakness, report): &(Option<Weakness>, Report)| {
        report.two_lead.is_some() == weakness.is_some()
    };
    let is_held = reports.iter().all(as_meant);
    let verdict = if is_held { Verdict::Held } else { Verdict::Violated };
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &reports, verdict),
        Format::Json => {
            let row = |(weakness, report)| json!({ "without": weakness, "report": report });
            let rows: Vec<_> = reports.iter().map(|(one, report)| row((one, report))).collect();
            writeln!(out, "{}", json!({ "verdict": verdict, "searches": rows }))
        }
    })?;
    Ok(verdict.exit_code())
}

fn human(
    out: &mut impl Write,
    reports: &[(Option<Weakness>, Report)],
    verdict: Verdict,
) -> io::Result<()> {
    let mut rows = table(["store", "states", "steps", "steps to two leaders"]);
    for (weakness, report) in reports {
        let name = weakness.map_or_else(|| "as shipped".to_owned(), |one| one.to_string());
        let found =
            report.two_lead.as_ref().map_or("none".to_owned(), |path| path.len().to_string());
        rows.add_row([name, report.states.to_string(), report.steps.to_string(), found]);
    }
    writeln!(out, "{rows}\n")?;
    let paths =
        reports.iter().filter_map(|(weakness, report)| Some((weakness, report.two_lead.as_ref()?)));
    for (weakness, path) in paths {
        let name = weakness.map_or_else(|| "as shipped".to_owned(), |one| one.to_string());
        writeln!(out, "{name}: {}", path.join(", "))?;
    }
    match verdict {
        Verdict::Held => writeln!(out, "\nHELD: two lead only where a comparison is left out"),
        _ => writeln!(out, "\nVIOLATED"),
    }
}
