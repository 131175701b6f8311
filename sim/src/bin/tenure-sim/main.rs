//! The `tenure-sim` command: tries to break tenure's promises, and says whether they held.

mod args;
mod check;
mod compare;
mod controls;
mod list;
mod merge;
mod replay;
mod run;
mod show;
mod speed;
mod trouble;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command, PlanArguments};
use trouble::{Trouble, written};

fn main() -> ExitCode {
    match carry_out() {
        Ok(code) => code.into(),
        Err(trouble) => trouble.tell(),
    }
}

fn carry_out() -> Result<u8, Trouble> {
    let arguments = Arguments::try_parse()?;
    match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Plan(arguments) => plan(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Merge(arguments) => merge::merge(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Speed => speed::speed(),
    }
}

fn plan(arguments: &PlanArguments) -> Result<u8, Trouble> {
    let plan = replay::drawn(arguments.seed, arguments.engine, &arguments.drawn)?;
    written(writeln!(io::stdout().lock(), "{}", plan.to_text()))?;
    Ok(0)
}
