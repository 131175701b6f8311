//! The tables of a campaign's page.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use super::{CampaignPage, verdict_name};
use crate::evidence::compare;
use crate::plan::FaultKind;
use crate::search::campaign::{Ordered, Report, Seeds, Summary, milliseconds};

/// A table: words, and numbers in columns that hold nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The title.
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

/// The data of campaigns for their page.
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
    bars: Vec<(String, u64)>,
}

pub(super) fn campaign(page: &CampaignPage<'_>) -> CampaignData {
    let summaries = page.summaries;
    let worst = summaries.iter().map(Summary::verdict).max();
    let of_run = page.failed.as_ref().map(|failed| failed.verdict);
    let sums = [figures(summaries), faults(summaries), judged(summaries), sometimes(summaries)];
    let sums = sums.into_iter().filter(|table| !table.rows.is_empty());
    CampaignData {
        version: env!("CARGO_PKG_VERSION"),
        verdict: worst.or(of_run).map_or("", verdict_name),
        said: summaries.iter().map(verdict).collect(),
        tables: sums.chain(page.tables.iter().cloned()).collect(),
        bars: summaries.iter().filter_map(margins).collect(),
    }
}

fn verdict(summary: &Summary) -> String {
    let (engine, word) = (&summary.engine, verdict_name(summary.verdict()));
    let mut first = format!("{engine}: {word}, {} runs", summary.runs);
    if let Some(failed) = &summary.failed {
        first = format!("{first}; the lowest seed that failed is {}", failed.seed);
    }
    [first].into_iter().chain(summary.missing(usize::MAX)).collect::<Vec<_>>().join("; ")
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
    row("verdict", &|of| verdict_name(of.verdict()).to_owned());
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
    let mut table = Table::new("Faults: how often each was ordered, and took effect", ["fault"]);
    for summary in summaries {
        let each = ["ordered", "took effect"].map(|each| format!("{} {each}", summary.engine));
        table.head.extend(each);
    }
    table.head.push("description".to_owned());
    for kind in FaultKind::ALL {
        let counts: Vec<Option<Ordered>> =
            summaries.iter().map(|of| of.faults.get(&kind).copied()).collect();
        if counts.iter().any(Option::is_some) {
            let of =
                |count: Option<Ordered>| [count.map(|of| of.ordered), count.map(|of| of.effects)];
            let counts = counts.into_iter().flat_map(of).map(|count| number(count.as_ref()));
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
        let each =
            ["judged", "exercised", "violated"].map(|each| format!("{} {each}", summary.engine));
        table.head.extend(each);
    }
    let names: BTreeSet<&String> = summaries.iter().flat_map(|of| of.properties.keys()).collect();
    for name in names {
        let mut row = vec![name.clone()];
        for summary in summaries {
            let judged = summary.properties.get(name);
            row.push(number(judged.map(|of| of.checked).as_ref()));
            row.push(number(judged.map(|of| of.exercised).as_ref()));
            row.push(number(judged.map(|of| of.violated).as_ref()));
        }
        table.rows.push(row);
    }
    table
}

fn sometimes(summaries: &[Summary]) -> Table {
    let mut table = Table::new("Sometimes-conditions", ["condition"]);
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

/// The runs by their least margin, from the smallest on; none if no run had one.
fn margins(summary: &Summary) -> Option<Bars> {
    let bars: Vec<_> = summary.margins.buckets().map(bar).collect();
    let title = format!("{}: runs by their least safety margin", summary.engine);
    (!bars.is_empty()).then_some(Bars { title, bars })
}

/// A bucket ends at twice its beginning.
fn bar((least, runs): (Duration, u64)) -> (String, u64) {
    let name = if least.is_zero() {
        "below 1 \u{b5}s".to_owned()
    } else {
        format!("{} to {}", length(least), length(least * 2))
    };
    (name, runs)
}

/// A duration in a suitable unit.
fn length(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let (number, unit) = match micros {
        ..1e3 => (micros, "\u{b5}s"),
        ..1e6 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let decimals = match number {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    if number.fract() == 0.0 {
        format!("{number} {unit}")
    } else {
        format!("{number:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_named_by_number_and_unit() {
        let named = |micros| bar((Duration::from_micros(micros), 3)).0;
        assert_eq!(named(0), "below 1 \u{b5}s");
        assert_eq!(named(1), "1 \u{b5}s to 2 \u{b5}s");
        assert_eq!(named(512), "512 \u{b5}s to 1.02 ms");
        assert_eq!(named(1 << 14), "16.4 ms to 32.8 ms");
        assert_eq!(named(1 << 19), "524 ms to 1.05 s");
        assert_eq!(named(1 << 23), "8.39 s to 16.8 s");
    }
}
