//! Showing a comparison.

use std::io::{self, Write};

use clap::Args;
use tenure_sim::evidence::compare::{self, Comparison, Contender, Settings};

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::numbers;

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The number of plans for each scenario
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(crate) fn compare(arguments: &CompareArguments) -> Result<u8, CliError> {
    let settings =
        Settings { runs: arguments.runs, seed: arguments.seed, jobs: arguments.jobs.threads() };
    let comparison = compare::run(&settings).map_err(|error| CliError::Input(error.into()))?;
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => show(&mut out, &comparison),
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &comparison).map_err(io::Error::from)
        }
    })?;
    Ok(0)
}

/// Writes a table for each scenario, and a description of each contender.
fn show(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    for shown in comparison.tables() {
        let mut table = numbers(shown.head);
        shown.rows.into_iter().for_each(|row| table.add_row(row));
        writeln!(out, "{}\n{table}\n", shown.title)?;
    }
    for contender in Contender::ALL {
        writeln!(out, "{contender}: {}", contender.about())?;
    }
    writeln!(
        out,
        "\nOverlaps and waits are medians and maxima of the runs that have one; vacant is the longest \
         time without a leader\nin a run. Stale writes are writes of an older tenure that were accepted \
         after one of a newer; refused writes were\nrejected because of their token. All contenders but \
         tenure are models."
    )
}
