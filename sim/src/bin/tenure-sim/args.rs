//! Arguments that several commands share.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use tenure_sim::engines::Engine;
#[cfg(feature = "real")]
use tenure_sim::engines::real::Target;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{FaultKind, UnknownName};
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
    /// The format of the result
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// The output of campaigns.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CampaignOutputArguments {
    /// Print all figures: each property, fault and condition
    #[arg(long, conflicts_with = "format")]
    pub(crate) details: bool,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
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

/// The output of one run.
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

/// The name of an engine that simulates.
pub(crate) fn engine() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::ALL.iter().map(|engine| engine.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Engine>())
}

/// The engine of one run.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EngineArguments {
    /// The engine
    #[arg(long, value_parser = engine_or_real(), default_value = "model")]
    engine: Chosen,
    #[cfg(feature = "real")]
    #[command(flatten)]
    store: StoreArguments,
}

/// An engine that simulates, or the one that needs a store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chosen {
    Simulates(Engine),
    #[cfg(feature = "real")]
    Real,
}

/// The name of the engine whose candidates and server are real.
#[cfg(feature = "real")]
const REAL: &str = "real";

/// The store of a real server.
#[cfg(feature = "real")]
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StoreArguments {
    /// The store of the real engine
    #[arg(long, value_parser = store())]
    store: Option<Target>,
}

#[cfg(feature = "real")]
fn store() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::name)).try_map(|name| name.parse::<Target>())
}

#[cfg(feature = "real")]
impl StoreArguments {
    /// The real engine on that store.
    pub(crate) fn engine(self) -> Result<Engine, clap::Error> {
        let known = Target::ALL.map(Target::name).join(", ");
        let missing = || wrong(format!("'--engine {REAL}' needs '--store', one of {known}"));
        self.store.map(Engine::Real).ok_or_else(missing)
    }

    /// No engine that simulates has a choice of stores.
    pub(crate) fn is_unused(self) -> Result<(), clap::Error> {
        match self.store {
            Some(store) => Err(wrong(format!("'--store {store}' needs '--engine {REAL}'"))),
            None => Ok(()),
        }
    }
}

impl EngineArguments {
    #[cfg_attr(
        not(feature = "real"),
        expect(
            clippy::unnecessary_wraps,
            reason = "an engine with real servers may lack its store"
        )
    )]
    pub(crate) fn engine(self) -> Result<Engine, clap::Error> {
        match self.engine {
            Chosen::Simulates(engine) => {
                #[cfg(feature = "real")]
                self.store.is_unused()?;
                Ok(engine)
            }
            #[cfg(feature = "real")]
            Chosen::Real => self.store.engine(),
        }
    }
}

fn engine_or_real() -> impl TypedValueParser<Value = Chosen> {
    PossibleValuesParser::new(chosen_names()).try_map(|name| chosen(&name))
}

/// The names of the engines that simulate, and of the real one.
pub(crate) fn chosen_names() -> impl Iterator<Item = &'static str> {
    let names = Engine::ALL.iter().map(|engine| engine.name());
    #[cfg(feature = "real")]
    let names = names.chain([REAL]);
    names
}

/// The engine of such a name.
pub(crate) fn chosen(name: &str) -> Result<Chosen, UnknownName> {
    #[cfg(feature = "real")]
    if name == REAL {
        return Ok(Chosen::Real);
    }
    name.parse().map(Chosen::Simulates)
}

/// An error in the arguments that clap itself can't detect.
pub(crate) fn wrong(what: String) -> clap::Error {
    Arguments::command().error(ErrorKind::ValueValidation, what)
}
