//! Merging the summaries of several machines.

use std::path::{Path, PathBuf};

use clap::Args;
use tenure_sim::search::campaign::{Summary, merged, read};

use crate::args::CampaignOutputArguments;
use crate::error::CliError;
use crate::output::{Files, text_of};
use crate::report::{CampaignReportArguments, write_campaign};
use crate::run::report;

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The files, as printed by `--format json`
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    report: CampaignReportArguments,
    #[command(flatten)]
    pub(crate) output: CampaignOutputArguments,
}

pub(crate) fn merge(arguments: &MergeArguments) -> Result<u8, CliError> {
    let sources: Result<Vec<_>, CliError> =
        arguments.files.iter().map(|path| source(path)).collect();
    let merged = merged(sources?).map_err(|why| CliError::Input(why.into()))?;
    if let Some(wanted) = arguments.report.open(&mut Files::read(&arguments.files))? {
        write_campaign(wanted, &merged)?;
    }
    let code = report(&merged, arguments.output)?;
    arguments.report.show();
    Ok(code)
}

fn source(path: &Path) -> Result<(String, Vec<Summary>), CliError> {
    let summaries = read(&text_of(path)?).map_err(|why| CliError::of_file(path, why))?;
    Ok((path.display().to_string(), summaries))
}
