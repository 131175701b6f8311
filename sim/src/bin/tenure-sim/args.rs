//! The command line.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_sim::plan::FaultKind;

/// What a campaign without arguments runs: under two minutes on two cores.
const RUNS: u64 = 400;

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
            faults: None,
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
    /// The kinds of faults that may happen, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    pub(crate) faults: Option<Vec<FaultKind>>,
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
    /// The kinds of faults of the campaign that the seed is from [default: all]
    #[arg(long, value_delimiter = ',')]
    pub(crate) faults: Option<Vec<FaultKind>>,
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

    pub(crate) fn faults(&self) -> Vec<FaultKind> {
        in_order(self.faults.as_deref())
    }

    pub(crate) fn faults_given(&self) -> String {
        flag(self.faults.as_deref())
    }
}

impl ReplayArguments {
    pub(crate) fn faults(&self) -> Vec<FaultKind> {
        in_order(self.faults.as_deref())
    }

    pub(crate) fn faults_given(&self) -> String {
        flag(self.faults.as_deref())
    }
}

/// The same plan in whichever order the kinds were named.
fn in_order(given: Option<&[FaultKind]>) -> Vec<FaultKind> {
    let given = given.map(|kinds| kinds.iter().copied().collect::<BTreeSet<_>>());
    given.map_or(FaultKind::ALL.to_vec(), |kinds| kinds.into_iter().collect())
}

/// The flag that gives the same kinds again, with a space before it.
fn flag(given: Option<&[FaultKind]>) -> String {
    given.map_or(String::new(), |kinds| {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        format!(" --faults {}", names.join(","))
    })
}
