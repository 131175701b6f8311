//! The summaries of several machines, put together.

use std::path::{Path, PathBuf};

use clap::Args;
use tenure_sim::search::campaign::{Summary, merged, read};

use crate::args::OutputArguments;
use crate::output::{Files, text_of};
use crate::report::{CampaignReportArguments, write_campaign};
use crate::run::tell;
use crate::trouble::Trouble;

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The files, as `--format json` prints them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    report: CampaignReportArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(crate) fn merge(arguments: &MergeArguments) -> Result<u8, Trouble> {
    let sources: Result<Vec<_>, Trouble> =
        arguments.files.iter().map(|path| source(path)).collect();
    let merged = merged(sources?).map_err(|why| Trouble::Input(why.into()))?;
    if let Some(wanted) = arguments.report.open(&mut Files::read(&arguments.files))? {
        write_campaign(wanted, &merged)?;
    }
    tell(&merged, arguments.output)
}

fn source(path: &Path) -> Result<(String, Vec<Summary>), Trouble> {
    let summaries = read(&text_of(path)?).map_err(|why| Trouble::of_file(path, why))?;
    Ok((path.display().to_string(), summaries))
}
