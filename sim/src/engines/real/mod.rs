//! The engine of real processes and a real server: nothing is simulated but clocks.
//!
//! Each candidate is a process of its own, built on the public interface of the library: this
//! program, started again with the argument [`ARGUMENT`]. Between each of them and the store's
//! server is a proxy, which carries out the faults of the network. Processes are paused and killed
//! by signals, and so is the server. Leaders write to a resource, another server, by the shipped
//! fence and without it.
//!
//! True time is the boot clock of the machine. Each event has the time at which its process
//! recorded it, and a lead has the times of the first and the last answer of `is_leader()` that
//! showed it: it is never reported longer than it was. The store's steps come from the server
//! itself.
//!
//! Not guaranteed: that a plan gives the same run twice. Faults begin at their times or points, but
//! the machine decides what else happens meanwhile. Not tried: faults of the machine itself; a plan
//! with one is refused by name.

mod candidate;
mod clock;
mod disk;
mod election;
mod faults;
mod link;
mod login;
mod machine;
mod outage;
mod protocol;
mod refused;
mod reports;
mod resource;
mod run;
mod server;
mod stalls;
mod steps;
mod subject;
mod target;

use std::fmt::Display;
use std::time::Duration;

pub use candidate::candidate;
use clock::WallClock;
use protocol::Report;
use reports::Happened;
use run::Run;
use server::ServerReport;
pub use subject::ARGUMENT;
pub use target::Target;

use crate::engines::EngineError;
use crate::judge::properties::PropertyName;
use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan};
use crate::trace::{Entry, Who};

/// The tolerance of deadlines: processes and the network of a busy machine are that late at each
/// step of the way.
pub const TICK: Duration = Duration::from_millis(25);

/// A message to a run from its processes or its server.
#[derive(Debug)]
enum Message {
    Report {
        who: Who,
        report: Report,
    },
    /// A line that is no report.
    Nonsense {
        who: Who,
        line: String,
    },
    /// A process has ended, and all its reports were read.
    Ended {
        who: Who,
    },
    Server(ServerReport),
}

/// Makes this process one that can carry out all plans on that store, before it has started any
/// thread: it may start its program again, with the same arguments, and not return.
pub fn prepare(target: Target) {
    disk::prepare(target);
}

/// Carries out a plan on that store, and judges the run.
///
/// # Errors
/// If the plan can't be carried out, a server can't be started, or the run breaks down.
pub fn run(target: Target, plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
    run_plan(target, plan, judging, None)
}

/// Carries out a plan, but orders faults of that kind without carrying them out: their effects must
/// be missing.
///
/// # Errors
/// As those of [`run`].
pub fn run_without(
    target: Target,
    plan: &Plan,
    judging: Judging<'_>,
    kind: FaultKind,
) -> Result<Outcome, EngineError> {
    run_plan(target, plan, judging, Some(kind))
}

fn run_plan(
    target: Target,
    plan: &Plan,
    judging: Judging<'_>,
    without: Option<FaultKind>,
) -> Result<Outcome, EngineError> {
    plan.check()?;
    refused::check(target, plan)?;
    disk::check(target, plan)?;
    let configs = plan.configs()?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().map_err(|error| broke(&error))?;
    let Happened { entries, end, has_gaps } = runtime.block_on(async {
        let mut run = Run::begin(target, plan, &configs, without).await?;
        let wall = WallClock::compare(run.time);
        run.complete().await?;
        run.finish(wall).await
    })?;
    let mut judge = judging.judge(plan, &configs, TICK).without(target.left_out());
    if has_gaps {
        judge = judge.without(&[PropertyName::LINEARIZABLE]);
    }
    let mut outcome = Outcome::of(judge);
    for Entry { at, event } in entries {
        outcome.record(at, event);
    }
    outcome.finish(end);
    Ok(outcome)
}

fn broke(why: &dyn Display) -> EngineError {
    EngineError::Simulation(why.to_string())
}
