//! The command line.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use tenure_sim::campaign::{Campaign, Seeds, Shard};
use tenure_sim::controls::{self, Control};
use tenure_sim::engine::{Engine, Judging};
use tenure_sim::plan::FaultKind;
use tenure_sim::properties::PropertyName;

/// How many seeds a campaign takes in an engine if none are named.
const fn usual_runs(engine: Engine) -> u64 {
    match engine {
        Engine::Model => 50_000,
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => 500,
    }
}

/// How many seeds a control takes if none are named.
const CONTROL_RUNS: u64 = 2_000;

/// Tries to break tenure's promises with simulated faults, and says whether they held.
///
/// Ends with 0 if all held, 1 if one was violated, 2 if the runs did not go everywhere they should,
/// 3 if a plan gave two different traces, 64 if the command line or a file named there is wrong, 74 if the
/// result could not be written.
#[derive(Debug, Parser)]
#[command(name = "tenure-sim", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run many seeds (this is the default command)
    Run(RunArguments),
    /// Run one seed or plan again, twice, and show what happens
    Replay(ReplayArguments),
    /// Print the plan of a seed
    Plan(PlanArguments),
    /// Judge a recorded trace
    Check(CheckArguments),
    /// Put the summaries of several machines together
    Merge(MergeArguments),
    /// List engines, faults, assumptions, properties and sometimes-conditions
    List(ListArguments),
    /// Carry out the same plans with tenure and with models of the algorithms in common use
    Compare(CompareArguments),
    /// Measure how fast the engines are
    Speed,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// What to run the candidates in
    #[arg(long, value_parser = engine_or_all(), default_value = "all")]
    engine: Engines,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), help = about_runs())]
    runs: Option<u64>,
    /// On how many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Run only this share of the seeds, such as 2/5
    #[arg(long, value_name = "I/N", default_value_t)]
    shard: Shard,
    #[command(flatten)]
    drawn: DrawnArguments,
    #[command(flatten)]
    judged: JudgedArguments,
    /// Write the trace of the failed run, or else of the first one, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the plan of the failed run, or else of the first one, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) plan_out: Option<PathBuf>,
    /// Run each plan twice and compare
    #[arg(long)]
    check_determinism: bool,
    #[arg(long, value_name = "NAME", help = about_controls(), value_parser = control_or_all())]
    #[arg(conflicts_with_all = [
        "engine", "shard", "faults", "properties", "trace", "plan_out", "check_determinism",
    ])]
    control: Option<Controls>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    pub(crate) which: WhichArguments,
    /// What to run the candidates in
    #[arg(long, value_parser = engine(), default_value = "model")]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) drawn: DrawnArguments,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How many of the last events to show
    #[arg(long, default_value_t = 40)]
    pub(crate) events: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

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

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: u64,
    /// For which engine
    #[arg(long, value_parser = engine(), default_value = "model")]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) drawn: DrawnArguments,
}

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
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The files, as `--format json` prints them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// How many plans of each kind of trouble
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// On how many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

impl CompareArguments {
    pub(crate) fn jobs(&self) -> usize {
        threads(self.jobs)
    }
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
    properties: Option<Vec<PropertyName>>,
}

impl JudgedArguments {
    pub(crate) fn judging(&self) -> Judging<'_> {
        self.properties.as_deref().map_or(Judging::All, Judging::Only)
    }
}

impl RunArguments {
    /// The controls to run instead of a campaign, if any.
    pub(crate) fn controls(&self) -> Option<Vec<Control>> {
        match self.control? {
            Controls::All => Some(controls::ALL.to_vec()),
            Controls::One(control) => Some(vec![control]),
        }
    }

    /// First seed, number of seeds, and threads, of each control.
    pub(crate) fn control_runs(&self) -> (u64, u64, usize) {
        (self.seed, self.runs.unwrap_or(CONTROL_RUNS), threads(self.jobs))
    }

    /// One for each engine.
    pub(crate) fn campaigns(&self) -> Result<Vec<Campaign>, clap::Error> {
        let engines = match self.engine {
            Engines::All => Engine::ALL.to_vec(),
            Engines::One(engine) => vec![engine],
        };
        engines.into_iter().map(|engine| self.campaign(engine)).collect()
    }

    fn campaign(&self, engine: Engine) -> Result<Campaign, clap::Error> {
        let runs = self.runs.unwrap_or(usual_runs(engine));
        if self.seed.checked_add(runs - 1).is_none() {
            let what = format!("there are no {runs} seeds from '--seed {}' on", self.seed);
            return Err(wrong(what));
        }
        Ok(Campaign {
            engine,
            seeds: Seeds { shard: self.shard, ..Seeds::range(self.seed, runs) },
            jobs: threads(self.jobs),
            faults: self.drawn.faults(engine)?,
            properties: self.judged.properties.clone(),
            check_determinism: self.check_determinism,
        })
    }
}

fn threads(jobs: Option<u16>) -> usize {
    let cores = || available_parallelism().map_or(1, Into::into);
    jobs.map_or_else(cores, usize::from)
}

#[derive(Clone, Copy, Debug)]
enum Controls {
    All,
    One(Control),
}

#[derive(Clone, Copy, Debug)]
enum Engines {
    All,
    One(Engine),
}

fn engine() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::ALL.iter().map(|engine| engine.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Engine>())
}

fn engine_or_all() -> impl TypedValueParser<Value = Engines> {
    let names = Engine::ALL.iter().map(|engine| engine.name()).chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(Engines::All),
        _ => name.parse().map(Engines::One),
    })
}

fn control_or_all() -> impl TypedValueParser<Value = Controls> {
    let names = controls::ALL.iter().map(|control| control.name).chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(Controls::All),
        _ => name.parse().map(Controls::One),
    })
}

fn about_controls() -> String {
    format!(
        "Leave one assumption behind, in the model engine: ends with 0 if exactly the promise that rests \
         on it breaks [default number of seeds: {CONTROL_RUNS}]"
    )
}

fn about_runs() -> String {
    let usual = |engine: &Engine| format!("{} in the {engine} engine", usual_runs(*engine));
    let usual: Vec<String> = Engine::ALL.iter().map(usual).collect();
    format!("How many seeds, in each engine [default: {}]", usual.join(", "))
}

/// What clap itself can't see.
fn wrong(what: String) -> clap::Error {
    Arguments::command().error(ErrorKind::ValueValidation, what)
}
