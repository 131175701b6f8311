//! The audit of logs of real applications, and the evidence that it finds what it should.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use tenure_sim::audit::{Audit, Compared, DRIFT_MOST, Report, Settings, Verdict, Violation};
use tenure_sim::evidence::audited::Audits;
use tenure_sim::judge::properties::PropertyName;

use crate::args::{Format, JobsArguments, OutputArguments, wrong};
use crate::error::{CliError, written};
use crate::show::{Table, numbers};

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// The logs of all candidates, as written by `tenure::trace`
    #[arg(value_name = "LOG", required_unless_present = "model")]
    logs: Vec<PathBuf>,
    /// The largest error of every machine's wall clock, such as 5ms or 200us; with FILE=, that of
    /// one log; may be given more than once [default: not known]
    #[arg(long, value_name = "[FILE=]TIME", value_parser = uncertainty)]
    uncertainty: Vec<(Option<String>, Duration)>,
    /// The drift bound of every clock, in parts per million [default: those in the logs]
    #[arg(long, value_name = "PPM")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(DRIFT_MOST)))]
    drift: Option<u32>,
    /// Nothing that leaders write is fenced: judge the leads alone, and say nothing about what was
    /// written
    #[arg(long)]
    unfenced: bool,
    /// Audit the runs of the model engine of that many seeds instead, as if their processes had
    /// written logs
    #[arg(long, value_name = "RUNS", conflicts_with_all = ["logs", "uncertainty", "drift", "unfenced"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    model: Option<u64>,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn audit(arguments: &AuditArguments) -> Result<u8, CliError> {
    if let Some(runs) = arguments.model {
        return model(runs, arguments);
    }
    let mut audit = Audit::new(arguments.settings()?);
    let began = Instant::now();
    for path in &arguments.logs {
        let file = File::open(path).map_err(|why| CliError::of_file(path, why))?;
        let read = audit.read(&path.display().to_string(), BufReader::with_capacity(1 << 16, file));
        read.map_err(|why| CliError::of_file(path, why))?;
    }
    let report = audit.judge().map_err(|why| CliError::Input(why.into()))?;
    let took = began.elapsed();
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &report, took),
        Format::Json => {
            let mut all = json!(report);
            all["verdict"] = json!(report.verdict());
            all["wall_s"] = json!(took.as_secs_f64());
            writeln!(out, "{all}")
        }
    })?;
    Ok(report.verdict().exit_code())
}

impl AuditArguments {
    fn settings(&self) -> Result<Settings, CliError> {
        let (drift_ppm, unfenced) = (self.drift, self.unfenced);
        let mut settings = Settings { drift_ppm, unfenced, ..Settings::default() };
        let names: Vec<String> = self.logs.iter().map(|path| path.display().to_string()).collect();
        for (file, uncertainty) in &self.uncertainty {
            let Some(file) = file else {
                settings.uncertainty = Some(*uncertainty);
                continue;
            };
            if !names.contains(file) {
                let what = format!("'--uncertainty {file}=..' names none of the logs");
                return Err(wrong(what).into());
            }
            settings.of_files.insert(file.clone(), *uncertainty);
        }
        Ok(settings)
    }
}

/// A time, or a file and a time.
fn uncertainty(text: &str) -> Result<(Option<String>, Duration), String> {
    match text.rsplit_once('=') {
        Some((file, time)) => Ok((Some(file.to_owned()), time_of(time)?)),
        None => Ok((None, time_of(text)?)),
    }
}

fn time_of(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 4] =
        [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let parsed = UNITS.iter().find_map(|(unit, nanos)| {
        let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_nanos(u64::from(number) * nanos))
    });
    parsed.ok_or_else(|| {
        "a time is a whole number with a unit: ns, us, ms or s, such as 5ms".to_owned()
    })
}

fn human(out: &mut impl Write, report: &Report, took: Duration) -> io::Result<()> {
    let mut table = numbers(["logs", ""]);
    let rows = [
        ("files", report.files),
        ("clocks", report.clocks),
        ("lines", report.lines),
        ("elections", report.elections),
        ("tenures", report.tenures),
        ("tenures without a step-down", report.without_end),
        ("tenures without an accepted write", report.without_writes),
        ("accepted writes", report.writes),
        ("refused writes", report.refused_writes),
        ("writes of unknown outcome", report.unknown_writes),
        ("lines that were not written", report.lost_lines),
        ("files whose last line is cut off", report.cut_off),
        ("files without a header", report.without_header),
        ("empty files", report.empty),
        ("candidates whose clock went back", report.clocks_back),
    ];
    for (name, number) in rows {
        table.add_row([name.to_owned(), number.to_string()]);
    }
    let seconds = took.as_secs_f64();
    table.add_row(["took".to_owned(), format!("{seconds:.3} s")]);
    writeln!(out, "{table}\n")?;
    writeln!(out, "{}\n", compared(&report.properties))?;
    report.violations.iter().try_for_each(|one| violation(out, one))?;
    if report.further > 0 {
        writeln!(out, "and {} more\n", report.further)?;
    }
    if report.widest_undecided_ns > 0 {
        let widest = Duration::from_nanos(report.widest_undecided_ns);
        writeln!(out, "undecided: the clocks allow overlaps of up to {widest:?}")?;
    }
    writeln!(out, "{}", answer(report))
}

/// The answer, and what it rests on.
fn answer(report: &Report) -> String {
    let compared = |property| report.of(property).compared;
    let (claims, writes) =
        (compared(PropertyName::SINGLE_LEADER), compared(PropertyName::FENCED_WRITES));
    match report.verdict() {
        Verdict::Violated => "VIOLATED: no placement of the clocks explains every line".to_owned(),
        Verdict::Held if writes == 0 => format!(
            "HELD, by --unfenced for the leads alone: some placement of the clocks explains every line; compared were \
             {claims} pairs of claims, and nothing that the leaders wrote"
        ),
        Verdict::Held => format!(
            "HELD: some placement of the clocks explains every line; compared were {claims} pairs of claims and {writes} \
             pairs of writes"
        ),
        Verdict::Inconclusive if claims == 0 => {
            "INCONCLUSIVE: no two tenures of different candidates could be compared; state the clocks' --uncertainty, or a \
             smaller --drift"
                .to_owned()
        }
        Verdict::Inconclusive => format!(
            "INCONCLUSIVE: {claims} pairs of claims hold, but no writes of two tenures to one resource could be compared \
             (accepted writes: {}); call Tenure::trace_write before each fenced write, or state --unfenced if nothing is \
             fenced",
            report.writes
        ),
    }
}

fn compared(properties: &BTreeMap<&'static str, Compared>) -> Table {
    let mut table = numbers(["property", "compared", "undecided"]);
    for (name, Compared { compared, undecided }) in properties {
        table.add_row([(*name).to_owned(), compared.to_string(), undecided.to_string()]);
    }
    table
}

fn violation(out: &mut impl Write, violation: &Violation) -> io::Result<()> {
    let Violation { property, finding, lines } = violation;
    writeln!(out, "{property}: {finding}\n    lines: {}\n", lines.join(", "))
}

/// The audits of the model engine's runs.
fn model(runs: u64, arguments: &AuditArguments) -> Result<u8, CliError> {
    let audits = Audits::of_seeds(runs, arguments.jobs.threads());
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Json => writeln!(out, "{}", json!(audits)),
        Format::Human => {
            let Audits { runs, left_out, broke, lines, tenures, .. } = &audits;
            writeln!(out, "{}\n", compared(&audits.properties))
                .and_then(|()| {
                    writeln!(out, "{runs} runs with {tenures} tenures in {lines} lines; left out: {left_out}; broke down: {broke}")
                })
                .and_then(|()| {
                    audits.violated.values().try_for_each(|(seed, runs, one)| {
                        write!(out, "\nin {runs} runs, first in seed {seed}: ")?;
                        violation(&mut out, one)
                    })
                })
        }
    })?;
    let compared = audits.properties.values().any(|one| one.compared > 0);
    Ok(match (audits.violated.is_empty(), compared) {
        (false, _) => Verdict::Violated.exit_code(),
        (true, true) => Verdict::Held.exit_code(),
        (true, false) => Verdict::Inconclusive.exit_code(),
    })
}
