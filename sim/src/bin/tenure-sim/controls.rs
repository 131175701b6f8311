//! Controls: runs that break one assumption, to show which promise rests on it.

use std::io::{self, Write};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls::{self, Control, Report, Verdict};
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::Plan;
use tenure_sim::report::{Again, PlanFrom};
use tenure_sim::search::campaign::attempt;
use tenure_sim::search::shrink::{self, Budget, shrink_by};

use crate::args::{Format, OutputArguments, wrong};
use crate::error::{CliError, written};
use crate::output::{Files, Output};
use crate::report::{page, write_run};
use crate::show::{Progress, Table, table};

/// The default number of seeds of a control.
pub(crate) const DEFAULT_RUNS: u64 = 2_000;

/// The controls to run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Controls {
    All,
    One(Control),
}

impl Controls {
    pub(crate) fn all(self) -> Vec<Control> {
        match self {
            Self::All => controls::ALL.to_vec(),
            Self::One(control) => vec![control],
        }
    }
}

pub(crate) fn control_or_all() -> impl TypedValueParser<Value = Controls> {
    let names = controls::ALL.iter().map(|control| control.name).chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(Controls::All),
        _ => name.parse().map(Controls::One),
    })
}

pub(crate) fn about() -> String {
    format!(
        "Break one assumption, in the model engine: exits with 0 if exactly the promise that rests \
         on it breaks [default number of seeds: {DEFAULT_RUNS}]"
    )
}

/// The files about one control that are wanted.
pub(crate) struct Wanted<'a> {
    /// The page of the first run in which a promise broke, or of its small plan if that is wanted.
    pub(crate) report: Option<&'a Path>,
    /// The plan of that run.
    pub(crate) plan: Option<&'a Path>,
    /// The plan, made small.
    pub(crate) small: Option<&'a Path>,
}

pub(crate) fn run(
    controls: &[Control],
    (seed, runs, jobs): (u64, u64, usize),
    wanted: &Wanted<'_>,
    output: OutputArguments,
) -> Result<u8, CliError> {
    let of_one = [wanted.report, wanted.plan, wanted.small];
    if of_one.iter().any(Option::is_some) && controls.len() > 1 {
        let what = "'--report', '--plan-out' and '--shrink' are about one control: name it";
        return Err(wrong(what.to_owned()).into());
    }
    let mut files = Files::default();
    let page = files.create_if(wanted.report)?;
    let plan_out = files.create_if(wanted.plan)?;
    let small_out = files.create_if(wanted.small)?;
    let carry_out = |control| controls::run(control, seed, runs, jobs);
    let reports: Result<Vec<Report>, _> = controls.iter().map(carry_out).collect();
    let reports = reports.map_err(|error| CliError::Input(error.into()))?;
    let mut failing = Vec::new();
    if let (Some(control), Some(report)) = (controls.first(), reports.first()) {
        let plan = first(control, report);
        failing.extend(wanted.plan.filter(|_| !report.broken.is_empty()));
        if let Some(out) = plan_out {
            written(out.holding_plan(Some(&plan)))?;
        }
        let small = small_out.is_some().then(|| small(control, &plan)).flatten();
        failing.extend(wanted.small.filter(|_| small.is_some()));
        if let Some(out) = small_out {
            written(out.holding_plan(small.as_ref()))?;
        }
        if let Some(out) = page {
            write_page(out, small.as_ref().unwrap_or(&plan), report)?;
        }
    }
    let mut out = io::stdout().lock();
    written(match output.format {
        Format::Human => human(&mut out, &reports, &failing),
        Format::Json => json(&mut out, &reports),
    })?;
    Ok(exit_code(&reports))
}

/// The plan of the first run in which a promise broke that must, or else any, or of the first run.
fn first(control: &Control, report: &Report) -> Plan {
    let of = |only: &[PropertyName]| {
        let broken = report.broken.iter().filter(|(name, _)| only.contains(name));
        broken.map(|(_, broken)| broken.first_seed).min()
    };
    let broke = of(control.must_break).or_else(|| of(&PropertyName::ALL));
    control.plan(broke.unwrap_or(report.seed))
}

/// A smaller plan that breaks a promise which must break; `None` if the plan breaks none.
fn small(control: &Control, plan: &Plan) -> Option<Plan> {
    let breaks = |plan: &Plan| {
        let outcome = attempt(Engine::Model, plan, EVERYTHING);
        outcome.is_ok_and(|outcome| {
            let mut broken = outcome.judge.violations().iter().map(|one| one.property);
            broken.any(|name| control.must_break.contains(&name))
        })
    };
    let (line, budget) = (Progress::new("shrinking:", "runs"), Budget::default_for(Engine::Model));
    let show = |progress: shrink::Progress| line.set(progress.runs, None, "");
    breaks(plan).then(|| shrink_by(plan, budget, breaks, show).plan)
}

const EVERYTHING: Judging<'static> = Judging::KeepJudging(Which::All);

/// Writes the page of a plan's run, judged by all properties.
fn write_page(out: Output, plan: &Plan, report: &Report) -> Result<(), CliError> {
    let outcome = attempt(Engine::Model, plan, EVERYTHING);
    let mut page = page(Engine::Model.name(), plan, &outcome);
    // Every promise that must break has broken, and no other than those that may.
    page.as_expected = report.is_ok() && !report.broken.is_empty();
    write_run(out, &page)
}

/// The broken promises of each control, then the verdicts, and the commands that repeat the failing
/// plans in those files.
fn human(out: &mut impl Write, reports: &[Report], failing: &[&Path]) -> io::Result<()> {
    writeln!(out, "{}\n", broken(reports))?;
    reports.iter().try_for_each(|report| verdict(out, report))?;
    for path in failing {
        let (engine, plan) = (Engine::Model.name(), PlanFrom::File(path));
        let again = Again { engine, plan, judging: EVERYTHING };
        writeln!(out, "Written to {}. Again: {}", path.display(), again.replay())?;
    }
    Ok(())
}

/// All reports in one line.
fn json(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reports)?;
    writeln!(out)
}

/// The exit code: 0 if every control gave the expected result.
fn exit_code(reports: &[Report]) -> u8 {
    u8::from(!reports.iter().all(Report::is_ok))
}

fn broken(reports: &[Report]) -> Table {
    let mut table = table(["control", "property", "breaks", "in runs", "of", "first in seed"]);
    for report in reports {
        let held = |name: &&PropertyName| !report.broken.contains_key(*name);
        for name in report.must_break.iter().filter(held) {
            let (runs, never) = (report.runs.to_string(), "0".to_owned());
            table.add_row([report.control, name.as_str(), "must", &never, &runs, "-"]);
        }
        for (name, broken) in &report.broken {
            let (broken_in, runs) = (broken.runs.to_string(), report.runs.to_string());
            let seed = broken.first_seed.to_string();
            let may = may(report, *name);
            table.add_row([report.control, name.as_str(), may, &broken_in, &runs, &seed]);
        }
    }
    table
}

fn may(report: &Report, name: PropertyName) -> &'static str {
    if report.must_break.contains(&name) {
        "must"
    } else if report.may_break.contains(&name) {
        "may"
    } else {
        "must not"
    }
}

fn verdict(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let control = report.control;
    match &report.verdict {
        Verdict::Ok => {
            writeln!(out, "{control}: OK: the promises that must break broke, and all others held")
        }
        Verdict::NothingBroke { missing } => {
            let missing: Vec<_> = missing.iter().map(|name| name.as_str()).collect();
            let (missing, runs) = (missing.join(", "), report.runs);
            writeln!(out, "{control}: NOTHING BROKE: held in all of {runs} runs: {missing}")
        }
        Verdict::BrokeTooMuch { unexpected } => {
            writeln!(out, "{control}: BROKE TOO MUCH")?;
            for unexpected in unexpected {
                let (name, seed) = (unexpected.property, unexpected.seed);
                let what = report.broken.get(&name).map_or("", |broken| &broken.what);
                writeln!(out, "    {name}: {what}")?;
                writeln!(
                    out,
                    "    Again: tenure-sim run --control {control} --seed {seed} --runs 1"
                )?;
            }
            Ok(())
        }
    }
}
