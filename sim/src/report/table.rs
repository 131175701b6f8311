//! Tables of a campaign's page.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{CampaignPage, said};
use crate::campaign::{Report, Seeds, Summary, milliseconds};
use crate::compare;
use crate::plan::FaultKind;

/// A table: words, and numbers where a column holds nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns' names.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl From<compare::Table> for Table {
    fn from(table: compare::Table) -> Self {
        let compare::Table { title, head, rows } = table;
        Self { title, head, rows }
    }
}

impl Table {
    fn new<'a>(title: &str, head: impl IntoIterator<Item = &'a str>) -> Self {
        let head = head.into_iter().map(ToOwned::to_owned).collect();
        Self { title: title.to_owned(), head, rows: Vec::new() }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}: {}", words(value));
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What the page is told of campaigns.
#[derive(Serialize)]
pub(super) struct CampaignData {
    version: &'static str,
    pub(super) verdict: &'static str,
    said: Vec<String>,
    tables: Vec<Table>,
    bars: Vec<Bars>,
}

/// Numbers that are drawn as bars.
#[derive(Serialize)]
struct Bars {
    title: String,
    bars: Vec<(String, f64)>,
}

pub(super) fn campaign(page: &CampaignPage<'_>) -> CampaignData {
    let summaries = page.summaries;
    let worst = summaries.iter().map(Summary::verdict).max();
    let of_run = page.failed.as_ref().map(|failed| failed.verdict);
    let sums = [figures(summaries), faults(summaries), judged(summaries), sometimes(summaries)];
    let sums = sums.into_iter().filter(|table| !table.rows.is_empty());
    CampaignData {
        version: env!("CARGO_PKG_VERSION"),
        verdict: worst.or(of_run).map_or("", said),
        said: summaries.iter().map(verdict).collect(),
        tables: sums.chain(page.tables.iter().cloned()).collect(),
        bars: summaries.iter().filter_map(margins).collect(),
    }
}

fn verdict(summary: &Summary) -> String {
    let (engine, word) = (&summary.engine, said(summary.verdict()));
    let mut told = format!("{engine}: {word}, {} runs", summary.runs);
    if let Some(failed) = &summary.failed {
        told = format!("{told}; the lowest seed that failed is {}", failed.seed);
    }
    if !summary.unmet().is_empty() {
        told = format!("{told}; never met: {}", summary.unmet().join(", "));
    }
    told
}

/// A column for each engine.
fn heads<'a>(first: &'a str, summaries: &'a [Summary]) -> impl Iterator<Item = &'a str> {
    [first].into_iter().chain(summaries.iter().map(|summary| summary.engine.as_str()))
}

fn figures(summaries: &[Summary]) -> Table {
    let mut table = Table::new("Figures", heads("", summaries));
    if summaries.is_empty() {
        return table;
    }
    let mut row = |name: &str, figure: &dyn Fn(&Summary) -> String| {
        let figures = summaries.iter().map(figure);
        table.rows.push([name.to_owned()].into_iter().chain(figures).collect());
    };
    row("verdict", &|of| said(of.verdict()).to_owned());
    row("seeds", &|of| of.seeds.iter().map(seeds).collect::<Vec<_>>().join("; "));
    row("runs", &|of| of.runs.to_string());
    row("simulated", &|of| format!("{:.0} s", of.simulated.as_secs_f64()));
    row("took", &|of| format!("{:.1} s", of.wall.as_secs_f64()));
    row("threads", &|of| of.jobs.to_string());
    row("runs a second", &|of| format!("{:.0}", Report::from(of).runs_per_s));
    row("events a second", &|of| format!("{:.0}", Report::from(of).events_per_s));
    row("events", &|of| of.events.to_string());
    row("elections", &|of| of.elections.to_string());
    row("least safety margin", &|of| of.margin_min.map_or_else(|| "none".to_owned(), margin));
    row("trace hash", &|of| of.trace_hash.to_string());
    table
}

fn margin(least: Duration) -> String {
    format!("{:.3} ms", milliseconds(least))
}

fn seeds(seeds: &Seeds) -> String {
    let last = seeds.first.saturating_add(seeds.count.saturating_sub(1));
    let range = format!("{} to {last}", seeds.first);
    if seeds.shard.is_whole() { range } else { format!("{range}, shard {}", seeds.shard) }
}

fn faults(summaries: &[Summary]) -> Table {
    let mut table = Table::new("Faults: how often each happened", heads("fault", summaries));
    table.head.push("what it is".to_owned());
    for kind in FaultKind::ALL {
        let counts: Vec<Option<u64>> =
            summaries.iter().map(|of| of.faults.get(&kind).copied()).collect();
        if counts.iter().any(Option::is_some) {
            let counts = counts.into_iter().map(|count| number(count.as_ref()));
            let about = [kind.about().to_owned()];
            let row = [kind.name().to_owned()].into_iter().chain(counts).chain(about);
            table.rows.push(row.collect());
        }
    }
    table
}

fn judged(summaries: &[Summary]) -> Table {
    let mut table = Table::new("Properties", ["property"]);
    for summary in summaries {
        let each = ["judged", "violated"].map(|each| format!("{} {each}", summary.engine));
        table.head.extend(each);
    }
    let names: BTreeSet<&String> = summaries.iter().flat_map(|of| of.properties.keys()).collect();
    for name in names {
        let mut row = vec![name.clone()];
        for summary in summaries {
            let judged = summary.properties.get(name);
            row.push(number(judged.map(|of| of.checked).as_ref()));
            row.push(number(judged.map(|of| of.violated).as_ref()));
        }
        table.rows.push(row);
    }
    table
}

fn sometimes(summaries: &[Summary]) -> Table {
    let mut table = Table::new("Sometimes-conditions: where the runs went", ["condition"]);
    for summary in summaries {
        let each = ["met", "in runs", "first after seeds"];
        table.head.extend(each.map(|each| format!("{} {each}", summary.engine)));
    }
    let names: BTreeSet<&String> = summaries.iter().flat_map(|of| of.sometimes.keys()).collect();
    for name in names {
        let mut row = vec![name.clone()];
        for of in summaries {
            let maps = [&of.sometimes, &of.sometimes_runs, &of.sometimes_needed];
            row.extend(maps.map(|map| number(map.get(name))));
        }
        table.rows.push(row);
    }
    table
}

fn number(of: Option<&u64>) -> String {
    of.map_or_else(|| "-".to_owned(), u64::to_string)
}

/// A histogram of margins, if the summary has one: a field with that word in its name, of names and
/// counts.
fn margins(summary: &Summary) -> Option<Bars> {
    let Ok(Value::Object(fields)) = serde_json::to_value(summary) else { return None };
    let is_one = |name: &str| name.contains("margin") && name != "margin_min_ms";
    let (_, value) = fields.iter().find(|(name, value)| is_one(name) && !value.is_number())?;
    let bars = bars(value).filter(|bars| !bars.is_empty())?;
    Some(Bars { title: format!("{}: safety margins", summary.engine), bars })
}

/// Counts by name, or a list of objects or of lists whose last number is a count.
fn bars(value: &Value) -> Option<Vec<(String, f64)>> {
    let listed = |fields: Vec<&Value>| {
        let (count, names) = fields.split_last()?;
        let names: Vec<String> = names.iter().map(|name| words(name)).collect();
        Some((names.join(" to "), count.as_f64()?))
    };
    match value {
        Value::Object(counts) => {
            let flat = counts.iter().map(|(name, count)| Some((name.clone(), count.as_f64()?)));
            let flat: Option<Vec<_>> = flat.collect();
            flat.or_else(|| counts.values().find_map(|inner| inner.as_array().and(bars(inner))))
        }
        Value::Array(list) => {
            let bar = |one: &Value| match one {
                Value::Array(fields) => listed(fields.iter().collect()),
                Value::Object(fields) => {
                    let count = fields.get("count").or_else(|| fields.get("runs"))?;
                    let others = fields.values().filter(|other| *other != count);
                    listed(others.chain([count]).collect())
                }
                _ => None,
            };
            list.iter().map(bar).collect()
        }
        _ => None,
    }
}
