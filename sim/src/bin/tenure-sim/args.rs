//! What several commands have in common on the command line.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use tenure_sim::engines::Engine;
use tenure_sim::judge::Judging;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::plan::FaultKind;
use tenure_sim::search::pool;

use crate::Arguments;

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The file that holds the plan, as JSON
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

/// What a seed means.
#[derive(Debug, Args)]
pub(crate) struct DrawnArguments {
    /// The kinds of faults that may happen, separated by commas [default: all that the engine has]
    #[arg(long, value_delimiter = ',')]
    faults: Option<Vec<FaultKind>>,
}

impl DrawnArguments {
    /// In one order, whichever they were named in: the same plan.
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

/// By what a run is judged.
#[derive(Debug, Args)]
pub(crate) struct JudgedArguments {
    /// The properties to judge by, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    pub(crate) properties: Option<Vec<PropertyName>>,
}

impl JudgedArguments {
    pub(crate) fn judging(&self) -> Judging<'_> {
        self.properties.as_deref().map_or(Judging::All, Judging::Only)
    }
}

/// As many as asked for, or one for each core.
pub(crate) fn threads(jobs: Option<u16>) -> usize {
    jobs.map_or_else(pool::cores, usize::from)
}

/// The name of an engine.
pub(crate) fn engine() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::ALL.iter().map(|engine| engine.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Engine>())
}

/// What clap itself can't see.
pub(crate) fn wrong(what: String) -> clap::Error {
    Arguments::command().error(ErrorKind::ValueValidation, what)
}
