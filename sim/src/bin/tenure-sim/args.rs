//! Arguments that several commands share.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use tenure_sim::engines::Engine;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::FaultKind;
use tenure_sim::search::pool;

use crate::Arguments;
use crate::report::RunReportArguments;

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The file with the plan, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArguments {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

/// The kinds of faults from which a seed's plan is drawn.
#[derive(Debug, Args)]
pub(crate) struct DrawnArguments {
    /// The kinds of faults that may happen, separated by commas [default: all kinds of the engine]
    #[arg(long, value_delimiter = ',')]
    faults: Option<Vec<FaultKind>>,
}

impl DrawnArguments {
    /// The kinds in a fixed order, so that the order on the command line does not change the plan.
    pub(crate) fn faults(&self, engine: Engine) -> Result<Vec<FaultKind>, clap::Error> {
        let has = engine.scope().kinds();
        let Some(given) = &self.faults else { return Ok(has) };
        let (known, unknown): (BTreeSet<_>, BTreeSet<_>) =
            given.iter().partition(|kind| has.contains(kind));
        if unknown.is_empty() {
            return Ok(known.into_iter().collect());
        }
        let unknown: Vec<&str> = unknown.into_iter().map(|kind: FaultKind| kind.name()).collect();
        let what = format!("the {engine} engine has no {} for '--faults'", unknown.join(", "));
        Err(wrong(what))
    }
}

/// The properties that judge a run.
#[derive(Debug, Args)]
pub(crate) struct JudgedArguments {
    /// The properties that judge the runs, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    pub(crate) properties: Option<Vec<PropertyName>>,
}

impl JudgedArguments {
    pub(crate) fn judging(&self) -> Judging<'_> {
        let which = self.properties.as_deref().map_or(Which::Applicable, Which::Named);
        Judging::StopAtFirst(which)
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct JobsArguments {
    /// The number of threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArguments {
    pub(crate) fn threads(self) -> usize {
        self.jobs.map_or_else(pool::cores, usize::from)
    }
}

/// What is shown of one run.
#[derive(Debug, Args)]
pub(crate) struct ShownArguments {
    /// The number of last events to show
    #[arg(long, default_value_t = 40)]
    pub(crate) events: usize,
    #[command(flatten)]
    pub(crate) report: RunReportArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// The name of an engine.
pub(crate) fn engine() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::ALL.iter().map(|engine| engine.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Engine>())
}

/// An error in the arguments that clap itself can't detect.
pub(crate) fn wrong(what: String) -> clap::Error {
    Arguments::command().error(ErrorKind::ValueValidation, what)
}
