//! The command for the orders of a driver's events.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use tenure_sim::search::campaign::Verdict;
use tenure_sim::search::orders::{Bounds, Report, search};
use tenure_sim::search::pool;

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct OrdersArguments {
    /// The number of steps
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u8).range(1..=40))]
    steps: u8,
    /// The most commands of a handle, to one of the two candidates
    #[arg(long, default_value_t = 1)]
    commands: u8,
    /// The most calls that fail or are answered in part, hints and suspends together
    #[arg(long, default_value_t = 1)]
    faults: u8,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Two elections, or two candidates of one; each request in a call of its own, or two in one.
const VARIANTS: [(bool, usize); 4] = [(false, 1), (false, 2), (true, 1), (true, 2)];

pub(crate) fn orders(arguments: &OrdersArguments) -> Result<u8, CliError> {
    let OrdersArguments { steps, commands, faults, .. } = *arguments;
    let reports = pool::map(arguments.jobs.threads(), &VARIANTS, |(rivals, in_call)| {
        search(&Bounds { steps, in_call: *in_call, rivals: *rivals, commands, faults })
    });
    let is_held = reports.iter().all(|report| report.failed.is_none());
    let verdict = if is_held { Verdict::Held } else { Verdict::Violated };
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &reports, verdict),
        Format::Json => {
            let runs: Vec<_> = VARIANTS.iter().zip(&reports).map(row).collect();
            writeln!(out, "{}", json!({ "verdict": verdict, "searches": runs }))
        }
    })?;
    Ok(verdict.exit_code())
}

fn row((variant, report): (&(bool, usize), &Report)) -> serde_json::Value {
    let (rivals, in_call) = variant;
    json!({ "rivals": rivals, "in_call": in_call, "report": report })
}

fn human(out: &mut impl Write, reports: &[Report], verdict: Verdict) -> io::Result<()> {
    let heads =
        ["candidates", "requests a call", "states", "steps", "led", "calls of two requests"];
    let mut rows = table(heads);
    for ((rivals, in_call), one) in VARIANTS.iter().zip(reports) {
        let of = if *rivals { "of one election" } else { "of two elections" };
        let counts = [one.states.to_string(), one.steps.to_string(), one.led.to_string()];
        let row = [of.to_owned(), in_call.to_string()].into_iter().chain(counts);
        rows.add_row(row.chain([one.shared.to_string()]));
    }
    writeln!(out, "{rows}\n")?;
    for (what, steps) in reports.iter().filter_map(|report| report.failed.as_ref()) {
        writeln!(out, "{what}\nafter {}", steps.join(", "))?;
    }
    match verdict {
        Verdict::Held => writeln!(out, "HELD: nothing was violated"),
        _ => writeln!(out, "VIOLATED"),
    }
}
