//! The table at the end of a run.

use std::fmt;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};

use crate::Comparison;

/// The results of all comparisons of a run.
#[derive(Debug, Default)]
pub struct Report {
    comparisons: Vec<Comparison>,
}

impl Report {
    /// An empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a comparison that was run.
    pub fn add(&mut self, comparison: Comparison) {
        self.comparisons.push(comparison);
    }

    /// Writes the report to the standard output, where criterion writes its own.
    ///
    /// # Errors
    /// If that can't be written to.
    pub fn print(&self) -> io::Result<()> {
        writeln!(io::stdout(), "{self}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::ASCII_MARKDOWN);
        table.set_header([
            "comparison",
            "ours",
            "bare",
            "ratio",
            "95 % of the median",
            "quartiles",
            "pairs",
            "at most",
            "",
        ]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut left_out = 0;
        for comparison in &self.comparisons {
            match row(comparison) {
                Some(row) => {
                    table.add_row(row);
                }
                None => left_out += 1,
            }
        }
        if left_out < self.comparisons.len() {
            writeln!(f, "\n{table}")?;
        }
        if left_out > 0 {
            write!(f, "{left_out} comparisons without a ratio: too few pairs, or filtered out")?;
        }
        Ok(())
    }
}

fn row(comparison: &Comparison) -> Option<Vec<String>> {
    let [ours, bare] = comparison.nanos()?;
    let ratios = comparison.ratios()?;
    let [our_name, bare_name] = comparison.sides();
    let (most, verdict) = match comparison.most() {
        Some(most) if ratios.median <= most => (format!("{most:.2}"), "met"),
        Some(most) => (format!("{most:.2}"), "MISSED"),
        None => (String::new(), ""),
    };
    Some(vec![
        comparison.title(),
        format!("{our_name} {}", time(ours)),
        format!("{bare_name} {}", time(bare)),
        format!("{:.3}", ratios.median),
        format!("{:.3} to {:.3}", ratios.median_between.0, ratios.median_between.1),
        format!("{:.3} to {:.3}", ratios.lower, ratios.upper),
        comparison.pairs().to_string(),
        most,
        verdict.to_owned(),
    ])
}

fn time(nanos: f64) -> String {
    if nanos < 1e3 { format!("{nanos:.1} ns") } else { format!("{:.2} us", nanos / 1e3) }
}
