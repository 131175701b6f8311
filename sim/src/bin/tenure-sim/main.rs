//! The `tenure-sim` command: tries to break tenure's promises, and says whether they held.

mod args;
mod show;
mod speed;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tenure_sim::campaign::{Campaign, Summary, Verdict};
use tenure_sim::trace::Entry;

use args::{Arguments, Command, Format, ReplayArguments, RunArguments};

/// What a wrong flag ends with, as `sysexits.h` has it.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are asked for; anything else is a mistake.
            let code = if error.use_stderr() { USAGE } else { 0 };
            return if error.print().is_ok() { code.into() } else { ExitCode::FAILURE };
        }
    };
    let outcome = match arguments.command.unwrap_or_default() {
        Command::Run(arguments) => run(&arguments),
        Command::Replay(arguments) => replay(&arguments),
        Command::Speed => speed::compare(),
    };
    match outcome {
        Ok(code) => code.into(),
        // Whoever reads has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &RunArguments) -> io::Result<u8> {
    let campaign = Campaign {
        seed: arguments.seed,
        runs: arguments.runs,
        jobs: arguments.jobs(),
        faults: arguments.plan.faults(),
        properties: arguments.plan.properties.clone(),
        check_determinism: arguments.check_determinism,
    };
    let bar = progress(arguments.runs);
    let summary = campaign.run(|_| bar.inc(1));
    bar.finish_and_clear();
    if let Some(path) = &arguments.trace {
        let seed = summary.failed.as_ref().map_or(campaign.seed, |run| run.seed);
        write_trace(path, &campaign, seed)?;
    }
    tell(&summary, arguments.format, &arguments.plan.to_string())?;
    Ok(summary.verdict().exit_code())
}

fn replay(arguments: &ReplayArguments) -> io::Result<u8> {
    let campaign = Campaign {
        seed: arguments.seed,
        runs: 1,
        jobs: 1,
        faults: arguments.plan.faults(),
        properties: arguments.plan.properties.clone(),
        check_determinism: true,
    };
    let summary = campaign.run(|_| {});
    if let Some(path) = &arguments.trace {
        write_trace(path, &campaign, arguments.seed)?;
    }
    tell(&summary, arguments.format, &arguments.plan.to_string())?;
    // One run can't go everywhere, and need not.
    match summary.verdict() {
        Verdict::Inconclusive => Ok(0),
        verdict => Ok(verdict.exit_code()),
    }
}

fn tell(summary: &Summary, format: Format, faults: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        Format::Human => show::summary(&mut out, summary, faults),
        Format::Json => {
            serde_json::to_writer(&mut out, summary)?;
            writeln!(out)
        }
    }
}

/// One JSON object a line: the plan first, then what happened.
fn write_trace(path: &Path, campaign: &Campaign, seed: u64) -> io::Result<()> {
    let named = |error| io::Error::other(format!("--trace {}: {error}", path.display()));
    let mut out = BufWriter::new(File::create(path).map_err(named)?);
    let plan = campaign.plan(seed);
    serde_json::to_writer(&mut out, &plan)?;
    writeln!(out)?;
    let outcome = tenure_sim::turmoil_engine::run(&plan, None).map_err(io::Error::other)?;
    for entry in outcome.trace.entries() {
        write_entry(&mut out, entry)?;
    }
    out.flush().map_err(named)
}

fn write_entry(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    serde_json::to_writer(&mut *out, entry)?;
    writeln!(out)
}

/// On standard error, and only if somebody watches.
fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    let look = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {per_sec}, {eta} to go");
    bar.with_style(look.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
