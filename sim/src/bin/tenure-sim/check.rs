//! Judging a recorded trace.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use clap::Args;
use tenure_sim::engines::Engine;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::report::RunPage;
use tenure_sim::search::campaign::{Run, Verdict};
use tenure_sim::trace::file;

use crate::args::{JudgedArguments, ShownArguments};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::show::one::One;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The file, as written by `--trace`
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// The properties that judge a trace of that engine. A trace does not say whether steps of a real
/// store are missing.
fn judged(engine: &str) -> Vec<PropertyName> {
    match engine.parse::<Engine>() {
        Ok(engine) => engine
            .properties()
            .filter(|name| engine.simulates() || *name != PropertyName::LINEARIZABLE)
            .collect(),
        Err(_) => PropertyName::ALL.to_vec(),
    }
}

pub(crate) fn check(arguments: &CheckArguments) -> Result<u8, CliError> {
    let path = &arguments.trace;
    let opened = File::open(path).map_err(|why| CliError::of_file(path, why))?;
    let recorded =
        file::read(BufReader::new(opened)).map_err(|why| CliError::of_file(path, why))?;
    let (header, hash) = (recorded.header.clone(), recorded.end.hash);
    let known = judged(&header.engine);
    let judging = match arguments.judged.properties {
        Some(_) => arguments.judged.judging(),
        None => Judging::StopAtFirst(Which::Named(&known)),
    };
    let outcome = recorded.judge(judging).map_err(|why| CliError::of_file(path, why))?;
    let report = arguments.shown.report.open(&mut Files::read([path]))?;
    report.write(&RunPage::of(&header.engine, &header.plan, &outcome))?;
    let run = Run::of(&header.plan, &outcome);
    let one = One {
        engine: &header.engine,
        plan: &header.plan,
        run: &run,
        entries: outcome.trace.entries(),
        is_intact: hash.is_none_or(|hash| hash == run.hash),
    };
    written(one.write(&mut io::stdout().lock(), &arguments.shown))?;
    match one.verdict() {
        Verdict::Held if !one.is_intact => {
            let what = "its events were changed: their hash differs from the one in the last line";
            Err(CliError::of_file(path, what))
        }
        verdict => Ok(verdict.exit_code()),
    }
}
