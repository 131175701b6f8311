//! The command `tenure`: runs a program only while this host leads, shows who leads, hands over.
//!
//! | part | what it does |
//! |---|---|
//! | `run` | the supervisor: campaigns, tells the guard the deadlines, ends when it should |
//! | `guard` | the guard: the command's parent, which kills the command's group in time; the guard's reaper |
//! | `sidecar` | takes part, and answers over HTTP whether it leads |
//! | `notify`, `health` | what a service manager is told |
//! | `status`, `handover`, `message`, `purge`, `migrate` | one question, or one wish, at the store |
//! | `doctor` | what is wrong with the store, the way to it, and the settings |
//! | `install` | completions and manual pages |
//! | `interrupt` | the end by SIGINT |
//! | `args`, `place`, `duration`, `exit` | the command line, the store, the statuses |
//! | `output` | the log and all messages, which neither fail nor block |

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod doctor;
mod duration;
mod exit;
mod guard;
mod handover;
mod health;
mod install;
mod interrupt;
mod message;
mod migrate;
mod notify;
mod output;
mod place;
mod purge;
mod run;
mod sidecar;
mod status;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Arguments, What};
use exit::{Ended, Failure};

fn main() -> ExitCode {
    let lines = output::Lines::new();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // First: these start with each command, and need nothing of the rest.
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(guard::REAPER) => return guard::reap(&arguments[2..]).into(),
        Some(guard::GUARD) => return guard::guard(&arguments[2..]).into(),
        Some(guard::SHIM) => return guard::shim(&arguments[2..]).into(),
        Some(interrupt::INTERRUPT) => return interrupt::main(&arguments[2..]).into(),
        _ => {}
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let ended = dispatch(&arguments.what).unwrap_or_else(|failure| {
        output::say(&failure.to_string());
        Ended::With(failure.status)
    });
    // First: the end by a signal drops nothing.
    drop(lines);
    ended.exit()
}

/// Help and the version are no errors.
fn refuse(error: &clap::Error) -> ExitCode {
    // Without an output, there is nothing to tell.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => exit::USAGE.into(),
    }
}

fn dispatch(what: &What) -> Result<Ended, Failure> {
    log(match what {
        What::Run(options) => level(options.verbose),
        What::Sidecar(options) => level(options.verbose),
        // What the library warns of is among its findings.
        What::Doctor(_) => tracing::Level::ERROR,
        What::Status(_)
        | What::Handover(_)
        | What::Notify(_)
        | What::Purge(_)
        | What::Migrate(_)
        | What::Completions(_)
        | What::Man(_) => level(false),
    });
    // One thread: it mostly waits, and each thread costs memory.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system(format!("no runtime: {error}")))?;
    let ended = runtime.block_on(async {
        let status = match what {
            What::Run(options) => return run::run(options).await,
            What::Sidecar(options) => return sidecar::sidecar(options).await,
            What::Status(options) => status::status(options).await,
            What::Handover(options) => handover::handover(options).await,
            What::Notify(options) => message::notify(options).await,
            What::Purge(options) => purge::purge(options).await,
            What::Migrate(options) => migrate::migrate(options).await,
            What::Completions(options) => install::completions(options, Arguments::command()),
            What::Man(options) => install::manual(options, Arguments::command()),
            What::Doctor(options) => doctor::doctor(options).await,
        };
        status.map(Ended::With)
    });
    // A name server that is silent must not hold up the end.
    runtime.shutdown_background();
    ended
}

fn level(verbose: bool) -> tracing::Level {
    if verbose { tracing::Level::INFO } else { tracing::Level::WARN }
}

fn log(level: tracing::Level) {
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| output::Log)
        .log_internal_errors(false)
        .without_time()
        .with_target(false)
        .init();
}
