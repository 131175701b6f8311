//! The tolerance certificate of some settings.

use std::fs::create_dir_all;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tenure_sim::plan::Settings;
use tenure_sim::search::tolerance::{self, ALL, Certificate, Magnitude, Row, certify};

use crate::args::{Format, OutputArguments};
use crate::error::{CliError, written};
use crate::output::Files;
use crate::plan;
use crate::show::numbers;

#[derive(Debug, Args)]
pub(crate) struct ToleranceArguments {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Only these magnitudes, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    magnitudes: Option<Vec<Magnitude>>,
    /// Write the last plan that holds and the first that breaks to this folder, for each magnitude
    #[arg(long, value_name = "FOLDER")]
    plan_out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// Settings of candidates: the others follow from the TTL, as in `tenure_core::Config`.
#[derive(Debug, Args)]
pub(crate) struct SettingsArguments {
    /// Take the settings of this plan
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "ttl", "renew_interval", "request_timeout", "stop_margin", "retry_least", "retry_most", "drift_ppm",
    ])]
    plan: Option<PathBuf>,
    /// The TTL, such as 15s or 1500ms
    #[arg(long, value_parser = duration, default_value = "15s")]
    ttl: Duration,
    /// The time from one renewal to the next [default: a third of the TTL]
    #[arg(long, value_parser = duration)]
    renew_interval: Option<Duration>,
    /// The longest wait for a reply [default: a tenth of the TTL]
    #[arg(long, value_parser = duration)]
    request_timeout: Option<Duration>,
    /// The time from the end of a claim to the end of its lease [default: a tenth of the TTL]
    #[arg(long, value_parser = duration)]
    stop_margin: Option<Duration>,
    /// The first bound of the delay before another attempt [default: follows from the TTL]
    #[arg(long, value_parser = duration)]
    retry_least: Option<Duration>,
    /// The largest bound of the delay before another attempt [default: follows from the TTL]
    #[arg(long, value_parser = duration)]
    retry_most: Option<Duration>,
    /// The drift bound, in ppm [default: 10000]
    #[arg(long)]
    drift_ppm: Option<u32>,
}

impl SettingsArguments {
    /// The file that the settings are read from.
    pub(crate) fn plan(&self) -> Option<&PathBuf> {
        self.plan.as_ref()
    }

    pub(crate) fn settings(&self) -> Result<Settings, CliError> {
        if let Some(path) = &self.plan {
            return Ok(plan::read(path)?.settings);
        }
        let input = |why: tenure_core::ConfigError| CliError::Input(why.into());
        let mut settings = Settings::of_ttl(self.ttl).map_err(input)?;
        let set = |to: &mut u64, given: Option<Duration>| {
            if let Some(given) = given {
                *to = u64::try_from(given.as_millis()).unwrap_or(u64::MAX);
            }
        };
        set(&mut settings.renew_interval_ms, self.renew_interval);
        set(&mut settings.request_timeout_ms, self.request_timeout);
        set(&mut settings.stop_margin_ms, self.stop_margin);
        set(&mut settings.retry_least_ms, self.retry_least);
        set(&mut settings.retry_most_ms, self.retry_most);
        settings.drift_ppm = self.drift_ppm.unwrap_or(settings.drift_ppm);
        settings.config().map_err(input)?;
        Ok(settings)
    }
}

/// Reads whole seconds or milliseconds.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit): (_, fn(u64) -> Duration) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis),
        None => (text.strip_suffix('s').unwrap_or(""), Duration::from_secs),
    };
    let number: u32 = number
        .parse()
        .map_err(|_| "a time is a whole number with a unit, such as 15s or 1500ms".to_owned())?;
    Ok(unit(number.into()))
}

pub(crate) fn tolerance(arguments: &ToleranceArguments) -> Result<u8, CliError> {
    let settings = arguments.settings.settings()?;
    let folder = arguments.plan_out.as_deref();
    if let Some(folder) = folder {
        create_dir_all(folder).map_err(|why| CliError::of_file(folder, why))?;
    }
    let magnitudes = arguments.magnitudes.as_deref().unwrap_or(&ALL);
    let certificate = certify(settings, magnitudes, |_| {}).map_err(input)?;
    if let Some(folder) = folder {
        certificate.rows.iter().try_for_each(|row| write_plans(folder, row))?;
    }
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => show(&mut out, &certificate),
        Format::Json => serde_json::to_writer_pretty(&mut out, &certificate)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    })?;
    Ok(u8::from(!certificate.agrees))
}

pub(crate) fn input(why: tolerance::ToleranceError) -> CliError {
    CliError::Input(why.into())
}

fn write_plans(folder: &Path, row: &Row) -> Result<(), CliError> {
    for (plan, what) in [(&row.plans.0, "holds"), (&row.plans.1, "breaks")] {
        if let Some(plan) = plan {
            let path = folder.join(format!("{}-{what}.json", row.magnitude));
            written(Files::default().create(&path)?.holding_plan(Some(plan)))?;
        }
    }
    Ok(())
}

fn show(out: &mut impl Write, certificate: &Certificate) -> io::Result<()> {
    let mut table = numbers([
        "magnitude",
        "promise",
        "holds",
        "breaks",
        "formula",
        "difference",
        "tolerance",
        "explain()",
        "unit",
        "runs",
        "agrees",
    ]);
    for row in &certificate.rows {
        let whole = |of: Option<u64>| of.map_or_else(|| "-".to_owned(), |of| of.to_string());
        let exact = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |of| format!("{of:.3}"));
        table.add_row([
            row.magnitude.to_owned(),
            row.promise.to_owned(),
            whole(row.holds),
            row.breaks.map_or_else(|| "never".to_owned(), |of| of.to_string()),
            row.expected.map_or_else(|| "none".to_owned(), |of| format!("{of:.3}")),
            exact(row.difference),
            exact(Some(row.tolerance)),
            exact(row.explained),
            row.unit.to_owned(),
            row.runs.to_string(),
            if row.agrees { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    writeln!(out, "{table}\n")?;
    for row in &certificate.rows {
        writeln!(out, "{}: {}; formula: {}", row.magnitude, row.about, row.formula)?;
    }
    let wrong: Vec<&str> =
        certificate.rows.iter().filter(|row| !row.agrees).map(|row| row.magnitude).collect();
    if wrong.is_empty() {
        writeln!(out, "\nAGREES: every frontier agrees with its formula")
    } else {
        writeln!(out, "\nDOES NOT AGREE: {}", wrong.join(", "))
    }
}
