//! Summaries as JSON: a single one is an object of its own, several are a list with their common
//! verdict.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::summary::SCHEMA;
use super::units::figure;
use super::{Durations, Failure, Summary, Verdict};
use crate::plan::json::{self, SyntaxError, is_name};

/// A summary, and the figures that follow from it.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// Runs a second.
    pub runs_per_s: f64,
    /// Events a second.
    pub events_per_s: f64,
    /// Simulated seconds for each second of processor time.
    pub simulated_s_per_core_s: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl<'a> From<&'a Summary> for Report<'a> {
    fn from(summary: &'a Summary) -> Self {
        let wall = summary.wall.as_secs_f64().max(1e-9);
        let core = summary.core.as_secs_f64().max(1e-9);
        Self {
            summary,
            runs_per_s: figure(summary.runs) / wall,
            events_per_s: figure(summary.events) / wall,
            simulated_s_per_core_s: summary.simulated.as_secs_f64() / core,
            verdict: summary.verdict(),
        }
    }
}

#[derive(Serialize)]
struct Together<'a> {
    verdict: Option<Verdict>,
    campaigns: Vec<Report<'a>>,
}

/// An error in a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// It is not JSON, or its fields are not those of a summary.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It has a format of another version.
    #[error("field \"schema\" is {found}, and must be {SCHEMA}")]
    Schema {
        /// The version.
        found: u32,
    },
    /// A name contains other characters than names may.
    #[error(
        "field {field:?} holds \"{}\"; a name must have 1 to 64 letters, digits, or any of - _ . +",
        json::plain(.value)
    )]
    Name {
        /// The field.
        field: &'static str,
        /// The name.
        value: String,
    },
    /// A number is so large that sums of them would overflow.
    #[error("field {field:?} is too large: numbers and times must be at most 2^48")]
    TooLarge {
        /// The field.
        field: &'static str,
    },
}

/// Writes one summary, or several.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, summaries: &[Summary]) -> io::Result<()> {
    if let [summary] = summaries {
        serde_json::to_writer(&mut *out, &Report::from(summary))?;
    } else {
        let campaigns: Vec<Report<'_>> = summaries.iter().map(Report::from).collect();
        let verdict = campaigns.iter().map(|report| report.verdict).max();
        serde_json::to_writer(&mut *out, &Together { verdict, campaigns })?;
    }
    writeln!(out)
}

/// Reads the output of [`write()`]. Fields that follow from others are ignored.
///
/// # Errors
/// If it is not a summary: the line, the field, and the reason.
pub fn read(text: &str) -> Result<Vec<Summary>, SummaryError> {
    #[derive(Deserialize)]
    struct Several {
        campaigns: Vec<Summary>,
    }
    let value: serde_json::Value = json::parse(text)?;
    let summaries = if value.get("campaigns").is_some() {
        json::parse::<Several>(text)?.campaigns
    } else {
        vec![json::parse(text)?]
    };
    if let Some(other) = summaries.iter().find(|summary| summary.schema != SCHEMA) {
        return Err(SummaryError::Schema { found: other.schema });
    }
    summaries.iter().try_for_each(check)?;
    Ok(summaries)
}

/// The largest number in a summary, and the longest time in seconds: sums of thousands of summaries
/// do not overflow.
const MOST: u64 = 1 << 48;

fn check(summary: &Summary) -> Result<(), SummaryError> {
    check_names(summary)?;
    let Summary { runs, jobs, events, elections, .. } = summary;
    for (field, number) in
        [("runs", runs), ("jobs", jobs), ("events", events), ("elections", elections)]
    {
        at_most(field, *number)?;
    }
    let times =
        [("simulated_s", summary.simulated), ("wall_s", summary.wall), ("core_s", summary.core)];
    times.into_iter().try_for_each(|(field, time)| at_most(field, time.as_secs()))?;
    let faults = summary.faults.values().flat_map(|count| [count.ordered, count.effects]);
    faults.into_iter().try_for_each(|count| at_most("faults", count))?;
    for judged in summary.properties.values() {
        let most = judged.checked.max(judged.exercised).max(judged.compared).max(judged.violated);
        at_most("properties", most)?;
    }
    let conditions = [
        ("sometimes", &summary.sometimes),
        ("sometimes_runs", &summary.sometimes_runs),
        ("sometimes_needed", &summary.sometimes_needed),
    ];
    for (field, counts) in conditions {
        counts.values().try_for_each(|count| at_most(field, *count))?;
    }
    summary.margins.buckets().try_for_each(|(_, runs)| at_most("margins", runs))?;
    let mut durations = summary.turnover.values().flat_map(Durations::numbers);
    durations.try_for_each(|number| at_most("turnover", number))?;
    for seeds in &summary.seeds {
        at_most("seeds", seeds.count)?;
        if seeds.first.checked_add(seeds.count).is_none() {
            return Err(SummaryError::TooLarge { field: "seeds" });
        }
    }
    Ok(())
}

fn at_most(field: &'static str, number: u64) -> Result<(), SummaryError> {
    if number <= MOST { Ok(()) } else { Err(SummaryError::TooLarge { field }) }
}

fn check_names(summary: &Summary) -> Result<(), SummaryError> {
    let violated = summary.failed.iter().filter_map(|failed| match &failed.failure {
        Failure::Violated { property, .. } => Some(("failed", property)),
        Failure::Refused { .. } | Failure::Broke { .. } | Failure::Nondeterministic { .. } => None,
    });
    let names = [("version", &summary.version), ("engine", &summary.engine)].into_iter();
    let properties = summary.properties.keys().map(|name| ("properties", name));
    let conditions = [&summary.sometimes, &summary.sometimes_runs, &summary.sometimes_needed];
    let conditions =
        conditions.into_iter().flat_map(|of| of.keys().map(|name| ("sometimes", name)));
    match names.chain(violated).chain(properties).chain(conditions).find(|(_, name)| !is_name(name))
    {
        Some((field, value)) => Err(SummaryError::Name { field, value: value.clone() }),
        None => Ok(()),
    }
}
