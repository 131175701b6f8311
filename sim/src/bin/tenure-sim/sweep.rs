//! Sweeping a run: a stop at each of its points.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tenure_sim::engines::Engine;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{Fault, Point, ProcessFault, RequestKind, Trigger, What, When};
use tenure_sim::report::{Again, PlanFrom};
use tenure_sim::search::campaign::{Failure, Verdict};
use tenure_sim::search::sweep::{self, Found, Report, Sweep};

use crate::args::{DrawnArguments, Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::plan::{drawn, read};
use crate::show::{Progress, table};

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// The seed of the plan [default: three candidates without faults, the leader hands over once]
    #[arg(long, conflicts_with = "plan")]
    seed: Option<u64>,
    /// The file with the plan, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    drawn: DrawnArguments,
    /// The number of seeds, from the plan's own on
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000), default_value_t = 8)]
    seeds: u64,
    /// Judge by all properties, though a pause breaks assumptions of some of them
    #[arg(long)]
    everything: bool,
    /// Stop at pairs of points as well
    #[arg(long)]
    pairs: bool,
    /// The most runs: the sweep is inconclusive if some are left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), default_value_t = 2_000_000)]
    runs: u64,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Write the plan of the first run that failed to this file
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn sweep(arguments: &SweepArguments) -> Result<u8, CliError> {
    let plan = match (&arguments.plan, arguments.seed) {
        (Some(path), _) => read(path)?,
        (None, Some(seed)) => drawn(seed, Engine::Model, &arguments.drawn)?,
        (None, None) => sweep::default_plan().map_err(|why| CliError::Input(why.into()))?,
    };
    let mut files = Files::read(&arguments.plan);
    let plan_out = files.create_if(arguments.plan_out.as_deref())?;
    let jobs = arguments.jobs.threads();
    let &SweepArguments { seeds, pairs, everything, runs, .. } = arguments;
    let progress = Progress::new("", "stops");
    let sweep = Sweep { plan, seeds, pairs, everything, jobs, runs };
    let report = sweep.run(|done, of| progress.set(done, Some(of), ""));
    drop(progress);
    let report = report.map_err(|why| CliError::Input(why.into()))?;
    if let Some(out) = plan_out {
        written(out.holding_plan(report.found.as_ref().map(|found| &found.plan)))?;
    }
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => show(&mut out, &report, sweep.judging(), arguments.plan_out.as_deref()),
        Format::Json => writeln!(out, "{}", in_json(&report)),
    })?;
    Ok(report.verdict().exit_code())
}

fn in_json(report: &Report) -> Value {
    let mut value = json!(report);
    value["verdict"] = json!(report.verdict());
    value
}

fn show(
    out: &mut impl Write,
    report: &Report,
    judging: Judging<'_>,
    plan_out: Option<&Path>,
) -> io::Result<()> {
    let mut figures = table(["points", &report.points.to_string()]);
    figures.add_row(["runs".to_owned(), report.runs.to_string()]);
    figures.add_row(["left out".to_owned(), report.left_out.to_string()]);
    figures.add_row(["point not reached".to_owned(), report.missed.to_string()]);
    figures.add_row(["violations".to_owned(), report.violations.to_string()]);
    let margin = report.margin_ms.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.3} ms"));
    figures.add_row(["least safety margin".to_owned(), margin]);
    figures.add_row(["with".to_owned(), in_words(&report.margin_at)]);
    figures.add_row(["trace hash".to_owned(), report.hash.to_string()]);
    writeln!(out, "{figures}\n")?;
    if let Some(found) = &report.found {
        failed(out, found, judging, plan_out)?;
    }
    match report.verdict() {
        Verdict::Held => writeln!(out, "HELD: nothing was violated"),
        Verdict::Inconclusive => writeln!(out, "INCONCLUSIVE: not every stop was tried"),
        Verdict::Violated | Verdict::Nondeterministic => writeln!(out, "VIOLATED"),
    }
}

fn failed(
    out: &mut impl Write,
    found: &Found,
    judging: Judging<'_>,
    plan_out: Option<&Path>,
) -> io::Result<()> {
    writeln!(out, "First with {}:", in_words(&found.stops))?;
    match &found.failure {
        Failure::Violated { property, at_ns, what, .. } => {
            writeln!(out, "{property} violated at {at_ns}: {what}")?;
        }
        Failure::Refused { what } | Failure::Broke { what } => {
            writeln!(out, "The run broke down: {what}")?;
        }
        Failure::Nondeterministic { first, again } => {
            writeln!(out, "The first trace has the hash {first}, the second one {again}")?;
        }
    }
    match plan_out {
        Some(path) => {
            let again = Again { engine: Engine::Model.name(), plan: PlanFrom::File(path), judging };
            writeln!(out, "Its plan is in {}. Again: {}", path.display(), again.replay())?;
            writeln!(out, "Smaller: {}\n", again.shrink(None))
        }
        None => writeln!(out, "Its plan (--plan-out writes it):\n{}\n", found.plan.to_text()),
    }
}

fn in_words(stops: &[Fault]) -> String {
    let stops: Vec<String> = stops.iter().map(|stop| InWords(stop).to_string()).collect();
    if stops.is_empty() { "no stop".to_owned() } else { stops.join(", then ") }
}

/// A stop in words.
struct InWords<'a>(&'a Fault);

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { when, for_ms, what } = *self.0;
        match what {
            What::Process { fault: ProcessFault::Crash { power: true }, .. } => {
                f.write_str("a loss of power")?;
            }
            What::Process { fault: ProcessFault::Crash { power: false }, .. } => {
                f.write_str("a crash")?;
            }
            _ => write!(f, "a pause of {for_ms} ms")?,
        }
        match when {
            When::AtMs(at_ms) => write!(f, " at {at_ms} ms")?,
            When::On(trigger) => point(f, trigger)?,
        }
        self.0.node().map_or(Ok(()), |node| write!(f, " of n{node}"))
    }
}

fn point(f: &mut fmt::Formatter<'_>, trigger: Trigger) -> fmt::Result {
    let Trigger { point, node, of, nth, .. } = trigger;
    let of = match of {
        Some(RequestKind::Acquire) => "acquire",
        Some(RequestKind::Look) => "look",
        Some(RequestKind::Renew) => "renew",
        Some(RequestKind::Release) => "release",
        None => "any request",
    };
    let node = node.map_or_else(String::new, |node| format!(" of n{node}"));
    match point {
        Point::Send => write!(f, " before sending {of} {nth}{node}"),
        Point::Sent => write!(f, " after sending {of} {nth}{node}"),
        Point::Reply => write!(f, " at the reply to {of} {nth}{node}"),
        Point::Guard => write!(f, " after check {nth}{node}"),
        Point::Grant => write!(f, " at grant {nth}{node}"),
        Point::Leads => write!(f, " as lead {nth}{node} begins"),
    }
}
