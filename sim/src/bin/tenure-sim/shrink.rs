//! Shrinking a failing plan.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use tenure_sim::engines::Engine;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{Plan, SimTime};
use tenure_sim::report::{Again, PlanFrom};
use tenure_sim::search::campaign;
use tenure_sim::search::shrink::{self, Budget, Progress, ShrinkError, Shrunk};

use crate::args::{DrawnArguments, Format, OutputArguments, WhichArguments, engine};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::plan;
use crate::show::{self, table};

#[derive(Debug, Args)]
pub(crate) struct ShrinkArguments {
    #[command(flatten)]
    which: WhichArguments,
    /// The engine
    #[arg(long, value_parser = engine(), default_value = "model")]
    engine: Engine,
    #[command(flatten)]
    drawn: DrawnArguments,
    /// The property that fails [default: the first one that fails]
    #[arg(long, value_name = "NAME")]
    property: Option<PropertyName>,
    /// Judge by all properties, whatever the plan breaks
    #[arg(long, conflicts_with = "property")]
    everything: bool,
    /// The most plans to run [default: 5000, in turmoil 500]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Write the small plan to this file
    #[arg(long, value_name = "FILE", default_value = "plan.min.json")]
    out: PathBuf,
    /// Write a Rust test that replays the small plan to this file
    #[arg(long, value_name = "FILE")]
    test_out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn shrink(arguments: &ShrinkArguments) -> Result<u8, CliError> {
    let engine = arguments.engine;
    let plan = plan::of(&arguments.which, engine, &arguments.drawn)?;
    let judging = match &arguments.property {
        Some(property) => Judging::StopAtFirst(Which::Named(std::slice::from_ref(property))),
        None if arguments.everything => Judging::KeepJudging(Which::All),
        None => Judging::default(),
    };
    let budget = arguments.runs.map_or_else(|| Budget::default_for(engine), |runs| Budget { runs });
    let mut files = Files::read(&arguments.which.plan);
    let out = files.create(&arguments.out)?;
    let test_out = files.create_if(arguments.test_out.as_deref())?;
    let began = Instant::now();
    let shrunk =
        with_progress(engine, &plan, judging, budget).map_err(|why| beyond(why, &plan, judging))?;
    let took = began.elapsed();
    written(out.holding_plan(Some(&shrunk.plan)))?;
    if let Some(out) = test_out {
        let why = format!("{}: {}", shrunk.symptom.name(), shrunk.what);
        let test = shrink::as_test(engine, &shrunk.plan, judging, shrunk.symptom.name(), &why);
        written(out.holding(test.as_bytes()))?;
    }
    let smaller =
        Smaller { engine, plan: &plan, judging, shrunk: &shrunk, took, out: &arguments.out };
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => smaller.show(&mut out, arguments.test_out.as_deref()),
        Format::Json => writeln!(out, "{}", smaller.json()),
    })?;
    Ok(0)
}

/// Shrinks with a progress bar on standard error, if that is a terminal.
pub(crate) fn with_progress(
    engine: Engine,
    plan: &Plan,
    judging: Judging<'_>,
    budget: Budget,
) -> Result<Shrunk, ShrinkError> {
    let line = show::Progress::new("shrinking:", "runs");
    shrink::shrink_with_progress(engine, plan, judging, budget, |progress| {
        let Progress { runs, faults, nodes, .. } = progress;
        line.set(runs, None, &format!("{faults} faults, {nodes} nodes"));
    })
}

/// The error for a plan that does not fail. If it breaks assumptions, few properties are judged,
/// and a hint says so.
fn beyond(why: ShrinkError, plan: &Plan, judging: Judging<'_>) -> CliError {
    let broken = plan.broken();
    if matches!(judging, Judging::KeepJudging(Which::All)) || broken.is_empty() {
        return CliError::Input(why.into());
    }
    let broken: Vec<String> =
        broken.iter().filter_map(|one| json!(one).as_str().map(str::to_owned)).collect();
    let broken = broken.join(", ");
    let hint = "properties that rest on them are judged only with --everything";
    CliError::Input(format!("{why}; it breaks {broken}, and {hint}").into())
}

struct Smaller<'a> {
    engine: Engine,
    plan: &'a Plan,
    judging: Judging<'a>,
    shrunk: &'a Shrunk,
    took: Duration,
    out: &'a Path,
}

impl Smaller<'_> {
    fn show(&self, out: &mut impl Write, test: Option<&Path>) -> io::Result<()> {
        let Self { engine, plan, shrunk, took, .. } = self;
        writeln!(out, "{}\n", shrunk.plan.to_text())?;
        let mut figures = table(["", "before", "after"]);
        let mut row = |name: &str, of: &dyn Fn(&Plan) -> usize| {
            figures.add_row([name.to_owned(), of(plan).to_string(), of(&shrunk.plan).to_string()]);
        };
        row("faults", &|plan| plan.faults.len());
        row("nodes", &|plan| plan.nodes.len());
        writeln!(out, "{figures}\n")?;
        let at = shrunk.at_ns;
        writeln!(out, "{} at {at:?}: {}", shrunk.symptom.name(), shrunk.what)?;
        writeln!(out, "The engine {engine} took {} runs and {took:.1?}.", shrunk.runs)?;
        if !shrunk.done {
            writeln!(out, "The budget was used up: a larger --runs may give a smaller plan.")?;
        }
        let (engine, plan) = (engine.name(), PlanFrom::File(self.out));
        let again = Again { engine, plan, judging: self.judging };
        writeln!(out, "Written to {}. Again: {}", self.out.display(), again.replay())?;
        match test {
            Some(path) => writeln!(out, "The test is in {}.", path.display()),
            None => Ok(()),
        }
    }

    fn json(&self) -> serde_json::Value {
        let shrunk = self.shrunk;
        let counts =
            |plan: &Plan| json!({ "faults": plan.faults.len(), "nodes": plan.nodes.len() });
        json!({
            "engine": self.engine,
            "property": shrunk.symptom.name(),
            "symptom": shrunk.symptom,
            "at_ms": campaign::milliseconds(shrunk.at_ns.since(SimTime::START)),
            "what": shrunk.what,
            "before": counts(self.plan),
            "after": counts(&shrunk.plan),
            "runs": shrunk.runs,
            "took_s": self.took.as_secs_f64(),
            "done": shrunk.done,
            "out": self.out,
            "plan": shrunk.plan,
        })
    }
}
