//! The `tenure-sim` command: tries to break tenure's promises, and reports whether they held.

mod args;
mod audit;
#[cfg(all(test, feature = "real", feature = "turmoil"))]
mod catalogue;
mod check;
mod compare;
#[cfg(feature = "install")]
mod completions;
mod controls;
mod effects;
mod error;
mod exhaust;
mod hunt;
mod list;
#[cfg(feature = "install")]
mod man;
mod margin;
mod merge;
mod mutants;
mod orders;
mod output;
mod overload;
// All commands and engines of the pages are in such a build.
#[cfg(all(test, feature = "real", feature = "turmoil"))]
mod pages;
mod plan;
mod register;
mod replay;
mod report;
mod run;
mod show;
mod shrink;
mod situations;
mod speed;
mod sweep;
mod tolerance;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CliError;

/// Tries to break tenure's promises with simulated faults, and reports whether they held.
///
/// Exits with 0 if all held, 1 if one was violated, 2 if the runs did not meet all conditions that
/// they should, 3 if a plan gave two different traces, 64 if the command line or a file named there
/// is wrong, 74 if the result could not be written.
#[derive(Debug, Parser)]
#[command(name = "tenure-sim", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::RunArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run many seeds (this is the default command)
    Run(run::RunArguments),
    /// Run one seed or plan again, twice, and show its events
    Replay(replay::ReplayArguments),
    /// Shrink a failing plan
    Shrink(shrink::ShrinkArguments),
    /// Stop a process at every point of a run, one after the other
    Sweep(sweep::SweepArguments),
    /// Print the plan of a seed
    Plan(plan::PlanArguments),
    /// Judge a recorded trace
    Check(check::CheckArguments),
    /// Judge the logs of an application that uses `tenure::trace`
    ///
    /// Exits with 0 if some placement of the clocks explains them, 1 if none does, 2 if no tenures
    /// could be compared.
    Audit(audit::AuditArguments),
    /// Merge the summaries of several machines
    Merge(merge::MergeArguments),
    /// List engines, faults, assumptions, properties and sometimes-conditions
    List(list::ListArguments),
    /// Carry out the same plans with tenure and with models of the algorithms in common use
    Compare(compare::CompareArguments),
    /// Find the largest magnitude of each fault that a promise survives, and compare it with the
    /// formulas
    Tolerance(tolerance::ToleranceArguments),
    /// Search for the plan, within all assumptions, that brings two tenures closest to each other
    Margin(margin::MarginArguments),
    /// Search every order of events of a few candidates for a short time
    ///
    /// Exits with 0 if all properties held, 1 if one did not, 2 if the search was cut short by
    /// `--states` or a condition was never met.
    Exhaust(exhaust::ExhaustArguments),
    /// Search every order of events of a driver with two elections, for some steps
    Orders(orders::OrdersArguments),
    /// Search every order of what reaches a store that compares and swaps, with all its comparisons
    /// and without each
    ///
    /// Exits with 0 if two lead only where a comparison is left out, 1 otherwise.
    Register(register::RegisterArguments),
    /// Run hundreds of elections of one process at a store that is too slow for them
    ///
    /// Exits with 0 if all properties held, 1 if one did not, 2 if one compared nothing.
    Overload(overload::OverloadArguments),
    /// Plant bugs in a copy of the sources, one at a time, and check that each is caught
    Mutants(mutants::MutantsArguments),
    /// Leave out each kind of fault of each engine in turn, and check that a campaign notices
    ///
    /// Exits with 0 if all are noticed, 1 if one is not.
    Effects(effects::EffectsArguments),
    /// Carry out the situations in which other libraries have two leaders, one fault at a time
    ///
    /// Exits with 0 if no two candidates led and nothing was violated, 1 otherwise.
    Situations(situations::SituationsArguments),
    /// Report the failing properties with their first seeds, for `mutants`
    #[command(hide = true)]
    Hunt(hunt::HuntArguments),
    /// Measure the speed of the engines
    Speed,
    /// Print completions of this command for a shell
    #[cfg(feature = "install")]
    Completions(completions::CompletionsArguments),
    /// Print or write the manual pages of this command
    #[cfg(feature = "install")]
    Man(man::ManArguments),
    /// Take part in the election of a real run, as orders on standard input say
    #[cfg(feature = "real")]
    #[command(hide = true)]
    Candidate,
}

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code.into(),
        Err(error) => error.report(),
    }
}

fn dispatch() -> Result<u8, CliError> {
    let arguments = Arguments::try_parse()?;
    match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Shrink(arguments) => shrink::shrink(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Audit(arguments) => audit::audit(&arguments),
        Command::Merge(arguments) => merge::merge(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Tolerance(arguments) => tolerance::tolerance(&arguments),
        Command::Margin(arguments) => margin::margin(&arguments),
        Command::Exhaust(arguments) => exhaust::exhaust(&arguments),
        Command::Orders(arguments) => orders::orders(&arguments),
        Command::Register(arguments) => register::register(&arguments),
        Command::Overload(arguments) => overload::overload(&arguments),
        Command::Mutants(arguments) => mutants::mutants(&arguments),
        Command::Effects(arguments) => effects::effects(&arguments),
        Command::Situations(arguments) => situations::situations(&arguments),
        Command::Hunt(arguments) => hunt::hunt(&arguments),
        Command::Speed => speed::speed(),
        #[cfg(feature = "install")]
        Command::Completions(arguments) => completions::completions(&arguments),
        #[cfg(feature = "install")]
        Command::Man(arguments) => man::man(&arguments),
        #[cfg(feature = "real")]
        Command::Candidate => {
            tenure_sim::engines::real::candidate().map(|()| 0).map_err(CliError::Input)
        }
    }
}
