//! Controls: runs that break one assumption, to show which promise rests on it.

use std::io::{self, Write};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls::{self, Control, Report, Verdict};
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::search::campaign::attempt;

use crate::args::{Format, OutputArguments, wrong};
use crate::error::{CliError, written};
use crate::output::{Files, Output};
use crate::report::{page, write_run};
use crate::show::{Table, table};

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

pub(crate) fn run(
    controls: &[Control],
    (seed, runs, jobs): (u64, u64, usize),
    report: Option<&Path>,
    output: OutputArguments,
) -> Result<u8, CliError> {
    if report.is_some() && controls.len() > 1 {
        return Err(wrong("'--report' shows one control: name it".to_owned()).into());
    }
    let page = Files::default().create_if(report)?;
    let carry_out = |control| controls::run(control, seed, runs, jobs);
    let reports: Result<Vec<Report>, _> = controls.iter().map(carry_out).collect();
    let reports = reports.map_err(|error| CliError::Input(error.into()))?;
    if let (Some(out), Some(control), Some(report)) = (page, controls.first(), reports.first()) {
        write_page(out, control, report)?;
    }
    let mut out = io::stdout().lock();
    written(match output.format {
        Format::Human => human(&mut out, &reports),
        Format::Json => json(&mut out, &reports),
    })?;
    Ok(exit_code(&reports))
}

/// Writes the page of the first run in which a promise broke, or of the first run, judged by all
/// properties.
fn write_page(out: Output, control: &Control, report: &Report) -> Result<(), CliError> {
    let broke = report.broken.values().map(|broken| broken.first_seed).min();
    let plan = control.plan(broke.unwrap_or(report.seed));
    let outcome = attempt(Engine::Model, &plan, Judging::KeepJudging(Which::All));
    let mut page = page(Engine::Model.name(), &plan, &outcome);
    page.again = format!("tenure-sim run --control {control} --seed {} --runs 1", plan.seed);
    // Every promise that must break has broken, and no other than those that may.
    page.as_expected = report.is_ok() && broke.is_some();
    write_run(out, &page)
}

/// The broken promises of each control, then the verdicts.
fn human(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    writeln!(out, "{}\n", broken(reports))?;
    reports.iter().try_for_each(|report| verdict(out, report))
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
