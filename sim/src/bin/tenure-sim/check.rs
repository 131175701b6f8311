//! A recorded trace, judged again.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use clap::Args;
use tenure_sim::report::RunPage;
use tenure_sim::search::campaign::{Run, Verdict};
use tenure_sim::trace::file;

use crate::args::{JudgedArguments, OutputArguments};
use crate::output::Files;
use crate::report::{RunReportArguments, write_run};
use crate::show::one::One;
use crate::trouble::{Trouble, written};

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The file, as `--trace` writes it
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    /// How many of the last events to show
    #[arg(long, default_value_t = 40)]
    pub(crate) events: usize,
    #[command(flatten)]
    report: RunReportArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(crate) fn check(arguments: &CheckArguments) -> Result<u8, Trouble> {
    let path = &arguments.trace;
    let opened = File::open(path).map_err(|why| Trouble::of_file(path, why))?;
    let recorded = file::read(BufReader::new(opened)).map_err(|why| Trouble::of_file(path, why))?;
    let (header, hash) = (recorded.header.clone(), recorded.end.hash);
    let outcome =
        recorded.judge(arguments.judged.judging()).map_err(|why| Trouble::of_file(path, why))?;
    if let Some(out) = arguments.report.open(&mut Files::read([path]))? {
        write_run(out, &RunPage::of(&header.engine, &header.plan, &outcome))?;
    }
    let run = Run::of(&header.plan, &outcome);
    let one = One {
        engine: &header.engine,
        plan: &header.plan,
        run: &run,
        entries: outcome.trace.entries(),
        is_intact: hash.is_none_or(|hash| hash == run.hash),
    };
    written(one.tell(&mut io::stdout().lock(), arguments.output.format, arguments.events))?;
    match one.verdict() {
        Verdict::Held if !one.is_intact => {
            let what = "its events were changed: the hash in the last line is not theirs";
            Err(Trouble::of_file(path, what))
        }
        verdict => Ok(verdict.exit_code()),
    }
}
