//! Summaries as JSON: one is an object of its own; several stand side by side, with the verdict of all.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::summary::SCHEMA;
use super::units::figure;
use super::{Summary, Verdict};
use crate::json::{self, SyntaxError};

/// A summary, and what follows from it.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// Runs a second.
    pub runs_per_s: f64,
    /// Events a second.
    pub events_per_s: f64,
    /// Simulated seconds a second, for each thread.
    pub simulated_s_per_core_s: f64,
    /// How it ended.
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

/// Why a text is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// It is not JSON, or no summary.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It has a format of another version.
    #[error("field \"schema\" is {found}, and must be {SCHEMA}")]
    Schema {
        /// The version.
        found: u32,
    },
}

/// Writes one summary, or several.
///
/// # Errors
/// As writing does.
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

/// Reads what [`write()`] has written. What follows from the rest is not looked at.
///
/// # Errors
/// If it is no summary: the line, the field, and what is wrong.
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
    match summaries.iter().find(|summary| summary.schema != SCHEMA) {
        Some(other) => Err(SummaryError::Schema { found: other.schema }),
        None => Ok(summaries),
    }
}
