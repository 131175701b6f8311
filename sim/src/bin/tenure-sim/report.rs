//! `--report` and `--svg`: the result of a command as an HTML page, or as a picture.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use tenure_sim::engines::Engine;
use tenure_sim::evidence::compare::Comparison;
use tenure_sim::evidence::mutants::Row;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Outcome, Which};
use tenure_sim::plan::json;
use tenure_sim::plan::{Plan, swarm};
use tenure_sim::report::{CampaignPage, RunPage, Table, campaign_page, run_page, run_picture};
use tenure_sim::search::campaign::{Failure, Summary, again};

use crate::error::{CliError, written};
use crate::output::{Files, Output, text_of};
use crate::show::mutants::{HEAD, lines};

/// The page of one run.
#[derive(Debug, Args)]
pub(crate) struct RunReportArguments {
    /// Write a page that shows the run to this file, as HTML
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Draw who leads, the leases and the faults as a picture in this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The files for one run.
pub(crate) struct RunFiles {
    page: Option<Output>,
    picture: Option<Output>,
}

impl RunReportArguments {
    /// Opens the files before any run.
    pub(crate) fn open(&self, files: &mut Files) -> Result<RunFiles, CliError> {
        let page = files.create_if(self.report.as_deref())?;
        Ok(RunFiles { page, picture: files.create_if(self.svg.as_deref())? })
    }
}

impl RunFiles {
    /// Writes what was asked for.
    pub(crate) fn write(self, run: &RunPage<'_>) -> Result<(), CliError> {
        if let Some(out) = self.page {
            write_run(out, run)?;
        }
        if let Some(out) = self.picture {
            written(out.holding(run_picture(run).as_bytes()))?;
        }
        Ok(())
    }
}

/// The page of many runs.
#[derive(Debug, Args)]
pub(crate) struct CampaignReportArguments {
    /// Write a page that shows the sums, and the failed run, to this file, as HTML
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Open the page in a browser once it is written
    #[arg(long, requires = "report")]
    open: bool,
    /// Show this comparison in it, as printed by `compare --format json`
    #[arg(long, value_name = "FILE", requires = "report")]
    compare: Option<PathBuf>,
    /// Show these mutants in it, as printed by `mutants --format json`
    #[arg(long, value_name = "FILE", requires = "report")]
    mutants: Option<PathBuf>,
}

/// The file of a page, and its tables besides the sums.
pub(crate) struct Wanted {
    out: Output,
    tables: Vec<Table>,
}

impl CampaignReportArguments {
    /// Opens the file, and reads the tables, before any run.
    pub(crate) fn open(&self, files: &mut Files) -> Result<Option<Wanted>, CliError> {
        let Some(path) = &self.report else { return Ok(None) };
        files.also_read(self.mutants.iter().chain(&self.compare));
        let mut tables = Vec::new();
        if let Some(path) = &self.mutants {
            tables.push(mutants(path)?);
        }
        if let Some(path) = &self.compare {
            let comparison: Comparison = read(path)?;
            tables.extend(comparison.tables().into_iter().map(Table::from));
        }
        Ok(Some(Wanted { out: files.create(path)?, tables }))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    /// Opens the page in a browser, if that is asked for. The result of the runs does not depend on
    /// whether there is one.
    pub(crate) fn show(&self) {
        let Some(path) = self.report.as_deref().filter(|_| self.open) else { return };
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(opener);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Err(why) = command.spawn() {
            eprintln!("{} can't be opened by {opener}: {why}", path.display());
        }
    }
}

/// The table of mutants in a file. An error names line, entry and field.
fn mutants(path: &Path) -> Result<Table, CliError> {
    let rows: Vec<Row> = read(path)?;
    if rows.is_empty() {
        return Err(CliError::of_file(path, "line 1: a list of at least one mutant is expected"));
    }
    let head = HEAD.map(ToOwned::to_owned).into();
    let rows = lines(&rows).into_iter().map(Vec::from).collect();
    Ok(Table { title: "Mutants".to_owned(), head, rows })
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, CliError> {
    let text = text_of(path)?;
    json::parse(&text).map_err(|why| CliError::of_file(path, why))
}

/// Writes the page of one run.
pub(crate) fn write_run(out: Output, page: &RunPage<'_>) -> Result<(), CliError> {
    written(out.holding(run_page(page).as_bytes()))
}

/// Writes the page of campaigns. The failed run is carried out once more for the page.
pub(crate) fn write_campaign(wanted: Wanted, summaries: &[Summary]) -> Result<(), CliError> {
    let Wanted { out, tables } = wanted;
    let failed = summaries.iter().find_map(failed);
    let failed = failed.as_ref().map(|failed| page(&failed.engine, &failed.plan, &failed.outcome));
    let html = campaign_page(&CampaignPage { summaries, tables, failed });
    written(out.holding(html.as_bytes()))
}

/// The page of a run that was attempted.
pub(crate) fn page<'a>(
    engine: &'a str,
    plan: &'a Plan,
    outcome: &'a Result<Outcome, Failure>,
) -> RunPage<'a> {
    match outcome {
        Ok(outcome) => RunPage::of(engine, plan, outcome),
        Err(failure) => RunPage::failed(engine, plan, failure),
    }
}

/// A failed run that was carried out again.
struct Again {
    engine: String,
    plan: Plan,
    outcome: Result<Outcome, Failure>,
}

/// The failed run of a campaign. `None` also if this build can't draw its plan: it lacks the
/// engine, or has another version.
fn failed(summary: &Summary) -> Option<Again> {
    let failed = summary.failed.as_ref()?;
    let engine: Engine = summary.engine.parse().ok()?;
    if summary.version != env!("CARGO_PKG_VERSION") {
        return None;
    }
    let plan = swarm(failed.seed, &summary.allowed, engine.scope());
    let names = summary.properties.keys().map(|name| name.parse());
    let properties: Vec<PropertyName> = names.collect::<Result<_, _>>().ok()?;
    let judging = Judging::StopAtFirst(Which::Named(&properties));
    let outcome = again(engine, &plan, judging, Some(&failed.failure));
    Some(Again { engine: summary.engine.clone(), plan, outcome })
}
