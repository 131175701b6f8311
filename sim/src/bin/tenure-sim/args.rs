//! The command line.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_sim::plan::FaultKind;
use tenure_sim::properties::PropertyName;

/// What a campaign without arguments runs: under two minutes on two cores.
const RUNS: u64 = 500;

/// Tries to break tenure's promises with simulated faults, and says whether they held.
///
/// Ends with 0 if all held, 1 if one was violated, 2 if the runs did not go everywhere they should,
/// 3 if a plan gave two different traces, 64 if the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "tenure-sim", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run many seeds (this is the default command)
    Run(RunArguments),
    /// Run one seed again, twice, and show what happened around a violation
    Replay(ReplayArguments),
    /// Measure the engine's speed beside an empty turmoil simulation of as many machines
    Speed,
}

impl Default for Command {
    fn default() -> Self {
        Self::Run(RunArguments {
            engine: Engine::Turmoil,
            seed: 1,
            runs: RUNS,
            jobs: None,
            plan: PlanArguments::default(),
            trace: None,
            check_determinism: false,
            format: Format::Human,
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// What to run the candidates in
    #[arg(long, value_enum, default_value_t = Engine::Turmoil)]
    pub(crate) engine: Engine,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: u64,
    /// On how many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Write the trace of the first run, or of the violated one, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Run each plan twice and compare
    #[arg(long)]
    pub(crate) check_determinism: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The seed
    #[arg(long)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// The shipped driver, Redis adapter and scripts, over simulated TCP
    Turmoil,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

impl RunArguments {
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| available_parallelism().map_or(1, Into::into), usize::from)
    }
}

/// What a seed means, and by what it is judged: the same for a campaign and for the replay of one of
/// its seeds.
#[derive(Debug, Default, Args)]
pub(crate) struct PlanArguments {
    /// The kinds of faults that may happen, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    faults: Option<Vec<FaultKind>>,
    /// The properties to judge by, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    pub(crate) properties: Option<Vec<PropertyName>>,
}

impl PlanArguments {
    /// In one order, whichever they were named in: the same plan.
    pub(crate) fn faults(&self) -> Vec<FaultKind> {
        let given =
            self.faults.as_ref().map(|kinds| kinds.iter().copied().collect::<BTreeSet<_>>());
        given.map_or(FaultKind::ALL.to_vec(), |kinds| kinds.into_iter().collect())
    }
}

/// The flags that say the same again, with a space before each.
impl fmt::Display for PlanArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flag(f, "faults", self.faults.as_deref())?;
        flag(f, "properties", self.properties.as_deref())
    }
}

fn flag<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    given: Option<&[T]>,
) -> fmt::Result {
    let Some(given) = given else { return Ok(()) };
    let given: Vec<String> = given.iter().map(T::to_string).collect();
    write!(f, " --{name} {}", given.join(","))
}
